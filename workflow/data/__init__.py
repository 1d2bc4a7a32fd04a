"""From a raw file to the table that a problem reads.

Fetched, verified, unpacked and parsed, or replaced by a labelled substitute.
"""
