"""Error, usage and stopping: closed forms, published constants, tables, the literal equations, properties."""

import csv
import math
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from designer.core.errors import NumericalFailure
from designer.engine import drift_groups, walk
from designer.engine.look_grid import Resolution
from designer.engine.walk import characteristics, outcomes, stopping, sweep, worst_case
from designer.rule.boundary import Boundary, threshold
from designer.rule.design import Design
from designer.rule.looks import Schedule
from designer.rule.plan import Plan, as_plan
from tests import naive

TABLE_ERROR = 2e-12  # of the reference values themselves
INF = math.inf


def explicit(n_data, looks, lower, upper):
    return Plan(Schedule.explicit(n_data, looks), Boundary.explicit(lower, upper))


def assert_close(curve, exact, tolerance):
    """`exact` holds one (error, usage) per drift."""
    np.testing.assert_allclose(np.stack([curve.error, curve.usage], axis=1), exact, rtol=0, atol=tolerance)


# --- closed forms -----------------------------------------------------------------------------------------------------


def test_all_the_data_at_once_is_never_wrong():
    curve = characteristics(Design(1000, 1000, 0.05), [-3.0, 0.0, 5.0])
    assert curve.error.tolist() == [0.0, 0.0, 0.0]
    assert curve.usage.tolist() == [1.0, 1.0, 1.0]


def test_two_looks():
    mu, pi, g = np.array([-2.0, -0.1, 0.0, 0.7, 4.0]), 0.6, threshold(0.1)
    curve = characteristics(Design(1000, 600, 0.1), mu)
    path = np.abs(mu) * math.sqrt(pi / (1 - pi))
    stop = ndtr(-g - path) + ndtr(path - g)
    assert_close(curve, np.stack([ndtr(-g - path), 1 - (1 - pi) * stop], axis=1), 1e-14)


def test_epsilon_of_one_half_stops_at_the_first_look():
    mu = np.array([-5.0, 0.0, 0.3, 2.0])
    curve = characteristics(Design(1000, 100, 0.5, 0.75), mu)
    assert_close(curve, [(ndtr(-abs(x) / 3), 0.1) for x in mu], 1e-14)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-12, 1e-16])
def test_as_epsilon_vanishes_so_does_the_error(epsilon):
    """By the union bound over the 19 interim looks."""
    curve = worst_case(Design(10_000, 500, epsilon))
    assert 0.0 <= curve.error[0] <= 19 * epsilon + 1e-14
    assert 1.0 - 38 * epsilon - 1e-14 <= curve.usage[0] <= 1.0


@pytest.mark.parametrize("mu", [1e3, 1e9, 1e300, -1e300, 1e308])
def test_a_huge_mean_is_decided_at_the_first_look(mu):
    assert_close(characteristics(Design(10_000, 500, 0.05), [mu]), [(0.0, 0.05)], 1e-15)
    exits = stopping(Design(10_000, 500, 0.05), mu)
    assert (exits.accept if mu > 0 else exits.reject)[0] == 1.0


def test_no_bounds_at_all_read_everything():
    curve = characteristics(explicit(100, [10, 50], [-INF, -INF], [INF, INF]), [-1e300, 0.0, 2.0])
    assert_close(curve, [(0.0, 1.0)] * 3, 0.0)


# --- published constants ----------------------------------------------------------------------------------------------

JENNISON_TURNBULL = [  # two-sided 0.05, equally spaced in information: looks, Pocock's constant, O'Brien and Fleming's
    (2, 2.178, 1.977),
    (5, 2.413, 2.040),
    (10, 2.555, 2.087),
]


