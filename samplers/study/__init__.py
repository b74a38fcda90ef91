"""Studies of a chain: trial runs, audits, comparisons of tests, costs."""
