"""E2: the error of one step, theory against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from samplers.experiments.framework.running import run_experiment
from samplers.experiments.studies.e2 import EXPERIMENT


def test_simulation_lies_on_the_theory(done):
    assert all(done.report.checks.values())
    rows = np.array(done.report.tables[0].rows)
    assert rows[:, 1] == pytest.approx([-2.0, -0.7, 0.5])
    assert rows[:, 2] == pytest.approx(np.exp(np.minimum(rows[:, 1], 0.0)))
    assert np.all(np.abs(rows[:, 4] - rows[:, 3]) < 4 * rows[:, 5])
    assert np.all(np.abs(rows[:, 7] - rows[:, 6]) < 4 * rows[:, 8])
    assert rows[0, 3] > 0.04 and rows[-1, 3] < -0.05  # too many unlikely moves, too few certain ones


def test_errors_of_both_kinds_cancel(done):
    size, near = done.report.panels[:2]
    series = {s.name: np.array(s.y) for s in size.series}
    p = np.array(size.series[0].x)
    even = (p > 0.3) & (p < 0.7)
    assert series["|Δ|, theory"][even].mean() < 0.3 * series["P(wrong decision), theory"][even].mean()
    assert np.all(np.abs(np.array(near.series[0].y) - p) < 0.2)


def test_parts_are_kept(done, folder):
    """A second run takes every part from its file: the seconds spent are those of the first."""
    assert run_experiment(EXPERIMENT, "tiny", folder).seconds == done.seconds
