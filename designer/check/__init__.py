"""Checks of the theory: simulation of the real test (`simulate`), and reference values (`selfcheck`)."""
