"""Measurements of speed and accuracy; `python -m benchmarks` runs them and writes RESULTS.md."""
