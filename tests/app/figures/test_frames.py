"""Every figure: ticks that differ, texts of one kind, and everything inside the frame."""

from __future__ import annotations

import inspect
import math
import pkgutil
import re
from importlib import import_module

import numpy as np
import plotly.graph_objects as go
import pytest

import app.figures
from app.figures import (
    boundary,
    budget,
    compare,
    design,
    explore,
    fit,
    league,
    learn,
    monitor,
    panels,
    posterior,
    redesign,
    step_error,
    trial_run,
)
from app.figures import steps as step_figures
from app.figures.axes import linear, logarithmic
from app.league.cells import load
from designer import Design, TrialRun, acceptance, best_step, characteristics, optimal_boundary, plotdata, search
from designer import stopping as stops
from designer.check.simulate import simulate
from designer.core.arrays import Floats
from designer.further.budget.epsilon import Quantity, best_option, time_options
from designer.further.budget.phases import risk_curves, time_schedule
from designer.further.posterior.error import marginals, posterior_error
from designer.pairs.diagnostics import histograms_of, worst_student_check
from designer.search.criteria import Cost
from designer.search.frontier import FrontierPoint
from samplers.adapt.redesign import Change, Followed, Window
from samplers.experiments.framework.report import Panel, Series
from samplers.fit.rivals import Rival
from samplers.fit.trace import Look
from samplers.runs.watch import History, Promise, Trace
from samplers.study.compare_tests import Candidates, measure, predict

N = 5000
TRIAL = TrialRun.at_stationarity(N, 0.5, 30, np.random.default_rng(1))
SKEWED = TrialRun(N, TRIAL.mu, TRIAL.sigma, skew=np.linspace(-1.0, 1.0, 30))
TEST = Design(N, 500, 0.05)
SHAPES = {
    "Pocock": TEST,
    "O'Brien-Fleming": Design(N, 50, 0.001, 1.0),
    "one look": Design(N, N, 0.05),
    "huge": Design(10**8, 100, 1e-6, growth=1.5),
}


def drawn_by_explore(test, mu_std):
    shown = plotdata.span([test], mu_std)
    curve = characteristics(test, shown.mu_std, 1e-6)
    seen = simulate(np.random.default_rng(0), test, mu_std, 50) if test.n_data == N else None
    yield explore.curves(shown, [("a", curve)], abs(mu_std), seen)
    where = stops(test, mu_std)
    runs = plotdata.paths(np.random.default_rng(0), where, test, mu_std, 12)
    bars = plotdata.stop_bars(where, logarithmic=shown.logarithmic)
    index = plotdata.some_of(where.n[:-1], 250).tolist()
    reach = plotdata.z_range(where)
    yield explore.run(where, index, runs, bars, reach, logarithmic=shown.logarithmic, accept_right=mu_std > 0)


def drawn_by_step_error(test):
    curves = plotdata.step_curves(test, (0.1, 1.0, 5.0), "metropolis", points=9)
    yield step_error.errors(curves)
    yield step_error.acceptances(curves)


def drawn_by_design():
    result = search(TRIAL, 0.02)
    mark = design.Marked("in view", result.best, result.error, result.usage)
    for tolerance in (0.02, 0.5):
        yield design.trade_off(result.evaluated, tolerance, "average", [mark])
    for test in SHAPES.values():
        if test.n_data == N:
            yield design.pair_by_pair(acceptance(test, TRIAL), TRIAL)
    points = [
        FrontierPoint(name, tolerance, TEST, tolerance, 0.004, tolerance, 0.004, tolerance)
        for tolerance in (0.001, 0.01, 0.1)
        for name in design.LINES
    ]
    yield design.frontier(points, mark)


def drawn_by_trial_run():
    for name, counts in histograms_of(SKEWED).items():
        yield trial_run.bars(name, counts)
    yield trial_run.quantiles(worst_student_check(np.random.default_rng(0), SKEWED, 100, 0.05), 100)


