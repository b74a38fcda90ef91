"""E5: designs made on some pairs, measured on others."""

from __future__ import annotations

import pytest

from samplers.experiments.framework.running import run_experiment
from samplers.experiments.studies.e5 import EXPERIMENT, SHOWN


def rows(done, criterion):
    return {row[1]: row for row in done.report.tables[0].rows if row[0] == SHOWN[criterion]}


def test_the_average_design_hits_its_target(done):
    assert all(done.report.checks.values())
    for target, row in rows(done, "average").items():
        assert row[5] == pytest.approx(target, rel=0.01) and row[5] <= target
        assert row[6] == pytest.approx(target, rel=0.35)
        assert row[7] < row[6] < row[8]


def test_the_worst_case_wastes_data(done):
    average, worst = rows(done, "average"), rows(done, "worst-case")
    for target in (0.01, 0.05):
        assert worst[target][6] < 0.1 * target
        assert worst[target][10] > 1.2 * average[target][10]


def test_free_bounds_need_no_more_data(done):
    average, shaped, fixed = (rows(done, key) for key in ("average", "average, any alpha", "fixed-m"))
    for target in (0.01, 0.05):
        assert shaped[target][9] <= average[target][9] <= fixed[target][9] * 1.001
        assert fixed[target][2] == 250 and average[target][4] == 0.5


def test_the_walk_accepts_about_half(done, folder):
    acceptance = float(done.report.finding.split("acceptance ")[1].split(". ")[0])
    assert acceptance == pytest.approx(0.5, abs=0.06)
    assert run_experiment(EXPERIMENT, "tiny", folder).seconds == done.seconds  # nothing is computed twice
