"""Beyond EXACT_LOOKS neighbouring looks are merged: how wrong that is, and that `estimate` says so."""

import math

import numpy as np
import pytest

from designer.engine import look_grid
from designer.engine.look_grid import EXACT_LOOKS
from designer.engine.walk import characteristics, stopping, worst_case
from designer.rule.boundary import Boundary
from designer.rule.design import Design
from designer.rule.looks import Schedule
from designer.rule.plan import Plan, as_plan

MU = np.array([-1.0, 0.0, 0.1, 0.5, 2.0, 5.0, 20.0, 100.0])


def exactly(plan, mu, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(look_grid, "EXACT_LOOKS", 10**9)
        return characteristics(plan, mu)


def merged(plan, mu, monkeypatch, width=0.2):
    """Looks merged up to `width`; 2000 equal ones are 0.045 apart, so that this leaves about one in ten."""
    with monkeypatch.context() as patch:
        patch.setattr(look_grid, "EXACT_LOOKS", 100)
        patch.setattr(look_grid, "THINNED", width)
        return characteristics(plan, mu)


def differences(one, other):
    return max(np.abs(one.error - other.error).max(), np.abs(one.usage - other.usage).max())


@pytest.mark.parametrize(("looks", "width"), [(2000, 0.2), (3999, 0.1), (9000, look_grid.THINNED)])
@pytest.mark.parametrize(
    ("epsilon", "alpha"),
    [(1e-5, 0.5), (0.01, 0.5), (0.05, 0.75), (0.05, 1.0), (0.3, 0.5), (0.49, 0.5), (0.499, 0.9), (0.5, 0.5)],
)
def test_merging_costs_no_more_than_the_estimate(looks, width, epsilon, alpha, monkeypatch):
    plan = as_plan(Design(10 * looks - 3, 10, epsilon, alpha))
    exact, approximate = exactly(plan, MU, monkeypatch), merged(plan, MU, monkeypatch, width)
    assert plan.schedule.size == looks
    assert exact.estimate < 1e-10
    assert approximate.estimate < 0.1 * width**3
    assert differences(exact, approximate) <= approximate.estimate


@pytest.mark.parametrize(
    ("m", "epsilon", "alpha", "mu"),
    [(19_347, 8e-6, 0.94, 0.894), (19_373, 2.97e-5, 0.86, -0.771), (17_591, 1.02e-5, 0.97, 0.0)],
)
def test_the_estimate_for_a_single_mean(m, epsilon, alpha, mu, monkeypatch):
    """Two resolutions may agree by chance at one μ_std; that must not pass for accuracy."""
    plan = as_plan(Design(10**8, m, epsilon, alpha))
    curve = characteristics(plan, [mu])
    assert differences(curve, exactly(plan, [mu], monkeypatch)) <= curve.estimate


@pytest.mark.parametrize(
    ("m", "epsilon", "alpha"),
    [(1513, 0.002254, 0.98), (3650, 0.002134, 0.73), (1092, 1e-5, 0.63), (12_659, 0.000103, 0.98)],
)
def test_the_estimate_when_a_loose_tolerance_merges_looks(m, epsilon, alpha):
    design, mu = Design(10**6, m, epsilon, alpha), [-1.6, -1.535, -0.75, -0.15, 0.5, 1.067, 1.3, 1.9]
    best = characteristics(design, mu)
    for tolerance in (0.01, 0.005, 0.002):
        for x, error, usage in zip(mu, best.error, best.usage, strict=True):
            single = characteristics(design, x, tolerance)
            assert abs(float(single.error) - error) <= single.estimate
            assert abs(float(single.usage) - usage) <= single.estimate


def test_merging_does_happen(monkeypatch):
    """Else the tests above compare a thing with itself."""
    plan = as_plan(Design(10**5, 50, 0.05))
    assert differences(exactly(plan, MU, monkeypatch), merged(plan, MU, monkeypatch)) > 1e-7


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(-1.0, 2.0), (-3.0, 0.05), (-0.1, 0.05), (0.5, 1.5), (-math.inf, 1.5)],
)
def test_merging_with_asymmetric_bounds(lower, upper, monkeypatch):
    looks = 2500
    lowers = np.full(looks - 1, lower)
    lowers[0] = max(lower, -4.0)
    plan = Plan(Schedule.equal(10 * looks, 10), Boundary.explicit(lowers, np.full(looks - 1, upper)))
    exact, approximate = exactly(plan, MU, monkeypatch), merged(plan, MU, monkeypatch)
    assert differences(exact, approximate) <= approximate.estimate < 1e-3


