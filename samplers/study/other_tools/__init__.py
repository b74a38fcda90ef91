"""Pairs from posteriors that other tools have drawn: PyMC, Stan, NumPyro."""
