"""The test, or the sequence of tests, with the least risk in a given time."""
