"""The papers' experiments, e1 to e13, and the regime map: one module each."""
