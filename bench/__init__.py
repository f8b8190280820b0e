"""Measured ratios: our layer over the limit below it, in one run."""
