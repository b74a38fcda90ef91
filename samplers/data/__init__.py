"""Data for the models: files in many formats, memory limits, the papers' data sets."""
