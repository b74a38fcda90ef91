"""E13: the correction variable against S17 Table 1."""

from __future__ import annotations

import numpy as np
import pytest

from samplers.experiments.studies.e13 import EXPERIMENT, PUBLISHED


def test_the_printed_errors_are_met(done):
    assert all(done.report.checks.values())
    rows = {row[1]: row for row in done.report.tables[0].rows if row[0].startswith("ridge")}
    assert rows[0.9][4] == pytest.approx(6.5e-5, rel=0.1) and rows[0.9][5] == 1.0e-4
    assert rows[0.8][4] == pytest.approx(3.4e-6, rel=0.1) and rows[0.8][5] == 5.0e-6
    fitted = {row[1]: row[4] for row in done.report.tables[0].rows if not row[0].startswith("ridge")}
    assert fitted[0.8] < 1e-9 and fitted[0.9] < 3e-9


def test_curves_are_those_of_the_tables(done):
    sizes, where = done.report.panels
    largest = {series.name: max(series.y) for series in where.series}
    assert largest["ridge, σ = 0.9, N = 4,000"] == pytest.approx(sizes.series[2].y[0])
    assert np.all(np.array(sizes.series[2].y) < sizes.series[1].y)


def test_full_is_the_printed_table():
    assert EXPERIMENT.sizes["full"].table == PUBLISHED
    assert [(row.n, row.sigma, row.published) for row in PUBLISHED[:2]] == [(4000, 0.9, 1.0e-4), (4000, 0.8, 5.0e-6)]
