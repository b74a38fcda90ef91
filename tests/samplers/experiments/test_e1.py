"""E1: one sequential test, theory against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from samplers.experiments.studies.e1 import _statistic_table, _z


def test_error_and_usage_lie_on_the_theory(done):
    assert all(done.report.checks.values())
    rows = np.array(done.report.tables[0].rows)
    assert rows[:, 1].tolist() == [-5.0, -1.0, 0.0, 1.0, 5.0]
    for theory, seen, se in ((2, 3, 4), (8, 9, 10)):
        assert np.all(np.abs(rows[:, seen] - rows[:, theory]) < 4 * rows[:, se])
    assert rows[2, 2] == pytest.approx(0.28199, abs=1e-3)  # worst case: m = N / 20, epsilon = 0.05
    near = np.abs(rows[:, 6] - rows[:, 5]) < 4 * rows[:, 7] + 0.004  # l_i of the data, corrected for their skewness
    assert np.all(near)
    assert rows[0, 2] < 0.01 and rows[0, 8] < 0.15  # far from 0 both are small


def test_skewness_moves_delta_where_the_theory_does_not_look(done):
    rows = {row[0]: row for row in done.report.tables[1].rows}
    theory = {name: row[4] for name, row in rows.items()}
    assert theory["normal"] == pytest.approx(theory["exponential"])
    for row in rows.values():  # the correction is right to what the second order leaves
        assert abs(row[6] - row[5]) < 4 * row[7] + 0.004
    assert rows["exponential"][6] < theory["exponential"] - 4 * rows["exponential"][7]
    assert rows["−exponential"][6] > theory["−exponential"] + 2 * rows["−exponential"][7]
    assert rows["exponential"][3] == pytest.approx(2.0, abs=0.5)


def test_a_twin_is_announced(done):
    assert done.report.notices[0].startswith("SYNTHETIC DATA")


def test_the_statistic_is_that_of_the_papers():
    """z against its definition, at two looks of a small population."""
    values = np.random.default_rng(1).normal(size=40)
    z = _z(values, np.array([5, 20]), 40, 0.3)
    for n, found in zip((5, 20), z, strict=True):
        error = values[:n].std(ddof=1) / np.sqrt(n) * np.sqrt(1 - (n - 1) / 39)
        assert found == pytest.approx((values[:n].mean() - 0.3) / error)


def test_t_of_many_sizes_beside_students(done):
    """K14 Fig. 7 for each n, and the tails counted by hand."""
    shown = [panel.title for panel in done.report.panels if "statistic" in panel.title]
    table = done.report.tables[2]
    assert [row[0] for row in table.rows] == [20, 100, 500] and len(shown) == 3
    t = np.concatenate([np.full(3, -9.0), np.zeros(95), np.full(2, 9.0)])
    (row,) = _statistic_table({"sizes": np.array([50]), "t": t[None, :]}).rows
    assert row[:3] == [50, 0.03, 0.02] and row[4] == pytest.approx(0.48, abs=0.01)
