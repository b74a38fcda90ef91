"""Headlines as checks with bands: held, refuted and unresolved; what chains cost; chains that have not converged."""

from __future__ import annotations

import numpy as np
import pytest

from samplers.experiments.problems.exact_vs_sequential import Estimate, drift
from samplers.experiments.problems.headlines import (
    READ,
    TIME,
    WORK,
    headline_checks,
    headline_sentence,
    headline_table,
    lowest_risk,
    risk_at,
    variance_and_bias,
    with_memory,
)

TRUTH = Estimate(np.zeros(2), np.full(2, 1e-6), 1e6)


def part(error, per_datum=2.0, longest=100.0):
    """A chain whose means have this error all the time."""
    curve = np.full((3, 2), error)
    work = np.array([1.0, 10.0, longest])
    return {"means": curve, "seconds": work, "evaluations": work * 1000.0, "per_datum": per_datum}


def chains(exact, test):
    return {"exact": [part(e, 1.0) for e in exact], "ε = 0.1": [part(e) for e in test]}


@pytest.mark.parametrize(
    ("exact", "test", "expected"),
    [
        ((1.0, 1.1, -1.0), (0.1, 0.12, -0.1), True),
        ((0.1, 0.12, -0.1), (1.0, 1.1, -1.0), False),
        ((1.0, 0.1, -0.5), (0.9, 0.2, -0.4), None),
        ((1.0,), (0.1,), None),  # one chain has no band
        ((1e-6, 1.1e-6, 1e-6), (1e-7, 1e-7, 1e-7), None),  # within the truth's own error
    ],
)
def test_where_the_lowest_risk_is(exact, test, expected):
    found = {TIME: lowest_risk(chains(exact, test), TRUTH, TIME)}
    assert found[TIME].check is expected
    assert list(headline_checks("K14 Fig. 2", found).values()) == [expected]
    said = {True: "ε > 0 is lower", False: "exact is lower", None: "unresolved"}[expected]
    assert f"({said})" in headline_sentence(found)
    ((_, name, budget, *risks, answer),) = headline_table(found).rows
    assert (name, budget, answer) == ("ε = 0.1", 100.0, {True: "yes", False: "no", None: "unresolved"}[expected])
    assert [risks[0], risks[3]] == pytest.approx([np.mean(np.square(exact)), np.mean(np.square(test))])


def test_risks_are_compared_at_what_both_have_spent():
    """The exact chain ends at 10.5 seconds; one test goes on, but is judged by then; another ended before."""
    falling = part(1.0) | {"means": np.array([[1.0, 1.0], [0.5, 0.5], [0.0, 0.0]])}
    short = part(0.3, longest=5.0) | {"seconds": np.array([1.0, 2.0, 5.0])}
    tests = {"exact": [part(0.4, longest=10.5)] * 3, "ε = 0.1": [falling] * 3, "ε = 0.2": [short] * 3}
    found = lowest_risk(tests, TRUTH, TIME)
    assert [pair.budget for pair in found.pairs.values()] == [10.5, 5.0]
    assert [pair.lower for pair in found.pairs.values()] == [False, True]
    assert found.check is True and found.best == "ε = 0.2"
    assert lowest_risk({name: tests[name] for name in ("exact", "ε = 0.1")}, TRUTH, TIME).check is False
    assert risk_at([falling], TRUTH.mean, TIME, 10.0).value == pytest.approx(0.25)


def test_memory_saves_evaluations_but_no_reading():
    equal = with_memory(chains((1.0,), (1.0,)), {"ε = 0.1": 1.5})
    assert equal["ε = 0.1"][0][READ][-1] == 50_000.0 and equal["ε = 0.1"][0][WORK][-1] == 75_000.0
    assert equal["exact"][0][READ][-1] == equal["exact"][0][WORK][-1] == 100_000.0


def test_variance_and_bias_are_told_apart():
    rng = np.random.default_rng(1)
    for bias, spread, expected in ((0.0, 1.0, True), (1.0, 0.1, False)):
        parts = [{"means": (bias + spread * rng.standard_normal((1, 400)))} for _ in range(8)]
        found = variance_and_bias(parts, Estimate(np.zeros(400), np.zeros(400), 1.0))
        assert found.dominated is expected
        assert found.variance == pytest.approx(spread**2, rel=0.15)
        assert found.bias_squared == pytest.approx(bias**2, abs=0.15 * spread**2)
    assert variance_and_bias(parts[:2], Estimate(np.zeros(400), np.zeros(400), 1.0)).dominated is None


def test_chains_that_drift_or_are_stuck_are_noticed():
    rng = np.random.default_rng(2)
    noise = [rng.standard_normal((20, 3)) for _ in range(4)]
    noise[0][:, 2] = noise[1][:, 2] = noise[2][:, 2] = noise[3][:, 2] = 1.0  # never changes
    assert drift([{"blocks": block} for block in noise]) < 4.0
    trend = np.linspace(-2.0, 2.0, 20)[:, None] * [1.0, 0.0, 0.0]
    assert drift([{"blocks": block + trend} for block in noise]) > 4.0
    stuck = [{"blocks": np.full((20, 1), float(k == 0))} for k in range(4)]
    assert drift(stuck) > 4.0
