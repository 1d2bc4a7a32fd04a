"""Sums of processes of few variables each, and which variables act together."""
