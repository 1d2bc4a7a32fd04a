"""What an operator asks: what is done and what it costs, the same records again, all records in one
file.
"""
