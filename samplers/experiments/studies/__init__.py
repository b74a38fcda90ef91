"""The papers' experiments, e1 to e13: one module each."""
