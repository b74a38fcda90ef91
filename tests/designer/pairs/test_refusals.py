"""Pairs that are refused, and those that are not."""

from __future__ import annotations

import numpy as np
import pytest

from designer import TrialRun, search
from designer.pairs.examples import EXAMPLES, example
from designer.pairs.refusals import check_pairs, pairs_problem

N_DATA = 10_000


def walk(rng, count: int, kappa: float) -> TrialRun:
    a = rng.normal(-0.5 * kappa**2, kappa, count)
    return TrialRun(N_DATA, a / N_DATA, np.full(count, kappa * np.sqrt(N_DATA - 1) / N_DATA))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_accepted(name):
    assert pairs_problem(example(name)) is None


def test_a_stationary_chain_is_refused_in_less_than_one_of_a_hundred_cases():
    rng = np.random.default_rng(1)
    refused = sum(pairs_problem(walk(rng, 30, kappa)) is not None for kappa in (0.5, 2.4, 6.0) for _ in range(1000))
    assert refused <= 30


def test_pairs_on_the_way_to_the_mode_are_refused(refuses):
    rng = np.random.default_rng(2)
    pairs = walk(rng, 50, 2.4)
    mu = pairs.mu.copy()
    mu[7] = 30.0 / N_DATA
    refuses(lambda: check_pairs(TrialRun(N_DATA, mu, pairs.sigma)), "pair 8 has A = 30", "burn-in", "posterior mode")
    refuses(lambda: search(TrialRun(N_DATA, mu, pairs.sigma), 0.05), "pair 8 has A = 30")


def test_a_kappa_that_cannot_be_right_is_explained(refuses):
    sums = TrialRun(N_DATA, np.zeros(50), np.full(50, 130.0))
    refuses(lambda: search(sums, 0.05), "κ is 1.3e+04 in half of the pairs", "not of their sum", "smaller steps")
    some = np.where(np.arange(50) < 20, 130.0, 0.013)  # far proposals may have any κ
    assert pairs_problem(TrialRun(N_DATA, np.where(some > 1, -0.05, 0.0), some)) is None
