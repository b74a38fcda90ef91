"""Chains: speed, accuracy, large data, and other people's samplers on the same posterior."""
