"""The error of a step, on the page Explore: what it says and draws is what the library computes."""

from __future__ import annotations

import math
from urllib.parse import parse_qs, urlsplit

import numpy as np
import plotly.graph_objects as go
import pytest

from app.dashboard.pages import step_error
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.source import UPLOAD, Source
from designer import Design, TrialRun, acceptance, stationary_bound, worst_case
from tests.app.dashboard.driving import everything, figures, numbers, trace
from tests.app.dashboard.driving import open_page as open_any

USUAL = Design(12_214, 500, 0.05)


def open_page(**query):
    """Explore with the part about a step open, as a link says."""
    return open_any("explore", **({"step": "true"} | query))


def figure(test):
    """The figure of a step, the last one of the page."""
    return figures(test)[-1]


def exact(design, probability, kappa, rule="metropolis"):
    """Delta, wrong decisions and data use straight from the library."""
    p = np.array(probability)
    a = np.log(p) if rule == "metropolis" else np.log(p) - np.log1p(-p)
    n = design.n_data
    return acceptance(design, TrialRun(n, a / n, np.full(p.size, kappa * math.sqrt(n - 1) / n)), rule)


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
def test_the_curves_are_the_library_s(rule):
    test = open_page(rule=rule, kappa=["1", "3.7"], m="300")
    drawn, design = figure(test), Design(12_214, 300, 0.05)
    probability = numbers(trace(drawn, "κ = 3.7")["x"])
    assert probability == pytest.approx(np.sort(probability))
    assert (probability[0], probability[-1]) == pytest.approx((0.0, 1.0), abs=2e-6)
    step = exact(design, probability, 3.7, rule)
    for axis, values in (("y", step.delta), ("y2", step.wrong), ("y3", step.usage)):
        assert numbers(trace(drawn, "κ = 3.7", axis)["y"]) == pytest.approx(values, abs=2e-6)
    other = open_page(rule=rule, kappa=["1", "3.7"], m="300", picture=step_error.TABS[1])
    assert (len(figures(test)), len(figures(other))) == (3, 3), "only the picture in view is drawn"
    accepted = numbers(trace(figure(other), "κ = 3.7")["y"])
    assert accepted == pytest.approx(probability + step.delta, abs=2e-6)
    levels = {level for each in drawn["data"] if each["name"].startswith("worst") for level in numbers(each["y"])}
    worst = worst_case(design).error[0]
    assert sorted(levels) == pytest.approx([-worst, worst], abs=1e-6)


@pytest.mark.parametrize("picture", step_error.TABS)
def test_the_figures_are_what_plotly_allows(picture):
    """They are built unchecked, for speed."""
    drawn = figure(open_page(picture=picture))
    assert go.Figure(**drawn).to_plotly_json()["data"]
    assert {f"yaxis{each.get('yaxis', 'y')[1:]}" for each in drawn["data"]} <= drawn["layout"].keys()


def test_the_bound_is_said_in_words():
    test = open_page(kappa=["1"], eta="0.2")
    largest = np.abs(exact(USUAL, [1.0, 0.3], 1.0).delta).max()
    worst = worst_case(USUAL).error[0]
    said = everything(test)
    assert f"off by at most {largest:.2g}; the worst-case bound is {worst:.2g}" in said
    assert f"within **{stationary_bound(largest, 0.2):.2g}** of the posterior" in said
    assert "says nothing" in everything(open_page(eta="0.99"))


def test_it_is_closed_until_it_is_wanted_and_old_links_open_it():
    assert len(figures(open_any("explore"))) == 2
    for knob, value in (("rule", "barker"), ("kappa", ["1"]), ("eta", "0.9"), ("picture", step_error.TABS[1])):
        assert len(figures(open_any("explore", **{knob: value}))) == 3, knob


def test_the_link_carries_everything():
    told = {
        "n": "5000",
        "m": "50",
        "rule": "barker",
        "kappa": ["0.5", "7"],
        "eta": "0.9",
        "picture": step_error.TABS[1],
    }
    test = open_page(**told)
    found = parse_qs(urlsplit(test.code[0].value).query)
    for key, value in told.items():
        assert found[key] == (value if isinstance(value, list) else [value])
    assert test.multiselect(key="kappa").value == ["0.5", "7"]


@pytest.mark.parametrize(
    ("kappa", "message"),
    [(["x"], "κ = 'x': is not a number"), (["-1"], "κ = -1.0: must lie in"), (["nan"], "κ = nan")],
)
def test_a_bad_kappa_is_told_in_one_line(kappa, message):
    test = open_page(kappa=kappa)
    assert not test.exception
    assert message in test.error[0].value


def test_no_kappa_at_all():
    test = open_page()
    test.multiselect(key="kappa").set_value([]).run()
    assert "must be 1 to 6" in test.error[0].value


def test_the_trial_run_in_use_says_which_kappa_it_has():
    test, n = open_page(), 12_214
    trial = TrialRun(n, [0.0, 0.0], np.array([1.25, 3.5]) * math.sqrt(n - 1) / n)
    test.session_state["remembered-runs"] = {trial.digest: Loaded("mine.csv", trial, "upload")}
    test.session_state["source"] = Source(UPLOAD, digest=trial.digest)
    test.run()
    assert "The trial run in use (mine.csv) has κ from 1.25 to 3.5." in [each.value for each in test.caption]
