"""Other people's samplers on the benchmark's problem; each script runs in the virtual environment `.venv-peers`."""
