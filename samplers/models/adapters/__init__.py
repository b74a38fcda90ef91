"""Models written for other tools: in JAX, in NumPyro, in PyMC. Each becomes a `SmoothModel` with all that follows.

jax_model
    `from_jax`: a log-likelihood of one row and a log prior, in JAX.
numpyro_model, pymc_model
    `from_numpyro`, `from_pymc`: whole models, with their own names and shapes.
site_model
    What NumPyro's and PyMC's models have in common.
row_program, row_rules
    Which part of a computation over all rows gives the terms of some rows.
parts
    Names and shapes of parameters; memory for samples of rows.
prior_moves
    Moves of parameters that only the prior contains.
packages
    JAX and the others, imported when needed, with a clear line if they are missing.
"""
