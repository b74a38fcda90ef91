"""Numbers behind the pictures of a test."""

from __future__ import annotations

import math

import numpy as np
import pytest

from designer import BadInput, Cancelled, Design, TrialRun, acceptance, characteristics, stopping, worst_case
from designer.check.simulate import pooled, simulate
from designer.plotdata import (
    BARS,
    MOST_PATHS,
    PLOT_ACCURACY,
    affordable_repeats,
    look_table,
    paths,
    simulate_for_picture,
    simulated_at,
    some_of,
    span,
    step_curves,
    stop_bars,
    summary,
    z_range,
)

USUAL = Design(12_214, 500, 0.05)
MANY_LOOKS = Design(10**6, 100, 0.01)
DESIGNS = [USUAL, MANY_LOOKS, Design(12_214, 100, 0.01, 1.0), Design(10**9, 500, 0.05, 0.5, 1.5), Design(50, 50, 0.1)]


def test_the_summary_is_the_worst_case():
    found, worst = summary(USUAL), worst_case(USUAL)
    assert found == (25, worst.error[0], worst.usage[0], 500 / 12_214, worst.estimate)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_a_span_shows_the_curve_from_its_maximum_to_its_end(design):
    shown = span([design])
    curve = characteristics(design, shown.mu_std, PLOT_ACCURACY)
    assert shown.mu_std[0] == 0.0
    assert np.all(np.diff(shown.mu_std) > 0)
    assert curve.error[-1] <= 0.1 * curve.error[0]
    if not shown.logarithmic:
        assert np.abs(np.diff(curve.usage)).max() < 0.1  # no corners to the eye


def test_a_span_is_round_and_reaches_what_is_marked():
    assert span([USUAL]).end == 10.0
    assert span([USUAL], marked=-11.0).end == 20.0
    assert span([USUAL, MANY_LOOKS]).end == span([MANY_LOOKS]).end > 50
    assert span([USUAL, MANY_LOOKS]).logarithmic
    assert not span([USUAL]).logarithmic


@pytest.mark.parametrize(("design", "calls"), [(USUAL, 200), (MANY_LOOKS, 40)], ids=["25 looks", "10,000 looks"])
def test_paths_err_as_often_as_the_theory_says(design, calls):
    mu_std = 1.0
    rng, where = np.random.default_rng(5), stopping(design, mu_std)
    runs = [path for _ in range(calls) for path in paths(rng, where, design, mu_std, MOST_PATHS)]
    wrong, expected = np.mean([not path.right for path in runs]), characteristics(design, mu_std).error
    used = np.array([design.n_data if path.whole else path.n[-1] for path in runs]) / design.n_data
    assert wrong == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / len(runs)))
    usage = characteristics(design, mu_std).usage
    assert used.mean() == pytest.approx(usage, abs=4 * used.std() / math.sqrt(len(runs)) + 1e-4)


def test_a_path_stays_inside_the_bounds_until_it_ends():
    where = stopping(USUAL, -0.2)
    ends = set()
    for path in paths(np.random.default_rng(1), where, USUAL, -0.2, 50):
        bound = where.bound[np.searchsorted(where.n, path.n)]
        assert np.all(np.abs(path.z[:-1]) <= bound[:-1])
        assert path.whole == (abs(path.z[-1]) <= bound[-1])
        assert path.right == (not path.accepted)
        if not path.whole:
            assert path.accepted == (path.z[-1] > 0)
        ends.add((path.whole, path.accepted))
    assert ends == {(False, True), (False, False), (True, False)}


def test_a_test_of_one_look_has_paths_without_points():
    (path,) = paths(np.random.default_rng(0), stopping(Design(50, 50, 0.1), 1.0), Design(50, 50, 0.1), 1.0, 1)
    assert path.n.size == 0
    assert path.whole and path.accepted and path.right


@pytest.mark.parametrize("mu_std", [-1.5, 0.0, 1.5])
@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_the_table_adds_up_to_the_curves(design, mu_std):
    where, curve = stopping(design, mu_std), characteristics(design, mu_std)
    table = look_table(where, design, mu_std)
    near = max(1e-9, 10 * curve.estimate)
    assert table.stopped[-1] == pytest.approx(1.0, abs=1e-9)
    assert table.wrong_so_far[-1] == pytest.approx(curve.error, abs=near)
    assert table.look[-1] == summary(design).looks
    assert math.isnan(table.bound[-1]) and math.isnan(table.tail[-1])
    assert np.all(np.diff(table.look) > 0)
    if design.growth == 1:
        assert np.array_equal(np.minimum(table.look * design.m, design.n_data), table.n)