@pytest.mark.parametrize(("looks", "pocock", "obrien_fleming"), JENNISON_TURNBULL)
def test_jennison_turnbull_constants(looks, pocock, obrien_fleming):
    k = np.arange(1, looks + 1)
    n_data = math.lcm(*range(2, looks + 2))  # n = N k / (k + 1) makes the information t = k

    def level(bounds):
        return 2 * worst_case(explicit(n_data, n_data * k // (k + 1), -bounds, bounds)).error[0]

    last_digit = 0.0005
    assert level(np.full(looks, pocock - last_digit)) > 0.05 > level(np.full(looks, pocock + last_digit))
    shape = np.sqrt(looks / k)
    assert level((obrien_fleming - last_digit) * shape) > 0.05 > level((obrien_fleming + last_digit) * shape)


@pytest.mark.parametrize(
    ("m", "epsilon", "error"), [(50, 0.001, 0.031098), (50, 0.01, 0.186921), (500, 0.05, 0.304677)]
)
def test_converged_values_of_the_published_dynamic_programme(m, epsilon, error):
    assert worst_case(Design(13_000, m, epsilon)).error[0] == pytest.approx(error, abs=5e-7)


def table():
    """Rows of the reference tables by design: (m of 10,000 data, ε, α), rows."""
    rows = []
    for name in ("operating_characteristics", "many_looks"):
        with (Path(__file__).parents[2] / "data" / f"{name}.csv").open() as file:
            rows += [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]

    def design(row):
        return round(10_000 * row["pi_1"]), row["epsilon"], row["alpha"]

    return [(key, list(group)) for key, group in groupby(sorted(rows, key=design), key=design)]


def test_the_tables_are_complete():
    assert sum(len(rows) for _, rows in table()) == 180 + 135
    assert {m for (m, _, _), _ in table()} == {10, 20, 50, 100, 500, 1000, 2500}


@pytest.mark.parametrize(("key", "rows"), table(), ids=lambda value: str(value) if isinstance(value, tuple) else "")
def test_reference_table(key, rows):
    m, epsilon, alpha = key
    curve = characteristics(Design(10_000, m, epsilon, alpha), [row["mu_std"] for row in rows])
    exact = np.array([(row["error"], row["usage"]) for row in rows])
    assert_close(curve, exact, 1e-10)
    assert_close(curve, exact, curve.estimate + TABLE_ERROR)


# --- joint normal probabilities ---------------------------------------------------------------------------------------


def joint_normal_exits(plan, mu):
    """Probabilities of leaving below and above at each look, as multivariate normal probabilities of boxes."""
    n, n_data = plan.schedule.n[:-1], plan.schedule.n_data
    t = n / (n_data - n)
    correlation = np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t))
    lower, upper = plan.boundary.at(np.arange(n.size), n / n_data)

    def box(low, high):
        k = len(low)
        law = {"mean": mu * np.sqrt(t[:k]), "cov": correlation[:k, :k]}
        accuracy = {"abseps": 1e-9, "releps": 0, "maxpts": 10**6}
        return multivariate_normal.cdf(np.array(high), lower_limit=np.array(low), **law, **accuracy)

    below = [box([*lower[:j], -INF], [*upper[:j], lower[j]]) for j in range(n.size)]
    above = [box([*lower[:j], upper[j]], [*upper[:j], INF]) for j in range(n.size)]
    return below, above


@pytest.mark.parametrize("mu", [0.0, 0.8, -1.7])
@pytest.mark.parametrize(
    "plan",
    [
        as_plan(Design(1000, 400, 0.1)),
        as_plan(Design(1000, 300, 0.05, 0.8)),
        explicit(100, [10, 60], [-1.0, -0.3], [2.0, 0.9]),
        explicit(100, [10, 40, 90], [-1.0, -2.0, 0.1], [0.5, 2.5, 0.7]),
    ],
    ids=["J = 3", "J = 4", "asymmetric, J = 3", "asymmetric, J = 4"],
)
def test_joint_normal_probabilities(plan, mu):
    below, above = joint_normal_exits(plan, mu)
    exits = stopping(plan, mu)
    np.testing.assert_allclose(exits.reject[:-1], below, rtol=0, atol=1e-6)
    np.testing.assert_allclose(exits.accept[:-1], above, rtol=0, atol=1e-6)
    assert characteristics(plan, mu).error == pytest.approx(sum(below) if mu > 0 else sum(above), abs=2e-6)


# --- the literal equations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        (1000, 100, 0.05, 0.5, 1.0),
        (1001, 100, 0.05, 0.5, 1.0),  # a last batch of one
        (12_214, 500, 0.01, 0.75, 1.0),
        (10_000, 500, 0.001, 1.0, 1.0),
        (10**6, 100, 0.02, 0.5, 1.7),
        (10**6, 100, 0.02, 0.9, 1.3),
        (3, 2, 0.05, 0.5, 1.0),
        (10**7 + 1, 10**6, 0.05, 0.5, 1.0),  # one datum left: information jumps a million-fold at the last interim look
    ],
    ids=str,
)
def test_designs_against_the_literal_equations(parameters):
    mu = [-3.0, 0.0, 0.4, 1.0, 6.0, 40.0]
    curve = characteristics(Design(*parameters), mu)
    assert_close(curve, [naive.of_design(*parameters, x) for x in mu], 2e-13)


