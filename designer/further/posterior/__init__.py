"""What a test does to the posterior that a chain samples."""
