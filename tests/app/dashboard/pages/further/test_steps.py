"""The topic Step size and test together: what it shows is what the library says."""

from __future__ import annotations

import numpy as np
import pytest

from designer import TrialRun, best_step
from tests.app.dashboard.driving import everything, figures, numbers, page, query, trace

SMALL = {"source": "stationary", "trial_n": "5000", "acceptance": "0.4", "pairs": "30", "seed": "1"}
TRIAL = TrialRun.at_stationarity(5000, 0.4, 30, np.random.default_rng(1))


def test_the_topic_shows_the_librarys_numbers():
    found, want = page("further", **SMALL, topic="steps", tol="0.05"), best_step(TRIAL, 0.05)
    said = everything(found)
    assert want.best is not None
    assert want.sentence[1:].replace("epsilon", "ε") in said
    curve = trace(figures(found)[0], "with its best test")
    assert numbers(curve["x"]) == pytest.approx([row.scale for row in want.rows])
    assert numbers(curve["y"]) == pytest.approx([row.efficiency for row in want.rows])
    star = trace(figures(found)[0], "best")
    assert numbers(star["x"]) == pytest.approx([want.best.scale])
    (table,) = [frame.value for frame in found.dataframe]
    assert list(table["m"]) == [row.design.m for row in want.rows]
    assert list(table["data per step"]) == pytest.approx([row.usage for row in want.rows])
    assert f"best at {want.exact.scale:.3g}" in said


def test_knobs_of_the_link_are_used():
    link = SMALL | {"topic": "steps", "tol": "0.05", "steppow": "2", "stephold": "equal error"}
    found, want = page("further", **link), best_step(TRIAL, 0.05, hold="step", kappa_power=2.0)
    curve = trace(figures(found)[0], "with its best test")
    assert numbers(curve["y"]) == pytest.approx([row.efficiency for row in want.rows if row.design is not None])
    assert query(found, "stephold") == "equal error"
