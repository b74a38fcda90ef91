"""Families and group effects beside NumPyro on the same data: speed, and distance from the truth."""
