"""What a test does to the posterior with independent proposals: the arithmetic, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Design, TrialRun, acceptance, independent_error
from designer.further.posterior.error import check_random_walk
from designer.further.posterior.independent import (
    EACH,
    IndependentPairs,
    WeightedStates,
    moves,
    poisson_solution,
    sampled_law,
)

RNG = np.random.default_rng(3)
S = 40
STATES = WeightedStates.of(RNG.standard_normal((S, 2)), RNG.normal(0.0, 0.6, S), RNG.normal(0.0, 0.3, S))
OLD, NEW = (index.ravel() for index in np.nonzero(~np.eye(S, dtype=bool)))
EXACT = np.exp(np.minimum(STATES.log_ratio[NEW] - STATES.log_ratio[OLD], 0.0))


def transition(accept):
    """The matrix of a chain on the states, with all moves."""
    matrix = np.zeros((S, S))
    matrix[OLD, NEW] = STATES.proposal[NEW] * accept
    np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
    return matrix


def long_run(matrix):
    """Its stationary distribution, by repeated squaring."""
    for _ in range(40):
        matrix = matrix @ matrix
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix[0]


def test_without_errors_the_posterior_stays_whatever_the_moves():
    old, new = moves(np.random.default_rng(1), S)
    assert np.all(old != new)
    assert np.bincount(old).tolist() == np.bincount(new).tolist() == [EACH] * S
    accept = np.exp(np.minimum(STATES.log_ratio[new] - STATES.log_ratio[old], 0.0))
    np.testing.assert_allclose(sampled_law(STATES, old, new, accept, 1e9), STATES.posterior, rtol=1e-6)


def test_with_errors_the_law_is_that_of_the_transition_matrix():
    accept = np.clip(EXACT + RNG.normal(0.0, 0.2, EXACT.size), 0.0, 1.0)
    law = long_run(transition(accept))
    assert np.abs(law - STATES.posterior).max() > 1e-3
    np.testing.assert_allclose(sampled_law(STATES, OLD, NEW, accept, 1e12), law, rtol=1e-6)


def test_a_run_that_starts_again_is_between_the_posterior_and_the_long_run():
    accept = np.clip(EXACT + RNG.normal(0.0, 0.2, EXACT.size), 0.0, 1.0)
    matrix, steps = transition(accept), 50.0
    stays = steps / (steps + 1.0)  # the number of steps before a new start is geometric: by direct summation
    law, weight = STATES.posterior.copy(), 1.0 - stays
    total = weight * law
    for _ in range(3000):
        law, weight = law @ matrix, weight * stays
        total += weight * law
    found = sampled_law(STATES, OLD, NEW, accept * (OLD.size / S**2), steps)  # the scale of a step: all S states
    np.testing.assert_allclose(found, total, rtol=1e-6)


def test_the_poisson_equation_is_solved_and_gives_the_bias_of_small_errors():
    f = STATES.theta
    g = poisson_solution(STATES, f)
    np.testing.assert_allclose(g - transition(EXACT) @ g, f - STATES.posterior @ f, atol=1e-12)
    errors = 1e-5 * RNG.standard_normal(EXACT.size)
    bias = (long_run(transition(EXACT + errors)) - STATES.posterior) @ f
    flow = STATES.posterior[OLD] * STATES.proposal[NEW] * errors
    np.testing.assert_allclose(flow @ (g[NEW] - g[OLD]), bias, rtol=1e-3, atol=1e-12)


def pairs_of(kappa, a=None):
    log_ratio = -(STATES.log_ratio[NEW] - STATES.log_ratio[OLD]) if a is None else -a
    trial = TrialRun(10_000, np.zeros(OLD.size), np.full(OLD.size, kappa / 100.0), log_ratio, np.zeros(OLD.size))
    return IndependentPairs(STATES, OLD, NEW, trial)


def test_bias_and_sds_are_those_of_the_enumerated_chain(monkeypatch):
    monkeypatch.setattr("designer.further.posterior.independent.FEWEST", 10.0)
    design, pairs = Design(10_000, 500, 0.2), pairs_of(1.0)
    step = acceptance(design, pairs.trial, skew=True)
    law = long_run(transition(step.probability + step.delta))
    mean, sd = (
        STATES.posterior @ STATES.theta,
        np.sqrt(STATES.posterior @ STATES.theta**2 - (STATES.posterior @ STATES.theta) ** 2),
    )
    seen = law @ STATES.theta
    effect = independent_error(design, pairs)
    np.testing.assert_allclose(effect.bias, (seen - mean) / sd, atol=1e-4)
    np.testing.assert_allclose(effect.sd_ratio, np.sqrt(law @ STATES.theta**2 - seen**2) / sd, atol=1e-4)
    assert effect.largest > 0.01
    assert effect.upper > effect.largest
    assert effect.mean_abs_delta == pytest.approx(
        np.average(np.abs(step.delta), weights=STATES.posterior[OLD] * STATES.proposal[NEW])
    )
    careful = independent_error(Design(10_000, 5000, 1e-6), pairs)
    assert careful.largest < 1e-3 * effect.largest


def test_what_is_not_covered_is_refused(refuses, monkeypatch):
    uneven = STATES._replace(posterior=np.full(S, 1e-9) + (np.arange(S) == 3))
    refuses(lambda: independent_error(Design(10_000, 500, 0.1), pairs_of(1.0)._replace(states=uneven)), "effective")
    monkeypatch.setattr("designer.further.posterior.independent.FEWEST", 10.0)
    trial = pairs_of(1.0).trial
    skewed = TrialRun(10_000, trial.mu, trial.sigma, trial.log_ratio, np.full(OLD.size, 60.0))
    refuses(lambda: independent_error(Design(10_000, 500, 0.1), pairs_of(1.0)._replace(trial=skewed)), "no prediction")


def test_the_theory_of_random_walks_refuses_other_pairs(refuses):
    walk = TrialRun.at_stationarity(10_000, 0.3, 100, np.random.default_rng(1))
    check_random_walk(walk)
    proxy = TrialRun(10_000, walk.mu, 0.01 * walk.sigma)
    refuses(lambda: check_random_walk(proxy), "random walk", "--config")
    check_random_walk(TrialRun(10_000, walk.mu, 0.01 * walk.sigma, notes={"proposal": "random-walk"}))
    named = TrialRun(10_000, walk.mu, walk.sigma, notes={"proposal": "proxy"})
    refuses(lambda: check_random_walk(named), "proxy proposals", "--config")
