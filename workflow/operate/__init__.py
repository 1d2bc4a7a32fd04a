"""What an operator asks: what is done and what it costs, the same records again, what is published
and drawn for all, a method of one's own in a paper's figure, everything in a crate.
"""
