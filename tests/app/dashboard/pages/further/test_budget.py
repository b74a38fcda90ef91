"""The topic A time budget: what it shows is what the library says."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Cost, Quantity, TrialRun, time_options, time_schedule
from designer.further.budget.epsilon import best_option
from tests.app.dashboard.driving import everything, figures, numbers, page, trace

SMALL = {"source": "stationary", "trial_n": "5000", "acceptance": "0.9", "pairs": "20", "seed": "1"}
TRIAL = TrialRun.at_stationarity(5000, 0.9, 20, np.random.default_rng(1))


def test_the_topic_shows_the_librarys_numbers():
    knobs = {"bsec": "0.5", "bfix": "0.000001", "bdat": "0.0000001", "btau": "100", "bsens": "0.3", "m": "100"}
    found = page("further", **SMALL, topic="budget", **knobs)
    said = everything(found)
    known = time_options(TRIAL, Cost(1e-6, 1e-7), Quantity(100.0, 0.3), m=[100])
    best, plan = best_option(known, 0.5), time_schedule(known, 0.5)
    assert f"Best fixed test: {best.name}" in said
    assert f"risk {plan.risk:.3g}" in said
    curve = trace(figures(found)[0], "risk, m = 100")
    tests = [option for option in known if option.design is not None]
    assert numbers(curve["x"]) == pytest.approx([option.epsilon for option in tests])
    assert numbers(curve["y"]) == pytest.approx([option.risk(0.5) for option in tests])