ASYMMETRIC = [
    (1000, [100, 250, 300, 700, 990], [-1.0, -2.0, -1.5, -0.2, -1.0], [2.0, 1.0, 3.0, 1.0, 0.1]),
    (1000, [100, 250, 300, 700, 990], [-1.0, 0.5, -1.5, -2.2, -1.0], [2.0, 1.0, 3.0, -0.5, 0.1]),  # beyond zero
    (1000, [2, 500, 999], [-2.0, -2.0, -2.0], [1.0, 1.0, 1.0]),
    (1000, [100, 400, 800], [-2.0, -INF, -1.0], [INF, 1.5, 2.0]),
    (10**6, [10, 11, 12, 999_999], [-2.0, -1.0, -2.0, -1.0], [1.0, 2.0, 1.0, 2.0]),
    (1000, [100, 400, 800], [0.3, -1.0, -1.0], [0.3, 1.0, 1.0]),  # no room between the bounds
]
ONE_SIDED = [
    (1000, [500], [-INF], [1.0]),
    (1000, [100, 400, 800], [-INF, -INF, -INF], [2.0, 1.5, 1.0]),
    (1000, [100, 400, 800], [-2.0, -1.5, -1.0], [INF, INF, INF]),
]


@pytest.mark.parametrize("bounds", ASYMMETRIC + ONE_SIDED, ids=str)
def test_explicit_bounds_against_the_literal_equations(bounds):
    n_data, looks, lower, upper = bounds
    plan, mu = explicit(*bounds), [-30.0, -2.0, -0.3, 0.0, 0.3, 2.0, 30.0]
    curve = characteristics(plan, mu)
    assert_close(curve, [naive.characteristics([*looks, n_data], lower, upper, x) for x in mu], 2e-13)
    for x in (-1.2, 0.0, 0.7):
        below, above = naive.exits([*looks, n_data], lower, upper, x)
        exits = stopping(plan, x)
        np.testing.assert_allclose(exits.reject[:-1], below, rtol=0, atol=2e-13)
        np.testing.assert_allclose(exits.accept[:-1], above, rtol=0, atol=2e-13)


def test_fifty_digits():
    for n_data, looks, lower, upper in (
        (100, [20, 45, 80], [-1.7, -1.7, -1.7], [1.7, 1.7, 1.7]),
        (100, [10, 30, 60, 90], [-2.0, -1.0, -1.5, -0.5], [1.0, 1.5, 2.0, 2.5]),
    ):
        for mu in (0.0, 0.6):
            exact = naive.in_50_digits([*looks, n_data], lower, upper, mu)
            exits = stopping(explicit(n_data, looks, lower, upper), mu)
            np.testing.assert_allclose([exits.reject[:-1], exits.accept[:-1]], exact, rtol=0, atol=3e-15)


def test_expected_number_of_looks():
    for plan in (as_plan(Design(1000, 100, 0.05)), as_plan(Design(10_000, 500, 0.01, 1.0)), explicit(*ASYMMETRIC[0])):
        n, mu = plan.schedule.n.tolist(), np.array([-2.0, 0.0, 0.5, 20.0])
        lower, upper = plan.boundary.at(np.arange(len(n) - 1), plan.schedule.pi[:-1])
        stop = np.array([naive.exits(n, lower, upper, x).sum(axis=0) for x in mu])
        exact = len(n) - stop @ (len(n) - np.arange(1, len(n)))
        np.testing.assert_allclose(outcomes(plan, mu, 1e-10)[0].looks, exact, rtol=0, atol=1e-11)