def drawn_by_compare():
    tests = Candidates(TEST)
    rows, seen = predict(TRIAL, tests), measure(np.random.default_rng(2), TRIAL, tests, pairs=2, repeats=5)
    yield compare.costs({"a": rows}, {})
    yield compare.costs({"a": rows, "b": rows}, {"a": seen, "b": seen})


def drawn_by_further():
    errors = [posterior_error(Design(N, 500, epsilon), TRIAL, dimension=50) for epsilon in (0.01, 0.1)]
    yield posterior.inflation([0.01, 0.1], errors, 0.3, 1.4)
    yield posterior.marginals(marginals(1.3, 0.5))
    best = optimal_boundary(TRIAL, 0.05, 1000)
    yield boundary.bounds(best)
    yield boundary.distances(best)
    options = time_options(TRIAL, Cost(1e-6, 1e-7), Quantity(100.0, 0.3), m=[500])
    yield budget.risk_against_epsilon(options, 0.5, best_option(options, 0.5), time_schedule(options, 0.5).risk)
    found = risk_curves(options, 0.5)
    yield budget.risk_against_time(found.times.tolist(), found.risks)
    result = best_step(TRIAL, 0.05, [0.5, 1.0, 2.0], refine=False)
    yield step_figures.efficiency(result)
    yield step_figures.shares(result)
    change = Change(500, 20, True, 600, 0.01, 0.5, 1.0, 0.01, 0.004, 0.02, 0.9, 20, 1000, "")
    followed = Followed([change], [Window(250, 0.3, 0.9), Window(500, 0.3, 0.004)], TRIAL, 20, 1000, N)
    yield redesign.over_time(followed, 0.05, (6000, 1e-4))
    yield redesign.pairs(followed)


