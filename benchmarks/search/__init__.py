"""The search, and designs beyond one test: boundaries, step sizes, time budgets."""
