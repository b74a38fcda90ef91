"""Pairs at stationarity against closed forms, and against the proposals of a real chain."""

import math

import numpy as np
import pytest

from benchmarks.samplers.which_test import gaussian_walk
from designer import TrialRun, search
from designer.pairs.stationary import MOST_SPREAD, acceptance_at, kappa_at, scale_to, spread_kappa


def test_kappa_and_acceptance_are_inverse():
    for rate in (1e-6, 0.01, 0.234, 0.9, 1 - 1e-6):
        assert acceptance_at(np.array([kappa_at(rate)]))[0] == pytest.approx(rate, rel=1e-9)
    k = 1.3
    a = np.linspace(-40, 40, 400_001)
    density = np.exp(-0.5 * ((a + k * k / 2) / k) ** 2) / (k * math.sqrt(2 * math.pi))
    integral = float(np.sum(density * np.exp(np.minimum(a, 0.0)))) * (a[1] - a[0])
    assert acceptance_at(np.array([k]))[0] == pytest.approx(integral, abs=1e-7)


@pytest.mark.parametrize("rate", [1e-4, 0.234, 0.999])
def test_scale_meets_the_mean_acceptance(rate):
    kappa = np.random.default_rng(1).lognormal(0.0, 1.0, 500)
    assert acceptance_at(scale_to(kappa, rate) * kappa).mean() == pytest.approx(rate, rel=1e-9)
    assert scale_to(np.array([kappa_at(rate)]), rate) == pytest.approx(1.0)


def test_spread_pairs_have_the_wanted_spread_and_acceptance():
    pairs = 100_000
    trial = TrialRun.at_stationarity(50_000, 0.3, pairs, np.random.default_rng(2), spread=0.5)
    assert np.log(trial.kappa).std() == pytest.approx(0.5, rel=4 / math.sqrt(2 * pairs))
    accepted = np.exp(np.minimum(trial.log_acceptance, 0.0))
    assert accepted.mean() == pytest.approx(0.3, abs=4 * accepted.std() / math.sqrt(pairs))
    z = (trial.log_acceptance + trial.kappa**2 / 2) / trial.kappa
    assert abs(z.mean()) < 4 / math.sqrt(pairs)


def test_refusals(refuses):
    rng = np.random.default_rng(0)
    refuses(lambda: kappa_at(0.0), "acceptance = 0.0")
    refuses(lambda: scale_to(np.array([]), 0.3), "kappa")
    refuses(lambda: scale_to(np.array([1.0, 0.0]), 0.3), "kappa")
    refuses(lambda: spread_kappa(rng, 0.3, 5, -0.1), "spread = -0.1")
    refuses(lambda: TrialRun.at_stationarity(100, 0.3, 5, rng, MOST_SPREAD + 1), "spread = 4.0")


def by_batches(values, batches=50):
    """Mean and its standard error, of values that are correlated along a chain."""
    means = values.reshape(batches, -1).mean(axis=1)
    return means.mean(), means.std(ddof=1) / math.sqrt(batches)


@pytest.fixture(scope="module")
def walk():
    """Every proposal of an exact chain in 10 dimensions."""
    return gaussian_walk(np.random.default_rng(5), 20_000, 10, 2.38 / math.sqrt(10), 20_000)


def test_a_real_chain_obeys_the_relation(walk):
    """A ~ N(-kappa²/2, kappa²) given kappa; acceptance 2 Phi(-kappa/2); sd of log kappa 1/sqrt(2 D)."""
    z = (walk.log_acceptance + walk.kappa**2 / 2) / walk.kappa
    mean, se = by_batches(z)
    assert abs(mean) < 4 * se
    mean, se = by_batches(z**2)
    assert mean == pytest.approx(1.0, abs=4 * se)
    mean, se = by_batches(np.exp(np.minimum(walk.log_acceptance, 0.0)) - acceptance_at(walk.kappa))
    assert abs(mean) < 4 * se
    assert np.log(walk.kappa).std() == pytest.approx(1 / math.sqrt(20), rel=0.1)


def test_a_design_made_up_is_good_for_the_real_chain(walk):
    from designer import acceptance

    rate = float(np.exp(np.minimum(walk.log_acceptance, 0.0)).mean())
    made = TrialRun.at_stationarity(walk.n_data, rate, 2000, np.random.default_rng(0), 1 / math.sqrt(20))
    found = search(made, 0.02)
    step = acceptance(found.best, walk)
    assert step.mean_abs_delta == pytest.approx(found.error, rel=0.1)
    assert step.mean_usage == pytest.approx(found.usage, rel=0.05)
