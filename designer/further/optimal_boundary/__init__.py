"""The best of all stopping boundaries, by dynamic programming."""