def drawn_by_fit():
    looks = [
        Look(k // 3 + 1, 10**k, 10**k, statistic, 2.0, 0.1, 1.0) for k, statistic in enumerate((0.5, 3.0, 80.0), 1)
    ]
    yield fit.growth(looks, None)
    yield fit.growth(looks, 10**6)
    yield fit.test_trace(looks)
    along = np.array([10.0, 100.0, 1000.0])
    rivals = [
        Rival(name, np.zeros(1), 1000, 0, "", 0.1, along, np.zeros((3, 1)), 1.0 + factor / along, None)
        for name, factor in (("sequential", 1.0), ("batch", 5.0))
    ]
    yield fit.comparison(rivals, 1000)


def drawn_by_learn():
    for test in (TEST, SHAPES["O'Brien-Fleming"]):
        where = stops(test, 1.0)
        for path in plotdata.paths(np.random.default_rng(0), where, test, 1.0, 3):
            yield learn.one_test(where, path, 2)
        yield learn.error_and_cost(characteristics(test, np.linspace(0.0, 8.0, 9), 1e-6))


def drawn_by_monitor():
    nothing, steps = np.full(3, np.nan), np.array([100.0, 200.0, 300.0])
    kept = [Promise("data use per step", 0.004, (0.0035, 0.0045), 0.005, 0.001, "unknown")]
    yield monitor.course(History(steps, np.array([0.2, 0.3, 0.25]), np.array([0.004, 0.006, 0.005]), nothing), kept)
    yield monitor.paths([Trace(chain, steps, 1e-7 * steps) for chain in range(3)], "theta")


def drawn_by_background():
    curves = [
        Series("a", [1.0, 20.0], [3e-7, 2.0], [2e-7, 1.0], [4e-7, 3.0]),
        Series("b", [2.0], [0.5], style="points"),
    ]
    for logs in (False, True):
        yield panels.figure(Panel("Risk", "s", "risk", curves, log_x=logs, log_y=logs))
    yield panels.figure(Panel("Bars", "x", "y", [Series("c", ["x", "y"], [1.0, 2.0], style="bars")]))
    yield league.league_map(load(), 0.1)


CASES = {
    **{f"explore, {name}": lambda test=test: drawn_by_explore(test, 2.0) for name, test in SHAPES.items()},
    "explore, easy": lambda: drawn_by_explore(TEST, -300.0),
    "step": lambda: drawn_by_step_error(TEST),
    "step, one look": lambda: drawn_by_step_error(SHAPES["one look"]),
    "design": drawn_by_design,
    "trial run": drawn_by_trial_run,
    "compare": drawn_by_compare,
    "further": drawn_by_further,
    "fit": drawn_by_fit,
    "learn": drawn_by_learn,
    "monitor": drawn_by_monitor,
    "background": drawn_by_background,
}


@pytest.mark.parametrize("case", CASES)
def test_ticks_differ_and_everything_is_inside_the_frame(case):
    drawn = list(CASES[case]())
    assert drawn
    for figure in drawn:
        parts = go.Figure(figure.to_dict()).to_dict()  # as Plotly allows it
        for name, axis in axes_of(parts):
            check_ticks(name, axis)
        for trace in parts["data"]:
            check_inside(trace, parts["layout"])


def axes_of(parts):
    return [(name, axis) for name, axis in parts["layout"].items() if name.startswith(("xaxis", "yaxis"))]


def check_ticks(name, axis):
    """Texts differ, are of one kind, and their places are on the axis."""
    if "tickvals" not in axis:
        return
    low, high = sorted(axis["range"])
    texts, places = list(axis["ticktext"]), [in_frame(axis, value) for value in axis["tickvals"]]
    assert len(set(texts)) == len(texts) == len(places) >= 1, (name, texts)
    assert all(low - 1e-9 <= place <= high + 1e-9 for place in places), (name, texts, axis["range"])
    assert not any(re.search("[0-9][a-zA-Zµμ]", text) for text in texts), texts  # no SI prefixes


def check_inside(trace, layout):
    for letter in "xy":
        axis = layout.get(f"{letter}axis{trace.get(f'{letter}axis', letter)[1:]}", {})
        values = [value for value in numbers(trace.get(letter)) if value is not None]
        if not values or any(isinstance(value, str) for value in values):
            continue
        assert "range" in axis, (trace.get("name"), letter)
        low, high = sorted(axis["range"])
        places = [in_frame(axis, value) for value in values if math.isfinite(value)]
        slack = 1e-9 * (high - low)
        outside = [place for place in places if not low - slack <= place <= high + slack]
        assert not outside or (axis.get("type") == "log" and max(outside) == -math.inf), (trace.get("name"), letter)


def in_frame(axis, value):
    if axis.get("type") != "log":
        return value
    return math.log10(value) if value > 0 else -math.inf


def numbers(values) -> list | Floats:
    return [] if values is None else values.tolist() if isinstance(values, np.ndarray) else list(values)


def test_no_figure_is_forgotten():
    """Each public function that draws is called above."""
    source = inspect.getsource(import_module(__name__))
    for module in pkgutil.iter_modules(app.figures.__path__):
        if module.name in ("plain", "style"):  # help others to draw
            continue
        place = import_module(f"app.figures.{module.name}")
        for name, function in inspect.getmembers(place, inspect.isfunction):
            mine = function.__module__ == place.__name__ and not name.startswith("_")
            if (
                mine
                and inspect.signature(function).return_annotation == "go.Figure"
                and module.name not in ("plain", "style")
            ):
                assert f".{name}(" in source, f"{module.name}.{name} is not drawn in {__file__}: add it to CASES"


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 0.013, 1.0, 37.0, 1e4, 3e8])
@pytest.mark.parametrize("kind", ["linear", "percent", "zero", "whole", "log", "narrow"])
def test_axes_of_every_size_have_ticks_that_differ(scale, kind):
    values = [0.011 * scale, 0.2 * scale, 1.0 * scale]
    axis = {
        "linear": lambda: linear(values),
        "percent": lambda: linear(values, percent=True),
        "zero": lambda: linear([-value for value in values], zero=True),
        "whole": lambda: linear(values, zero=True, whole=True),
        "log": lambda: logarithmic(values),
        "narrow": lambda: logarithmic([scale, 1.05 * scale]),
    }[kind]()
    check_ticks(kind, axis)
    assert 2 <= len(axis["ticktext"]) <= 7 or kind == "whole"
    check_inside({"x": values if kind not in ("zero", "narrow") else [], "name": kind}, {"xaxis": axis})
