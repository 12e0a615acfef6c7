"""Measurements as ratios within one run: a machine is noisy, a ratio taken at the same time is not."""
