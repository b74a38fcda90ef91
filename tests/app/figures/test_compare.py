"""The figure of the Compare tests page."""

from __future__ import annotations

import numpy as np

from app.figures.compare import costs
from designer import Design, TrialRun
from samplers.decide.barker import BarkerTest
from samplers.decide.concentration import ConcentrationTest
from samplers.study.compare_tests import Candidates, measure, predict


def test_the_simulated_points_have_their_series_colour_and_are_beside_their_own_predictions():
    trial = TrialRun.at_stationarity(5_000, 0.5, 30, np.random.default_rng(1))
    tests = Candidates(Design(5_000, 300, 0.05), BarkerTest(m=300), ConcentrationTest(m=300))
    seen = measure(np.random.default_rng(2), trial, tests, pairs=3, repeats=10)
    rows = predict(trial, tests)
    drawn = costs({"a": rows, "b": rows}, {"a": seen, "b": seen})
    colours = {name: {each.marker.color for each in drawn.data if each.name.startswith(name)} for name in "ab"}
    assert all(len(found) == 1 for found in colours.values()) and colours["a"] != colours["b"]
    looks = [(each.marker.color, each.marker.symbol) for each in drawn.data]
    assert len(set(looks)) == len({each.offsetgroup for each in drawn.data}) == len(looks) == 6
    beside = next(each for each in drawn.data if each.name == "a, simulated pairs predicted")
    assert list(beside.x) == [row.predicted_data for row in seen]
