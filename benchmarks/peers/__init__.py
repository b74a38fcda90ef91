"""Other people's samplers and engines on the problems of the benchmarks: scripts for `.venv-peers` or R."""
