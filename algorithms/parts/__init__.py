"""Textbook pieces used by at least two algorithms; each knows no algorithm."""
