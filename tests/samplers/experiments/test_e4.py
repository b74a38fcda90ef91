"""E4 at a tiny size: tests read less with larger epsilon, at the acceptance rate asked for."""

import pytest

from samplers.experiments import experiment
from samplers.experiments.running import run_experiment


def test_finding():
    done = run_experiment(experiment("e4"), "tiny")
    assert all(done.report.checks.values()), done.report.checks
    rows = {row[0]: row for row in done.report.tables[0].rows}
    usage = [rows[name][6] for name in ("ε = 0.01", "ε = 0.05", "ε = 0.1", "ε = 0.2")]
    assert usage == pytest.approx([0.51, 0.31, 0.19, 0.09], rel=0.2)  # N = 20,000: m = 600 is already 3%
    assert rows["exact"][8] == pytest.approx(0.5, abs=0.12)
    assert len(done.report.panels) == 3