# --- the stopping distribution ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.0, 1.3, -4.0, 60.0])
@pytest.mark.parametrize(
    "design",
    [
        Design(12_214, 500, 0.05),
        Design(20_000, 100, 0.05, 1.0),
        Design(10**6, 100, 0.01, 0.7, 1.3),
        Design(50, 50, 0.1),
    ],
    ids=["equal", "early looks cannot stop", "growing", "one look"],
)
def test_stopping_agrees_with_the_curves(design, mu):
    exits, curve = stopping(design, mu), characteristics(design, mu)
    decided = exits.accept + exits.reject
    assert exits.n.tolist() == as_plan(design).schedule.n.tolist()
    assert exits.pi.tolist() == (exits.n / design.n_data).tolist()
    assert decided.sum() == pytest.approx(1.0, abs=1e-12)
    assert decided.min() >= 0.0
    assert decided @ exits.pi == pytest.approx(float(curve.usage), abs=1e-11)
    wrong = exits.reject if mu > 0 else exits.accept
    assert wrong[-1] == 0.0
    assert wrong.sum() == pytest.approx(float(curve.error), abs=1e-11)


def test_stopping_reports_the_bounds():
    exits = stopping(Design(10_000, 500, 0.05, 0.8), 0.0)
    np.testing.assert_allclose(exits.bound[:-1], threshold(0.05) * exits.pi[:-1] ** -0.3, rtol=1e-14)
    assert exits.lower[:-1].tolist() == (-exits.upper[:-1]).tolist()
    assert exits.bound[-1] == 0.0


@pytest.mark.parametrize(
    "design", [Design(12_214, 500, 0.05), Design(10_000, 50, 0.2, 0.8), Design(10**5, 90, 0.01, 1.0)]
)
def test_worst_error_is_half_of_deciding_early(design):
    """K14 Eqn 20."""
    exits = stopping(design, 0.0)
    assert worst_case(design).error[0] == pytest.approx(0.5 * (1 - exits.accept[-1] - exits.reject[-1]), abs=1e-11)
    np.testing.assert_allclose(exits.accept[:-1], exits.reject[:-1], rtol=0, atol=1e-13)


# --- symmetry and order -----------------------------------------------------------------------------------------------


def test_symmetric_bounds_give_even_curves():
    mu = np.array([0.01, 0.3, 1.0, 4.0, 30.0])
    right, left = (
        characteristics(Design(10_000, 100, 0.03, 0.7), mu),
        characteristics(Design(10_000, 100, 0.03, 0.7), -mu),
    )
    assert right.error.tolist() == left.error.tolist()
    assert right.usage.tolist() == left.usage.tolist()


def test_reflected_bounds_swap_the_errors():
    n_data, looks, lower, upper = ASYMMETRIC[0]
    mu = np.array([-2.0, -0.5, 0.5, 2.0])
    curve = characteristics(explicit(*ASYMMETRIC[0]), mu)
    reflected = characteristics(explicit(n_data, looks, -np.array(upper), -np.array(lower)), -mu)
    assert_close(curve, np.stack([reflected.error, reflected.usage], axis=1), 1e-13)


@pytest.mark.parametrize(
    "design", [Design(12_214, 500, 0.05), Design(10**5, 100, 0.01, 1.0), Design(10**6, 50, 0.2, 0.6, 1.2)]
)
def test_curves_fall_with_the_size_of_the_mean(design):
    curve = characteristics(design, np.linspace(0, 60, 400))
    assert np.diff(curve.error).max() <= 1e-13
    assert np.diff(curve.usage).max() <= 1e-13
    assert curve.usage[-1] < 0.5 * curve.usage[0]


def test_the_shape_of_mu_std_is_kept():
    design, flat = Design(1000, 100, 0.05), characteristics(Design(1000, 100, 0.05), [0.0, 1.0, 2.0, 3.0])
    square = characteristics(design, [[0.0, 1.0], [2.0, 3.0]])
    assert square.error.tolist() == flat.error.reshape(2, 2).tolist()
    assert square.usage.tolist() == flat.usage.reshape(2, 2).tolist()
    single = characteristics(design, -0.0)
    assert single.error.shape == ()
    assert float(single.error) == pytest.approx(flat.error[0], abs=1e-15)
    assert characteristics(design, []).usage.shape == (0,)


def test_company_does_not_matter():
    """A drift's numbers do not depend on which other drifts are computed with it."""
    design, mu = Design(20_000, 50, 0.02, 0.9), np.array([0.0, 0.5, -3.0, 12.0, 250.0, 1e5])
    together = characteristics(design, mu)
    alone = [characteristics(design, x) for x in mu]
    assert_close(together, [(float(c.error), float(c.usage)) for c in alone], 1e-12)


