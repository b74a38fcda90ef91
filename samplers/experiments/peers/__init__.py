"""NumPyro's NUTS beside our chains: scripts for the environment of `make peers`, and the code that runs them."""
