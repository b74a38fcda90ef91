"""What a test does to the posterior that a chain samples (`error`), and the tolerance to choose (`tolerance`).

With several parameters the posterior is sampled at another `temperature`; with one, its distribution is computed on a
grid (`stationary_1d`), for a Gaussian or skewed `target_density`. Both use the errors of an `acceptance_table`.
"""