# --- numerical honesty ------------------------------------------------------------------------------------------------

DOUBLING = [as_plan(Design(10_000, 100, 0.05)), as_plan(Design(10_000, 100, 0.01, 1.0)), explicit(*ASYMMETRIC[0])]


@pytest.mark.parametrize("plan", DOUBLING, ids=["Pocock", "O'Brien-Fleming", "asymmetric"])
def test_doubling_the_nodes_changes_nothing(plan):
    mu = np.array([-1.0, 0.0, 0.5, 3.0, 25.0])
    curve = characteristics(plan, mu)
    fine = Resolution.reaching(1e-12, plan).finer().finer()
    doubled = sweep(plan, mu, fine._replace(density=2 * fine.density))
    assert doubled.residual < 1e-13
    assert_close(curve, np.stack([doubled.error(mu), doubled.usage], axis=1), 1e-12)
    assert curve.estimate < 1e-10


def test_mirrored_and_unmirrored_walks_agree(monkeypatch):
    plan, mu = as_plan(Design(10_000, 200, 0.05, 0.7)), np.array([-2.0, 0.0, 0.4, 3.0, 9.0])
    mirrored = characteristics(plan, mu)
    monkeypatch.setattr(Boundary, "symmetric", property(lambda self: False))
    whole = characteristics(plan, mu)
    assert_close(mirrored, np.stack([whole.error, whole.usage], axis=1), 1e-13)


def test_groups_of_drifts_agree_with_one_wide_window(monkeypatch):
    plan, mu = as_plan(Design(10**6, 1000, 0.05, 1.0)), np.array([0.0, 1.0, 20.0, -50.0, 400.0, 1500.0])
    runs, run = [], walk._run

    def recorded(plan, grid, mu, *others, **named):
        runs.append(mu.size)
        return run(plan, grid, mu, *others, **named)

    monkeypatch.setattr(walk, "_run", recorded)
    resolution = Resolution.reaching(1e-12, plan).finer()
    monkeypatch.setattr(drift_groups, "MOST_NODES", 3e4)
    monkeypatch.setattr(drift_groups, "MUCH_LESS", INF)
    grouped = sweep(plan, mu, resolution)
    groups = runs.copy()
    monkeypatch.setattr(drift_groups, "MOST_NODES", INF)
    whole = sweep(plan, mu, resolution)
    assert len(groups) > 1  # the case is one that is split
    assert runs == [*groups, mu.size]
    for name in ("below", "above", "usage", "looks"):
        np.testing.assert_allclose(getattr(grouped, name), getattr(whole, name), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-12])
def test_the_estimate_is_honest_at_every_tolerance(tolerance):
    mu = np.array([-4.0, 0.0, 0.2, 1.0, 2.5, 10.0])
    for m in (4, 20, 100, 1000):
        for epsilon, alpha in ((0.2, 0.5), (0.01, 0.5), (1e-4, 0.9), (0.05, 1.0)):
            best = characteristics(Design(10_000, m, epsilon, alpha), mu)
            curve = characteristics(Design(10_000, m, epsilon, alpha), mu, tolerance)
            assert_close(curve, np.stack([best.error, best.usage], axis=1), curve.estimate + best.estimate)
            assert curve.estimate <= max(tolerance, 1e-11)


def test_a_walk_with_too_few_nodes_raises(monkeypatch):
    """Never a plausible wrong number."""
    plan = as_plan(Design(10_000, 100, 0.05))
    coarse = Resolution.reaching(0.01, plan)._replace(density=0.3)
    monkeypatch.setattr(Resolution, "reaching", classmethod(lambda cls, tolerance, plan: coarse))
    monkeypatch.setattr(Resolution, "finer", lambda self: self)
    with pytest.raises(NumericalFailure, match="did not converge"):
        characteristics(plan, [0.0, 1.0])


