"""Making records: the loop of ask and tell, and what keeps it safe from kills, hangs and other
processes.
"""