def test_the_table_s_tails_are_those_of_the_bounds():
    table = look_table(stopping(USUAL, 0.5), USUAL, 0.5)
    assert table.tail[:-1] == pytest.approx(np.full(24, 0.05))
    rows = table.rows(np.array([0, 3]))
    assert rows.stopped[1] == pytest.approx(table.stop[:4].sum())


def test_some_of_the_looks():
    n = np.arange(1, 10_001)
    assert some_of(n[:7], 7).tolist() == list(range(7))
    even, early = n[some_of(n, 50)], n[some_of(n, 50, logarithmic=True)]
    for found in (even, early):
        assert found.size <= 50
        assert (found[0], found[-1]) == (1, 10_000)
    assert np.median(early) < 500 < np.median(even)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_bars_keep_all_the_probability(logarithmic):
    where = stopping(MANY_LOOKS, 2.0)
    bars = stop_bars(where, logarithmic=logarithmic)
    assert bars.upto.size <= BARS
    assert bars.accept.sum() == pytest.approx(where.accept.sum())
    assert bars.reject.sum() == pytest.approx(where.reject.sum())
    k = bars.upto.size // 2
    inside = (where.n > bars.after[k]) & (where.n <= bars.upto[k])
    assert bars.accept[k] == pytest.approx(where.accept[inside].sum())
    assert bars.left[1:] == pytest.approx(bars.after[1:])
    assert bars.width[1:] == pytest.approx(np.diff(bars.upto))


@pytest.mark.parametrize(
    "design", [MANY_LOOKS, Design(10**9, 500, 0.05, 0.5, 1.5), Design(12_001, 500, 0.05)], ids=repr
)
def test_every_bar_can_be_seen(design):
    """Also the last one, with a look for a single datum; on a screen of 500 pixels none is thinner than 5."""
    logarithmic = span([design]).logarithmic
    bars = stop_bars(stopping(design, 0.5), logarithmic=logarithmic)
    edges = np.array([bars.left, bars.left + bars.width])
    place = np.log10(edges) if logarithmic else edges
    ends = np.log10(bars.ends) if logarithmic else bars.ends
    assert np.diff(place, axis=0).min() > 0.01 * (ends[1] - ends[0])
    assert place[1][:-1] == pytest.approx(place[0][1:])
    assert (bars.ends[0] > 0) == logarithmic
    assert bars.ends[0] < bars.upto[0]


def test_enormous_bounds_do_not_flatten_the_picture():
    assert z_range(stopping(USUAL, 0.0)) == pytest.approx(1.6449 + 2.5, abs=1e-3)
    assert z_range(stopping(Design(12_214, 10, 1e-4, 1.0), 0.0)) < 10


def test_simulated_points_agree_with_the_curves():
    at, told = simulated_at(span([USUAL])), []
    seen = simulate_for_picture(np.random.default_rng(3), USUAL, at, 2000, lambda *p: told.append(p))
    curve = characteristics(USUAL, at)
    assert at[0] == 0.0
    assert told == [(k, 2 * len(at)) for k in range(1, 2 * len(at) + 1)]
    assert np.all(np.abs(seen.error - curve.error) < 4 * seen.error_se)
    assert np.all(np.abs(seen.usage - curve.usage) < 4 * seen.usage_se + 1e-3)
    assert seen.repeats == 2000


def test_parts_of_a_simulation_taken_together():
    """Two halves say what both would have said at once, up to the between-halves part of the spread."""
    rng = np.random.default_rng(8)
    halves = [simulate(rng, USUAL, [0.0, 1.0], size) for size in (300, 900)]
    both = pooled(halves)
    assert both.repeats == 1200
    assert both.error == pytest.approx((300 * halves[0].error + 900 * halves[1].error) / 1200)
    assert both.usage == pytest.approx((300 * halves[0].usage + 900 * halves[1].usage) / 1200)
    large = simulate(rng, USUAL, [0.0, 1.0], 40_000)
    assert both.error_se == pytest.approx(large.error_se * math.sqrt(40_000 / 1200), rel=0.1)
    assert both.usage_se == pytest.approx(large.usage_se * math.sqrt(40_000 / 1200), rel=0.1)
    assert pooled([large]).usage_se == pytest.approx(large.usage_se)
    assert pooled([large]).error_se == pytest.approx(large.error_se)


