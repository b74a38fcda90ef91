"""Running, storing and reporting an experiment."""
