"""The search against brute force, K14's findings and its own promises."""

from __future__ import annotations

import numpy as np
import pytest

import designer
from designer import BadInput, Cancelled, Cost, Design, Grid, Space, TrialRun, acceptance, worst_case
from designer.engine.walk import outcomes, stopping
from designer.rule.plan import as_plan
from designer.search.criteria import ENOUGH_PAIRS, OverPairs
from designer.search.search import searches

N_DATA = 20_000


def search(*arguments, **options):
    """The search by point estimates; tests of the upper limit are in test_upper_limit.py."""
    return designer.search(*arguments, **({"confidence": None} | options))


def pairs(count: int = 60, seed: int = 0, n_data: int = N_DATA) -> TrialRun:
    """Pairs as at stationarity, with varying κ."""
    rng = np.random.default_rng(seed)
    kappa = np.exp(rng.normal(0.3, 0.3, count))
    a = rng.normal(-0.5 * kappa**2, kappa)
    return TrialRun(n_data, a / n_data, kappa * np.sqrt(n_data - 1) / n_data)


def test_the_grid_search_is_brute_force():
    trial, grid = pairs(), Grid([200, 500, 1500], [0.01, 0.03, 0.1, 0.3], [0.5, 0.8], [1.0, 1.5])
    steps = [(design, acceptance(design, trial)) for design in grid.designs(N_DATA)]
    feasible = [(step.mean_usage, design) for design, step in steps if step.mean_abs_delta <= 0.02]
    usage, design = min(feasible, key=lambda item: item[0])
    found = search(trial, 0.02, grid=grid)
    assert found.best.without_notes == design
    assert found.usage == pytest.approx(usage, abs=1e-6)
    assert len(found.evaluated) == len(steps) == 48
    assert found.evaluated.feasible.sum() == len(feasible)
    table = {(m, e, a, g): (error, used) for m, e, a, g, error, used, *_ in zip(*found.evaluated, strict=True)}
    for design, step in steps:
        error, used = table[design.m, design.epsilon, design.alpha, design.growth]
        assert error == pytest.approx(step.mean_abs_delta, abs=1e-6)
        assert used == pytest.approx(step.mean_usage, abs=1e-6)