def test_a_simulation_that_takes_too_long_is_refused():
    rng, at = np.random.default_rng(0), (0.0, 1.0)
    with pytest.raises(BadInput, match="use a smaller N"):
        simulate_for_picture(rng, Design(10**9, 500, 0.05), at, 100)
    most = affordable_repeats(USUAL, at)
    data = most * 12_214 * characteristics(USUAL, at).usage.sum()
    assert 4e8 < data <= 5e8
    with pytest.raises(BadInput, match=f"at most {most:,}"):
        simulate_for_picture(rng, USUAL, at, most + 1)
    with pytest.raises(Cancelled):
        simulate_for_picture(rng, USUAL, at, 100, cancelled=lambda: True)


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
def test_step_curves_are_those_of_the_pairs(rule):
    curves = step_curves(USUAL, (0.5, 2.0), rule)
    k = 30
    p = curves.probability[k]
    a = math.log(p) if rule == "metropolis" else math.log(p / (1 - p))
    pair = TrialRun(12_214, [a / 12_214], [2.0 * math.sqrt(12_213) / 12_214])
    step = acceptance(USUAL, pair, rule)
    assert step.probability[0] == pytest.approx(p)
    assert curves.delta[1, k] == pytest.approx(step.delta[0], abs=2e-6)
    assert curves.wrong[1, k] == pytest.approx(step.wrong[0], abs=2e-6)
    assert curves.usage[1, k] == pytest.approx(step.usage[0], abs=2e-6)
    assert curves.accepted[1, k] == pytest.approx(p + step.delta[0], abs=2e-6)
    assert np.all(np.abs(curves.delta) <= curves.wrong + 1e-6)
    assert np.all(curves.wrong <= curves.worst)
    assert np.all(curves.largest >= np.abs(curves.delta).max(axis=1))
    assert curves.delta_max == pytest.approx(curves.largest.max(), abs=1e-7)


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
@pytest.mark.parametrize("design", [USUAL, Design(12_214, 100, 0.01, 0.75)], ids=repr)
def test_the_largest_delta_is_found_between_the_points_of_its_curve(design, rule):
    kappa = (0.3, 1.0, 5.0, 20.0)
    curves, dense = step_curves(design, kappa, rule), step_curves(design, kappa, rule, points=8001)
    seen = np.abs(dense.delta).max(axis=1)
    assert np.abs(curves.largest - seen).max() < 1e-7 + curves.estimate
    assert seen.max() <= curves.delta_max
    assert curves.estimate < 1e-5


def test_the_largest_delta_is_never_told_smaller_than_it_may_be():
    """With bounds this wide at first, what is known of Δ is less than the worst case says."""
    curves = step_curves(Design(12_214, 500, 1e-9, 1.0), [0.5, 1.0, 2.0, 5.0])
    assert curves.largest.max() < curves.worst < curves.estimate
    assert curves.delta_max == curves.worst == pytest.approx(1.231731e-9, rel=1e-4)


def test_step_curves_of_barker_are_antisymmetric_and_metropolis_is_worst_at_certainty():
    barker = step_curves(USUAL, [1.0], "barker").delta[0]
    assert barker == pytest.approx(-barker[::-1], abs=1e-6)
    sure = TrialRun(12_214, [0.0, 0.5 / 12_214], np.full(2, math.sqrt(12_213) / 12_214))
    beyond = acceptance(USUAL, sure).delta
    metropolis = step_curves(USUAL, [1.0])
    assert metropolis.probability[-1] == 1.0
    assert metropolis.delta[0, -1] == pytest.approx(beyond[0], abs=2e-6)
    assert abs(beyond[1]) < abs(beyond[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: step_curves(USUAL, []), "kappa: 0 values"),
        (lambda: step_curves(USUAL, [0.0]), "kappa = 0.0"),
        (lambda: step_curves(USUAL, [1.0], "x"), "rule = 'x'"),
        (lambda: span([USUAL], math.nan), "mu_std = nan"),
        (lambda: paths(np.random.default_rng(0), stopping(USUAL, 0.0), USUAL, 0.0, 51), "count = 51"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(BadInput, match=message):
        call()
