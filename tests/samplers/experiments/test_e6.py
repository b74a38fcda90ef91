"""E6 at a tiny size: tests read a part of the data and keep the variables that exact jumps keep."""

from samplers.experiments import experiment
from samplers.experiments.running import run_experiment


def test_finding():
    done = run_experiment(experiment("e6"), "tiny")
    assert all(done.report.checks.values()), done.report.checks
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert rows["exact"][5] == 1.0
    assert 0.05 <= rows["ε = 0.1"][5] < rows["ε = 0.01"][5] < 0.5
    assert all(abs(row[8] - rows["exact"][8]) < 2.0 for row in rows.values())
