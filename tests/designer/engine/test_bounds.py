"""Theorems 1 and 4 on chains small enough to solve exactly."""

import math
from functools import reduce
from itertools import product

import numpy as np
import pytest

from designer.engine.bounds import stationary_bound, sweep_bound
from designer.engine.step_error import acceptance
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from tests.naive import dobrushin, stationary, total_variation


def metropolis(acceptance_probability):
    """The kernel that proposes another state uniformly and accepts it with the given probabilities."""
    kernel = acceptance_probability / (len(acceptance_probability) - 1)
    np.fill_diagonal(kernel, 0.0)
    np.fill_diagonal(kernel, 1.0 - kernel.sum(axis=1))
    return kernel


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_1_on_a_metropolis_chain_with_the_engines_own_errors(epsilon, seed):
    rng = np.random.default_rng(seed)
    n_data, size = 20_000, 4
    log_target = rng.normal(0.0, 0.5, size)
    log_ratio = log_target - log_target[:, None]  # A of the move from row to column
    kappa = rng.uniform(0.5, 2.0, (size, size))
    trial = TrialRun(n_data, log_ratio.ravel() / n_data, kappa.ravel() * math.sqrt(n_data - 1) / n_data)
    step = acceptance(Design(n_data, 500, epsilon), trial)
    exact = metropolis(step.probability.reshape(size, size))
    approximate = metropolis((step.probability + step.delta).reshape(size, size))

    target = np.exp(log_target) / np.exp(log_target).sum()
    np.testing.assert_allclose(stationary(exact), target, rtol=1e-12)
    off_diagonal = ~np.eye(size, dtype=bool).ravel()
    bound = stationary_bound(np.abs(step.delta[off_diagonal]).max(), dobrushin(exact))
    distance = total_variation(target, stationary(approximate))
    assert 0.0 < distance <= bound


@pytest.mark.parametrize(("up", "down", "error"), [(0.3, 0.2, 0.05), (0.5, 0.5, 0.1), (0.05, 0.1, 0.01)])
def test_theorem_1_is_attained(up, down, error):
    """Two states: the bound is the distance itself, so no smaller factor than 1 / (1 - η) will do."""
    exact = np.array([[1 - up, up], [down, 1 - down]])
    approximate = np.array([[1 - up - error, up + error], [down - error, 1 - down + error]])
    distance = total_variation(stationary(exact), stationary(approximate))
    assert stationary_bound(error, dobrushin(exact)) == pytest.approx(distance, rel=1e-12)


def conditional_updates(p_one):
    """Gibbs kernels, one per bit, of a chain over {0, 1}^D with P(X_i = 1 | the others) = p_one(i, x)."""
    sites = p_one.shape[0]
    states = list(product([0, 1], repeat=sites))
    number = {state: k for k, state in enumerate(states)}
    kernels = np.zeros((sites, len(states), len(states)))
    for i in range(sites):
        for k, x in enumerate(states):
            p = p_one[i, number[(*x[:i], 0, *x[i + 1 :])]]  # the conditional does not depend on x_i
            kernels[i, k, number[(*x[:i], 1, *x[i + 1 :])]] += p
            kernels[i, k, number[(*x[:i], 0, *x[i + 1 :])]] += 1 - p
    return kernels


def sweep_kernel(p_one):
    return reduce(np.matmul, conditional_updates(p_one))


def test_theorem_4_needs_the_number_of_sites():
    """Independent fair bits: η = 0, and the distance exceeds the printed bound Δ_max / (1 - η)."""
    sites, delta = 6, 0.05
    exact, approximate = (
        sweep_kernel(np.full((sites, 2**sites), 0.5)),
        sweep_kernel(np.full((sites, 2**sites), 0.5 + delta)),
    )
    eta = dobrushin(exact)
    distance = total_variation(stationary(exact), stationary(approximate))
    assert eta == pytest.approx(0.0, abs=1e-15)
    assert distance > 1.9 * stationary_bound(delta, eta)
    assert distance <= sweep_bound(delta, eta, sites) == pytest.approx(sites * delta)


@pytest.mark.parametrize("seed", range(4))
def test_theorem_4_on_dependent_bits(seed):
    rng = np.random.default_rng(seed)
    sites, delta = 3, 0.02
    p_one = rng.uniform(0.3, 0.7, (sites, 2**sites))
    wrong = p_one + delta * rng.choice([-1.0, 1.0], p_one.shape)
    exact, approximate = sweep_kernel(p_one), sweep_kernel(wrong)
    distance = total_variation(stationary(exact), stationary(approximate))
    assert 0.0 < distance <= sweep_bound(delta, dobrushin(exact), sites)


def test_no_bound_exceeds_one():
    assert stationary_bound(0.3, 0.9) == 1.0
    assert sweep_bound(0.2, 0.5, 100) == 1.0
    assert stationary_bound(0.0, 0.99) == sweep_bound(0.0, 0.99, 7) == 0.0


@pytest.mark.parametrize("delta", [-0.1, 1.1, math.nan])
def test_bad_errors(delta, refuses):
    refuses(lambda: stationary_bound(delta, 0.5), f"delta_max = {delta!r}", "[0, 1]")
    refuses(lambda: sweep_bound(delta, 0.5, 3), f"delta_max = {delta!r}", "[0, 1]")


@pytest.mark.parametrize("eta", [-0.1, 1.0, math.nan])
def test_bad_contractions(eta, refuses):
    refuses(lambda: stationary_bound(0.1, eta), f"eta = {eta!r}", "[0, 1)")
    refuses(lambda: sweep_bound(0.1, eta, 3), f"eta = {eta!r}", "[0, 1)")


@pytest.mark.parametrize("sites", [0, -5, 2.5, math.nan])
def test_bad_numbers_of_sites(sites, refuses):
    refuses(lambda: sweep_bound(0.1, 0.5, sites), f"sites = {sites!r}")
