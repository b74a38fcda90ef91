"""The error of a step with u integrated out is that of many single decisions, for every test."""

from __future__ import annotations

import math

import numpy as np
import pytest

from designer import Design
from samplers.decide import BarkerTest, ConcentrationTest, Decision, SequentialTest
from samplers.decide.comparison import Comparison, draw_threshold
from samplers.study import integrated
from samplers.study.integrated import MOST_ORDERS, step_error

N_DATA = 1000
TESTS = {
    "sequential": (SequentialTest.from_design(Design(N_DATA, 100, 0.1)), "metropolis"),
    "sequential, few data": (SequentialTest.from_design(Design(N_DATA, 10, 0.2, alpha=0.7, growth=1.5)), "metropolis"),
    "sequential, late": (SequentialTest.from_design(Design(N_DATA, 20, 0.1), first_batches=5), "metropolis"),
    "sequential, one-sided": (
        SequentialTest.from_design(Design.with_bounds(N_DATA, 350, [-math.inf, -1.0], [0.5, 1.5])),
        "metropolis",
    ),
    "sequential, Barker's rule": (SequentialTest.from_design(Design(N_DATA, 50, 0.1)), "barker"),
    "Barker mini-batch": (BarkerTest(m=50), "barker"),
    "Barker mini-batch, corrected": (BarkerTest(m=50, skew_corrected=True), "barker"),
    "concentration": (ConcentrationTest(m=50, delta=0.9), "metropolis"),
    "concentration, with replacement": (ConcentrationTest(m=50, delta=0.9, replace=True), "metropolis"),
}


def skewed(kappa: float, log_acceptance: float) -> np.ndarray:
    """Exponential lᵢ with these A and κ, if the log ratio is 0."""
    x = np.random.default_rng(1).exponential(size=N_DATA)
    return (x - x.mean()) / x.std() * kappa / math.sqrt(N_DATA) + log_acceptance / N_DATA


@pytest.mark.parametrize("name", TESTS)
def test_integrating_u_out_changes_no_expectation(name):
    test, rule = TESTS[name]
    values, repeats = skewed(0.1 if name.startswith("concentration") else 0.9, -0.4), 1500
    bound = float(np.abs(values).max())
    found = step_error(np.random.default_rng(2), test, values, 0.2, rule, range_bound=bound)
    rng, question = np.random.default_rng(3), Comparison(N_DATA, values.take, 0.2, rule, bound)
    made = [test.decide(rng, question) for _ in range(repeats)]
    rate, used = np.mean([one.accept for one in made]), np.array([one.n_used for one in made]) / N_DATA
    noise = math.hypot(math.sqrt(rate * (1.0 - rate) / repeats), found.se)
    assert abs(rate - found.probability - found.delta) < 4.0 * noise
    assert abs(used.mean() - found.usage) < 4.0 * used.std() * math.hypot(repeats**-0.5, found.orders**-0.5) + 1e-6
    assert found.se < (0.02 if "corrected" in name else 0.008)


def test_a_path_that_needs_more_looks_goes_on_with_the_same_order(monkeypatch):
    test, values, found = SequentialTest.from_design(Design(N_DATA, 10, 0.02)), skewed(0.9, -0.4), []
    for looks in (1, 3, 1000):
        monkeypatch.setattr(integrated, "FIRST_LOOKS", looks)
        found.append(step_error(np.random.default_rng(2), test, values, 0.2))
    assert found[0] == found[1] == found[2]


def test_wrong_decisions_are_those_with_the_same_u():
    test, values = TESTS["sequential"][0], skewed(0.9, -0.4)
    found = step_error(np.random.default_rng(2), test, values, 0.0)
    wrong, question = [], Comparison(N_DATA, values.take)
    for seed in range(1000):
        v = draw_threshold(np.random.default_rng(seed), "metropolis")
        wrong.append(test.decide(np.random.default_rng(seed), question).accept != (values.sum() > v))
    assert np.mean(wrong) == pytest.approx(found.wrong, abs=4.0 * np.std(wrong) / 1000**0.5)
    assert found.wrong > 2.0 * abs(found.delta)  # errors of both kinds cancel in Δ


def test_one_path_is_the_decision_at_every_threshold():
    """The slow readable twin: the same order of the data, one threshold at a time."""
    test, values = TESTS["sequential, few data"][0], skewed(0.9, -0.4)
    v = np.log((np.arange(200) + 0.5) / 200)
    rates, used = [], []
    for order in range(40):
        question = Comparison(N_DATA, np.random.default_rng(order).permutation(values).take)
        made = [test.decide_at(np.random.default_rng(9), question, level) for level in v]  # one order, all thresholds
        accepted = np.array([one.accept for one in made])
        assert np.all(np.diff(accepted.astype(int)) <= 0)  # accepted below a level, rejected above it
        rates.append(accepted.mean())
        used.append(np.mean([one.n_used for one in made]) / N_DATA)
    found = step_error(np.random.default_rng(4), test, values, 0.0)
    noise = math.hypot(np.std(rates) / 40**0.5, found.se)
    assert abs(np.mean(rates) - found.probability - found.delta) < 4.0 * noise
    assert abs(np.mean(used) - found.usage) < 4.0 * np.std(used) / 40**0.5


def test_the_two_estimates_bracket_the_absolute_error():
    test, repeats = TESTS["sequential"][0], 60
    for log_acceptance in (0.4, -0.25):
        values = skewed(0.9, log_acceptance)
        truth = abs(step_error(np.random.default_rng(5), test, values, 0.0, precision=1e-9).delta)
        found = [
            step_error(np.random.default_rng(k), test, values, 0.0, precision=1.0) for k in range(repeats)
        ]  # as few orders as can be
        low, high = np.array([one.low for one in found]), np.abs([one.delta for one in found])
        assert found[0].orders == 64
        assert low.mean() < truth + 3.0 * low.std() / repeats**0.5
        assert high.mean() > truth - 3.0 * high.std() / repeats**0.5


def test_more_orders_until_the_error_is_small():
    test, values = TESTS["sequential"][0], skewed(0.9, 0.4)
    coarse, fine = (
        step_error(np.random.default_rng(6), test, values, 0.0, precision=precision) for precision in (1.0, 1e-9)
    )
    assert coarse.orders == 64
    assert fine.orders == MOST_ORDERS or fine.se < 0.05 * abs(fine.delta)
    assert fine.se < 0.5 * coarse.se


def test_a_test_of_ones_own_is_asked_for_single_decisions():
    class Careless:
        def decide(self, rng, comparison):
            return Decision(bool(rng.random() < 0.75), 1, 1)

    found = step_error(np.random.default_rng(7), Careless(), skewed(0.9, -1.0), 0.0)
    assert found.delta == pytest.approx(0.75 - math.exp(-1.0), abs=4.0 * found.se)
    assert found.usage == pytest.approx(1.0 / N_DATA)
    assert math.isnan(found.wrong)


def test_terms_without_spread_are_decided_rightly():
    found = step_error(np.random.default_rng(8), TESTS["sequential"][0], np.full(N_DATA, -0.3 / N_DATA), 0.0)
    assert (found.delta, found.se, found.wrong) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
