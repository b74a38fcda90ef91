"""Models of tables by formulas."""
