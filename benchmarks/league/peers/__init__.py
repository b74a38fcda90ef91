"""Other people's samplers, run by the Python of `make peers`, which has none of our packages."""
