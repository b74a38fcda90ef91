"""The engine: speed, accuracy, and other people's engines on the same curves."""
