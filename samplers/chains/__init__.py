"""Markov chains: Metropolis-Hastings, reversible jump, slice and Gibbs."""
