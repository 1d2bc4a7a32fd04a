"""Gaussian processes on boxes: kernels, evidence, fits, posteriors and their draws."""
