"""From records to numbers: which records a report admits, metrics of them,
statistics over seeds.
"""