def test_merging_listed_looks(monkeypatch):
    looks = np.arange(20, 50_000, 20)
    listed = Plan(Schedule.explicit(50_000, looks), Boundary.pocock(0.05))
    equal = as_plan(Design(50_000, 20, 0.05))
    assert differences(merged(listed, MU, monkeypatch), merged(equal, MU, monkeypatch)) < 1e-12


def one_tight_look(looks):
    bounds = np.full(looks - 1, math.inf)
    bounds[looks // 2] = 1.0
    return -bounds, bounds


def tight_every_tenth_look(looks):
    bounds = np.where(np.arange(1, looks) % 10, 8.0, 1.0)
    return -bounds, bounds


def tight_every_fiftieth_look(looks):
    bounds = np.where(np.arange(looks - 1) % 50, 8.0, 1.0)
    return -bounds, bounds


@pytest.mark.parametrize("shape", [one_tight_look, tight_every_tenth_look, tight_every_fiftieth_look])
def test_merging_does_not_lose_a_tight_look(shape, monkeypatch):
    """Explicit bounds may change from look to look; a look that decides must not vanish between two that are kept."""
    looks = 5000
    plan = Plan(Schedule.equal(10 * looks, 10), Boundary.explicit(*shape(looks)))
    curve = characteristics(plan, MU)
    assert differences(curve, exactly(plan, MU, monkeypatch)) <= curve.estimate


def test_on_both_sides_of_the_limit(monkeypatch):
    for looks in (EXACT_LOOKS, EXACT_LOOKS + 1):
        plan = as_plan(Design(20 * looks, 20, 0.05, 0.6))
        by_default, exact = characteristics(plan, MU), exactly(plan, MU, monkeypatch)
        assert differences(by_default, exact) <= by_default.estimate
        assert (by_default.estimate < 1e-10) is (looks == EXACT_LOOKS)


@pytest.mark.parametrize("alpha", [0.5, 0.8, 1.0])
def test_more_looks_mean_more_errors_and_less_data(alpha):
    """Halving the batches again and again, up to N = 10^12 and 10^9 looks."""
    curves = [characteristics(Design(10**12, 10**12 // looks, 0.05, alpha), MU) for looks in 10 ** np.arange(1, 10)]
    slack = 2 * max(curve.estimate for curve in curves)
    errors, usages = np.array([curve.error for curve in curves]), np.array([curve.usage for curve in curves])
    assert slack < 1e-4
    assert np.all((errors >= 0) & (errors <= 0.5 + slack))
    assert np.all((usages > 0) & (usages <= 1))
    assert np.diff(errors, axis=0).min() >= -slack
    assert np.diff(usages, axis=0).max() <= slack
    assert errors[-1, 1] > errors[0, 1] + 0.05


def test_a_million_looks():
    design = Design(10**9, 1000, 0.05)
    curve = characteristics(design, MU)
    assert curve.estimate < 2e-5
    assert 0.49 < curve.error[1] < 0.5  # with so many looks a fair coin, and still hardly any data
    assert 0.0 < curve.usage[1] < 0.2
    for mu in (0.0, 0.5, 20.0):
        exits, single = stopping(design, mu), characteristics(design, mu)
        decided = exits.accept + exits.reject
        assert exits.n[-1] == 10**9
        assert np.all(np.diff(exits.n) > 0)
        assert decided.sum() == pytest.approx(1.0, abs=1e-7)
        assert (exits.reject if mu > 0 else exits.accept).sum() == pytest.approx(
            float(single.error), abs=single.estimate
        )


def test_only_fractions_matter_not_the_number_of_data():
    """E and usage depend on N through pi alone: the same up to N = 10^15, exact or merged."""
    for looks in (50, 100_000):
        curves = [characteristics(Design(looks * m, m, 0.02, 0.7), MU) for m in (2, 1000, 10**10)]
        for curve in curves[1:]:
            assert differences(curves[0], curve) < 1e-12


def test_small_batches_from_ever_more_data():
    """At μ_std = 0 the error tends to one half and the usage to nothing as N grows with m fixed."""
    cases = [worst_case(Design(10**k, 100, 0.05)) for k in (4, 6, 9, 12, 15)]
    error, usage = np.array([c.error[0] for c in cases]), np.array([c.usage[0] for c in cases])
    assert np.all(np.diff(error) > 0)
    assert np.all(np.diff(usage) < 0)
    assert error[-1] == pytest.approx(0.5, abs=1e-4)
    assert usage[-1] < 1e-2
