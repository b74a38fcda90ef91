"""Runs on disk: checkpoints, resuming, results."""