def test_looks_very_close_together_change_little():
    """A look one datum after another decides nothing new; the width between the two is 6e-5."""
    n_data = 10**9
    one = characteristics(explicit(n_data, [n_data // 2], [-1.5], [1.5]), [0.0, 1.0])
    two = characteristics(explicit(n_data, [n_data // 2, n_data // 2 + 1], [-1.5] * 2, [1.5] * 2), [0.0, 1.0])
    assert_close(two, np.stack([one.error, one.usage], axis=1), 1e-4)


# --- Hypothesis -------------------------------------------------------------------------------------------------------


@st.composite
def designs(draw, most_looks):
    n_data = draw(st.integers(4, 10**6))
    m = draw(st.integers(max(2, -(-n_data // most_looks)), n_data))
    epsilon = draw(st.one_of(st.floats(1e-8, 0.5), st.sampled_from([0.5, 0.4999, 0.05, 1e-16])))
    alpha = draw(st.one_of(st.floats(0.5, 1.0), st.sampled_from([0.5, 1.0])))
    growth = draw(st.one_of(st.just(1.0), st.floats(1.2, 5.0)))
    return Design(n_data, m, epsilon, alpha, growth)


DRIFT = st.one_of(st.floats(-5, 5), st.floats(-300, 300), st.sampled_from([0.0, -0.0, 1e-300, 1e6, -1e18]))


@given(designs(most_looks=80), st.lists(DRIFT, min_size=2, max_size=12))
def test_properties_of_every_design(design, mu):
    curve = characteristics(design, mu)
    order = np.argsort(np.abs(mu))
    slack = 2 * curve.estimate
    assert 0.0 <= curve.estimate <= 1e-10
    assert curve.error.min() >= 0.0
    assert curve.error.max() <= worst_case(design).error[0] + slack <= 0.5 + 2 * slack
    assert design.m / design.n_data - slack <= curve.usage.min()
    assert curve.usage.max() <= 1.0
    assert np.diff(curve.error[order]).max() <= slack
    assert np.diff(curve.usage[order]).max() <= slack


@given(designs(most_looks=12), DRIFT.filter(lambda mu: abs(mu) < 1e3))
def test_every_small_design_against_the_literal_equations(design, mu):
    curve = characteristics(design, [mu])
    exact = naive.of_design(design.n_data, design.m, design.epsilon, design.alpha, design.growth, mu)
    assert_close(curve, [exact], curve.estimate + 1e-12)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [math.nan, INF, -INF, [0.0, math.nan]])
def test_means_must_be_finite(mu, refuses):
    value = str(np.array(mu).flat[-1])
    refuses(lambda: characteristics(Design(1000, 100, 0.05), mu), f"mu_std = {value}", "finite")
    refuses(lambda: stopping(Design(1000, 100, 0.05), np.array(mu).flat[-1]), f"mu_std = {value}", "finite")


def test_means_must_be_numbers(refuses):
    refuses(lambda: characteristics(Design(1000, 100, 0.05), "large"), "mu_std")
    refuses(lambda: characteristics(Design(1000, 100, 0.05), [[1.0], [1.0, 2.0]]), "mu_std")
    refuses(lambda: stopping(Design(1000, 100, 0.05), [1.0, 2.0]), "mu_std", "one number")


@pytest.mark.parametrize("tolerance", [0.0, -1e-3, 1e-13, 0.011, math.nan, None, "fine"])
def test_bad_tolerances(tolerance, refuses):
    for call in (characteristics, stopping):
        refuses(
            lambda call=call: call(Design(1000, 100, 0.05), 0.0, tolerance),
            f"tolerance = {tolerance!r}",
            "[1e-12, 0.01]",
        )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ((1000, 1, 0.05), ["m = 1", "from 2 to 1,000"]),
        ((1000, 1001, 0.05), ["m = 1001", "from 2 to 1,000"]),
        ((1, 2, 0.05), ["n_data = 1", "from 2"]),
        ((1000, 100, 0.0), ["epsilon = 0", "[1e-16, 0.5]"]),
        ((1000, 100, 0.6), ["epsilon = 0.6", "[1e-16, 0.5]"]),
        ((1000, 100, math.nan), ["epsilon = nan", "[1e-16, 0.5]"]),
        ((1000, 100, 0.05, 0.4), ["alpha = 0.4", "[0.5, 1]"]),
        ((1000, 100, 0.05, 1.1), ["alpha = 1.1", "[0.5, 1]"]),
        ((1000, 100, 0.05, 0.5, 1.01), ["growth = 1.01", "1.05"]),
        ((1000, 100, 0.05, 0.5, 0.9), ["growth = 0.9", "1.05"]),
    ],
    ids=str,
)
def test_bad_designs(parameters, words, refuses):
    refuses(lambda: Design(*parameters), *words)