@pytest.mark.parametrize("tolerance", [0.1, 0.01, 0.001])
def test_the_continuous_search_is_no_worse_than_a_fine_grid(tolerance):
    trial = pairs()
    grid = Grid([500, 700, 1000, 1500], np.geomspace(1e-4, 0.45, 40).tolist(), [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    found, best_on_grid = search(trial, tolerance), search(trial, tolerance, grid=grid)
    assert found.error <= tolerance
    assert found.usage <= best_on_grid.usage * 1.001


def test_reported_numbers_are_those_of_the_engine():
    trial = pairs()
    found = search(trial, 0.01)
    full = acceptance(found.best, trial, tolerance=1e-11)
    assert found.error == pytest.approx(full.mean_abs_delta, abs=1e-6)
    assert found.usage == pytest.approx(full.mean_usage, abs=1e-6)
    assert found.looks == pytest.approx(full.looks.mean(), rel=1e-5)
    predicted, worst = found.best.predicted, worst_case(found.best)
    assert predicted.mean_abs_delta == pytest.approx(full.mean_abs_delta, abs=1e-9)
    assert predicted.worst_error == pytest.approx(worst.error[0], abs=1e-9)
    assert found.acceptance.mean_abs_delta == predicted.mean_abs_delta
    assert found.acceptance.delta == pytest.approx(full.delta, abs=1e-9)
    assert predicted.worst_usage == pytest.approx(worst.usage[0], abs=1e-9)
    assert found.best.provenance.trial == trial.digest
    assert found.best.provenance.pairs == len(trial)


def test_epsilon_is_the_largest_feasible():
    found = search(pairs(), 0.01, space=Space(500, 500, (0.5, 0.5)))
    larger = Design(N_DATA, 500, found.best.epsilon * 1.001)
    assert found.best.m == 500
    assert acceptance(larger, pairs()).mean_abs_delta > 0.01 >= found.error


def test_the_criteria_of_the_paper_compare_as_in_its_figure_6():
    """Average meets its target on fresh pairs, worst-case is conservative, fixed m needs more data than the optimum."""
    train, fresh = pairs(200, 1), pairs(4000, 2)
    for tolerance in (0.05, 0.01):
        average, fixed, worst = (search(train, tolerance, c) for c in ("average", "fixed-m", "worst-case"))
        seen, unseen = (acceptance(average.best, sample) for sample in (train, fresh))
        se = np.abs(seen.delta).std() / np.sqrt(len(train))
        assert abs(unseen.mean_abs_delta - tolerance) < 4 * se
        assert acceptance(worst.best, fresh).mean_abs_delta < 0.5 * tolerance
        assert acceptance(worst.best, fresh).mean_usage > unseen.mean_usage
        assert fixed.best.m == 500
        assert fixed.best.alpha == 0.5
        assert average.usage <= fixed.usage


def test_worst_case_needs_no_trial_run():
    found = search(None, 0.05, "worst-case", n_data=12_214)
    worst = worst_case(found.best)
    assert worst.error[0] <= 0.05
    assert found.error == pytest.approx(worst.error[0], abs=1e-7)
    assert found.best.predicted.mean_abs_delta is None


def test_the_quantile_criterion_bounds_the_quantile():
    trial = pairs(100)
    found = search(trial, 0.03, "quantile", quantile=0.9)
    size = np.abs(acceptance(found.best, trial).delta)
    assert np.quantile(size, 0.9) == pytest.approx(found.error, abs=1e-6)
    assert 0.03 * 0.99 < found.error <= 0.03


def test_costly_looks_make_batches_larger():
    trial = pairs()
    cheap, dear = (search(trial, 0.02, cost=Cost(5.0, 2.0, per_look)) for per_look in (0.0, 5000.0))
    assert dear.best.m > 2 * cheap.best.m
    assert dear.cost == pytest.approx(5.0 + 2.0 * N_DATA * dear.usage + 5000.0 * dear.looks)
    assert dear.looks < cheap.looks


def test_expected_looks_are_those_of_the_stopping_distribution():
    for design, drift in ((Design(N_DATA, 500, 0.05), 1.5), (Design(N_DATA, 100, 0.01, 1.0), 3.0)):
        where = stopping(design, drift)
        expected = float(np.arange(1, where.n.size + 1) @ (where.accept + where.reject))
        outcome, _ = outcomes(as_plan(design), np.array([drift]), 1e-10)
        assert outcome.looks[0] == pytest.approx(expected, rel=1e-9)


def test_expected_looks_survive_merging():
    exact, _ = outcomes(as_plan(Design(1_500_000, 500, 0.02)), np.array([0.0, 1.0, 5.0]), 1e-10)
    merged, _ = outcomes(as_plan(Design(1_500_000, 500, 0.02)), np.array([0.0, 1.0, 5.0]), 1e-4)
    assert merged.looks == pytest.approx(exact.looks, rel=1e-3)


def test_infeasible_is_an_answer_with_the_nearest_tolerance():
    trial, grid = pairs(), Grid([500, 600], [0.2, 0.3])
    found = search(trial, 1e-4, grid=grid)
    assert found.best is None
    assert "no design with m from 500 to 600" in found.reason
    assert search(trial, found.nearest_tolerance, grid=grid).best is not None
    assert search(trial, found.nearest_tolerance * 0.999, grid=grid).best is None


def test_the_result_does_not_depend_on_the_number_of_workers():
    one, many = (search(pairs(), 0.02, workers=workers) for workers in (1, 5))
    assert one.best == many.best
    for mine, yours in zip(one.evaluated, many.evaluated, strict=True):
        np.testing.assert_array_equal(mine, yours)


def test_several_tolerances_at_once_give_the_same_designs():
    together = searches(pairs(), [0.05, 0.01], confidence=None)
    for tolerance, found in zip([0.05, 0.01], together, strict=True):
        alone = search(pairs(), tolerance)
        assert found.usage == pytest.approx(alone.usage, rel=2e-3)
        assert found.error <= tolerance


def test_progress_rises_to_the_total():
    seen: list[tuple[int, int]] = []
    search(pairs(20), 0.05, progress=lambda done, total: seen.append((done, total)))
    done = [d for d, _ in seen]
    assert done == sorted(done)
    assert seen[-1][0] == seen[-1][1]
    assert len(seen) > 5


def test_a_cancelled_search_stops_at_once():
    asked = iter([False] * 7 + [True] * 1000)
    with pytest.raises(Cancelled):
        search(pairs(20), 0.05, cancelled=lambda: next(asked))
    assert len(list(asked)) > 900


def test_many_pairs_are_compared_on_a_sample_and_measured_in_full():
    trial = pairs(3 * ENOUGH_PAIRS)
    assert len(OverPairs(trial, "metropolis").small().trial) == ENOUGH_PAIRS
    found = search(trial, 0.02, space=Space(500, 2000, (0.5, 0.75)))
    assert found.error == pytest.approx(acceptance(found.best, trial).mean_abs_delta, abs=1e-6)


def test_a_barker_chain_gets_its_own_design():
    trial = pairs()
    found = search(trial, 0.01, rule="barker")
    assert acceptance(found.best, trial, "barker").mean_abs_delta == pytest.approx(found.error, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 0.0}, "tolerance = 0.0: must lie in [1e-06, 1]"),
        ({"tolerance": float("nan")}, "tolerance = nan"),
        ({"tolerance": 1e-9}, "tolerance = 1e-09"),
        ({"criterion": "best"}, "criterion = 'best': must be one of average, worst-case, fixed-m, quantile"),
        ({"trial": None}, "n_data: needed"),
        ({"trial": None, "n_data": 1000}, "needs a trial run"),
        ({"n_data": 999}, "n_data = 999: must be the trial run's, 20,000, or be left out"),
        ({"rule": "gibbs"}, "rule = 'gibbs'"),
        ({"criterion": "quantile", "quantile": 1.5}, "quantile = 1.5"),
        ({"space": Space(600, 500)}, "m_high = 500: must be a whole number from 600 to 20,000"),
        ({"space": Space(alpha=(0.9, 0.6))}, "alpha = 0.6: must lie in [0.9, 1]"),
        ({"space": Space(growth=())}, "growth"),
        ({"space": Space(growth=1.5)}, "growth = 1.5: must be a list"),
        ({"space": Space(growth=None)}, "growth = None: must be a list of at least one entry"),
        ({"space": Space(alpha=0.5)}, "alpha = 0.5: must be two numbers, the smallest and the largest"),
        ({"space": Space(alpha=(0.5,))}, "alpha = (0.5,): must be two numbers"),
        ({"space": Space(epsilon=0.05)}, "epsilon = 0.05: must be two numbers"),
        ({"space": Space(epsilon=())}, "epsilon = (): must be two numbers"),
        ({"space": Space(alpha="ab")}, "alpha = 'ab': must be two numbers"),
        ({"space": {}}, "space = {}: must be a Space"),
        ({"grid": [500]}, "grid = [500]: must be a Grid"),
        ({"grid": Grid(500, [0.1])}, "grid.m = 500: must be a list"),
        ({"cost": (0, 1, 0)}, "cost = (0, 1, 0): must be a Cost"),
        ({"trial": [1.0]}, "trial = [1.0]: must be a TrialRun"),
        ({"n_data": "x"}, "n_data = 'x': must be a whole number"),
        ({"trial": None, "n_data": "x"}, "n_data = 'x': must be a whole number"),
        ({"tolerence": 0.1}, "tolerence: unknown option; allowed: n_data, space, grid"),
        ({"workers": 0}, "workers = 0: must be a whole number from 1"),
        ({"space": Space(m_low=0)}, "m_low = 0"),
        ({"workers": -1}, "workers = -1"),
        ({"grid": Grid([], [0.1])}, "grid.m = []: must be a list of at least one entry"),
        ({"grid": Grid([1], [0.1])}, "m = 1"),
        ({"grid": Grid([100], [0.7])}, "epsilon = 0.7"),
        ({"cost": Cost(0.0, -1.0)}, "cost.per_datum = -1.0"),
        ({"cost": Cost(1.0, 0.0, 0.0)}, "per_datum or per_look must be positive"),
        ({"criterion": "fixed-m", "fixed_m": 1}, "fixed_m = 1"),
    ],
)
def test_bad_input_is_named(arguments, message):
    call = {"trial": pairs(5), "tolerance": 0.01} | arguments
    with pytest.raises(BadInput) as problem:
        search(call.pop("trial"), call.pop("tolerance"), **call)
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_search_needs_a_list_of_tolerances(refuses):
    refuses(lambda: searches(pairs(5), []), "tolerances = []", "at least one")
    refuses(lambda: searches(pairs(5), 0.1), "tolerances = 0.1", "must be a list")


def test_a_space_needs_a_number_of_data(refuses):
    refuses(lambda: Space().checked("x"), "n_data = 'x'", "whole number")


def test_small_data_sets_can_be_designed_for():
    trial = pairs(30, n_data=60)
    found = search(trial, 0.05)
    assert 2 <= found.best.m <= 60
    assert found.error <= 0.05


def test_epsilon_stays_in_the_range_given():
    found = search(pairs(), 0.9, space=Space(500, 600, epsilon=(0.123456, 0.123456)))
    assert found.best.epsilon == 0.123456
