"""Long tests: random designs against theorems, `kill -9`, many sessions at once."""
