"""E12: how many tests need all the data."""

from __future__ import annotations

import numpy as np
import pytest

from samplers.experiments.studies.e12 import BARKER, BERNSTEIN, EXACT, FIXED, LEMMA, SHARE, WorstCaseResult


def rows(done, test):
    return [WorstCaseResult(*row) for row in done.report.tables[0].rows if row[1] == test]


def test_the_calculator_predicts_who_needs_all(done):
    assert all(done.report.checks.values())
    for row in rows(done, FIXED) + rows(done, SHARE):
        assert abs(row.all - row.all_predicted) < 4 * row.all_se
        assert abs(row.usage - row.usage_predicted) < 4 * row.usage_se
    assert [row.all_predicted for row in rows(done, SHARE)] == pytest.approx([0.228, 0.228], abs=0.01)
    assert min(row.all for row in rows(done, SHARE) + rows(done, BERNSTEIN)) > 10 * LEMMA


def test_more_looks_mean_fewer_full_tests_and_more_errors(done):
    everything, _, wrong = done.report.panels[:3]
    fixed = {panel.title: np.array(panel.series[0].y) for panel in (everything, wrong)}
    assert np.all(np.diff(fixed["Needs all data"]) < 0) and np.all(np.diff(fixed["Wrong decisions"]) > 0)


def test_barker_reads_a_constant_share(done):
    """E[d^2 / (1 + d^2)] of a normal d is 1 - sqrt(pi e / 2) erfc(1 / sqrt 2) = 0.3443; batches round it up."""
    for row in rows(done, BARKER):
        assert row.all == 0.0
        assert row.usage == pytest.approx(row.usage_predicted, abs=0.03)
        assert row.usage == pytest.approx(0.3443, abs=4 * row.usage_se + 0.03)


def test_concentration_never_errs(done):
    assert [row.wrong for row in rows(done, BERNSTEIN)] == [0.0, 0.0]


def test_time_and_evaluations_are_told(done):
    """Both states at every datum read; the exact test reads all and is never wrong."""
    for row in rows(done, EXACT):
        assert (row.all, row.usage, row.wrong, row.evaluations) == (1.0, 1.0, 0.0, 2.0 * row.n)
    for test in (FIXED, SHARE, BERNSTEIN, BARKER):
        for row in rows(done, test):
            assert row.evaluations == pytest.approx(2.0 * row.n * row.usage) and row.milliseconds > 0.0
    assert [panel.title for panel in done.report.panels[3:]] == [
        "Likelihood evaluations of a test",
        "Milliseconds of a test",
    ]
    assert all(len(panel.series) == 5 for panel in done.report.panels[3:])
