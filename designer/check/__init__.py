"""The theory against the real test: simulation, and reference values."""
