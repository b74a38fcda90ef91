"""Page Learn: tests are counted as they decide, a boundary gives the library's figures, stories lead to pages."""

from __future__ import annotations

import numpy as np
import pytest

from app.dashboard.pages.learn import boundary, one_test, stories
from app.dashboard.serve import server
from designer import Design, characteristics, search
from designer.engine.predict import predict
from designer.pairs.diagnostics import worst_student_check
from designer.pairs.examples import example
from designer.search.criteria import ENOUGH_PAIRS
from tests.app.dashboard.driving import button, everything, figure, open_page, trace


def metrics(found) -> dict[str, str]:
    return {metric.label: metric.value for metric in found.metric}


def test_a_test_is_followed_look_by_look():
    found = open_page("learn", learn_m="500", learn_eps="0.05", learn_mu="1")
    path = one_test._path(Design(10_000, 500, 0.05), 1.0, 0)
    assert "Look 1: 500 of 10,000 data read" in everything(found)
    for look in range(2, path.n.size + 1):
        button(found, "Next look").click().run()
        assert trace(figure(found, 0), "evidence z")["y"] == pytest.approx([0.0, *path.z[:look]])
    assert f"after {path.n[-1]:,} data" in everything(found)
    expected = {"Right": "1", "Wrong": "0"} if path.right else {"Right": "0", "Wrong": "1"}
    assert expected.items() <= metrics(found).items()
    assert metrics(found)["Data read"] == f"{path.n[-1] / 10_000:.1%}"
    button(found, "Next test").click().run()
    assert "Look 1: 500 of 10,000 data read" in everything(found)
    assert expected.items() <= metrics(found).items()


def test_the_design_in_use_does_not_make_it_dull():
    found = open_page("learn", m="500", eps="0.5")
    assert "Look 1: 500 of 10,000 data read" in everything(found) and button(found, "Next look")
    assert max(trace(figure(found, 0), "bounds")["y"]) > 1.5


def test_many_tests_agree_with_the_calculator():
    found = open_page("learn", learn_m="500", learn_eps="0.1", learn_mu="0.5")
    for _ in range(4):
        button(found, "100 more tests").click().run()
    wrong = int(metrics(found)["Wrong"]) / 400
    curve = characteristics(Design(10_000, 500, 0.1), [0.5])
    assert wrong == pytest.approx(curve.error[0], abs=4 * (curve.error[0] / 400) ** 0.5)
    assert f"{100 * curve.error[0]:.3g}% of all tests are wrong" in everything(found)
    found.number_input(key="learn_eps").set_value(0.01).run()  # another test: counted anew
    assert metrics(found)["Wrong"] == "0"


def test_the_boundary_has_the_librarys_error_and_cost():
    found = open_page("learn", part="drag the boundary", source="logistic")
    trial = example("logistic")
    n, m = trial.n_data, -(-trial.n_data // boundary.LOOKS)
    found.slider(key="learn-bound-0").set_value(3.0).run()
    bounds = found.session_state[boundary.STATE]
    assert bounds[0] == 3.0
    design = Design.with_bounds(n, m, [-b for b in bounds], bounds)
    step = predict(design, trial.subset(list(range(ENOUGH_PAIRS))) if len(trial) > ENOUGH_PAIRS else trial).step
    assert metrics(found)["Error of a step, mean |Δ|"] == f"{step.mean_abs_delta:.3g}"
    assert metrics(found)["Data read"] == f"{step.mean_usage:.1%}"
    button(found, "Equal bounds, ε = 0.01").click().run()
    assert found.session_state[boundary.STATE] == [2.33] * (boundary.LOOKS - 1)


def test_stories_lead_to_pages_that_exist():
    source = (server.SCRIPT).read_text()
    assert all(f'url_path="{story.page}"' in source for story in stories.STORIES)
    found = open_page("learn", part="stories")
    assert all(f"]({story.address})" in everything(found) for story in stories.STORIES)


def test_the_figures_of_the_stories_are_true():
    text = " ".join(story.text for story in stories.STORIES)
    usual, small = (characteristics(Design(12_214, 500, epsilon), [0.0]) for epsilon in (0.05, 0.001))
    assert f"{small.error[0]:.1%} of all cases instead of {usual.error[0]:.0%}" in text
    assert f"instead of {usual.usage[0]:.0%}" in text and small.usage[0] > 0.98
    best = search(example("logistic"), 0.01).best
    assert f"{best.predicted.mean_usage:.0%} of the data" in text
    ratio = example("logistic").kappa.mean() / example("control").kappa.mean()
    assert 2_000 < ratio < 10_000  # thousands of times
    check = worst_student_check(np.random.default_rng(1), example("control"), 20, 0.05)
    assert round(max(check.accept, check.reject) / check.wanted) == 5
    assert worst_student_check(np.random.default_rng(1), example("control"), 2_000, 0.05).verdict == "good"
