"""Other people's samplers and engines on the benchmarks' problems: scripts that run in `.venv-peers`, or in R."""
