"""The test (`epsilon`), or the sequence of tests (`phases`), with the least risk in a given time."""
