"""Acquisition functions, their widths, and where they are largest."""
