"""Models of other tools' examples, on simulated data."""
