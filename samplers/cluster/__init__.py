"""Chains, trial runs, experiments and searches on a Dask cluster."""
