"""A method of one's own in a figure of a paper: its runs alone, the figure with its curve over the
published ones, and whether it is lower than each of these.
"""
