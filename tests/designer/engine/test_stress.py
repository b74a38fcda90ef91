"""A hundred random designs of the whole allowed range against theorems; `benchmarks.reliability.stress` has more."""

import numpy as np
import pytest

from benchmarks.engine.fifty_digits import exact_curves, few_looks
from benchmarks.reliability.stress import NOTHING, check_chunk, check_design, curve_theorems, random_design, shown
from designer.engine.step_error import acceptance
from designer.engine.walk import characteristics
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import as_plan

DESIGNS = 120


@pytest.fixture(scope="module")
def found():
    return check_chunk(1, DESIGNS, seed=7) + check_design(0, seed=7)


def test_no_theorem_is_broken(found):
    assert found.violations == []
    assert found.failures == []
    assert found.designs == DESIGNS
    assert found.checks["error falls with |μ_std|"] == DESIGNS
    assert found.checks["data use rises with the bounds"] == DESIGNS // 4
    assert found.checks["estimate against twice the nodes"] > 0
    assert found.checks["Barker: Δ is odd in A"] > 0


def test_estimates_are_small(found):
    assert max(found.estimates) <= 1e-3
    assert np.median(found.estimates) <= 1e-10


def test_a_wrong_curve_would_be_noticed():
    design = Design(12_214, 500, 0.05)
    curve = characteristics(design, [0.0, 1.0, 2.0])
    assert all(by <= 2 * curve.estimate + 1e-14 for _, by in curve_theorems(design, curve))
    for wrong in (curve._replace(error=curve.error[::-1]), curve._replace(usage=curve.usage[::-1])):
        assert any(by > 1e-3 for _, by in curve_theorems(design, wrong))


def test_designs_cover_the_range():
    rng = np.random.default_rng(1)
    designs = [random_design(rng) for _ in range(2000)]
    assert min(d.n_data for d in designs) == 2
    assert max(d.n_data for d in designs) > 5e11
    assert min(d.epsilon for d in designs) < 2e-16
    assert max(as_plan(d).schedule.size for d in designs) > 1e10
    assert {d.alpha for d in designs} >= {0.5, 1.0}
    assert max(d.growth for d in designs) > 5e5
    assert eval(shown(designs[0])) == designs[0]


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_the_estimate_is_honest_in_50_digits(seed):
    design, mu = few_looks(np.random.default_rng(seed))
    curve, exact = characteristics(design, [mu]), exact_curves(design, mu)
    assert abs(exact[0] - curve.error[0]) <= curve.estimate
    assert abs(exact[1] - curve.usage[0]) <= curve.estimate


def test_drifts_far_apart_are_handled_in_groups():
    """One window for all of these drifts would take a minute; the numbers must be those of each drift alone."""
    design = Design(18_088_377, 11, 2.5e-16, 1.0, 7465.5)
    trial = TrialRun(design.n_data, [-1.0 / design.n_data], [1e-6 / design.n_data**0.5])
    assert 0.0 <= float(acceptance(design, trial).usage[0]) <= 1.0
    mu = np.linspace(0.0, 2.7e7, 4000)
    together = characteristics(design, mu)
    for k in (0, 37, 3900, 3999):
        alone = characteristics(design, [mu[k]])
        assert abs(alone.error[0] - together.error[k]) <= alone.estimate + together.estimate
        assert abs(alone.usage[0] - together.usage[k]) <= alone.estimate + together.estimate


def test_results_add_up(found):
    assert (NOTHING + found).checks == found.checks
