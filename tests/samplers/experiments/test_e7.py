"""E7 at a tiny size: the finding holds, and finished parts are not computed again."""

import numpy as np
import pytest

from samplers.experiments import experiment
from samplers.experiments.framework.running import run_experiment
from samplers.experiments.studies.e7 import Settings, distance


def test_finding(done):
    assert all(done.report.checks.values()), done.report.checks
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert rows["uncorrected"][1] > 0.15
    assert rows["ε = 0.5"][3] == pytest.approx(0.05)
    assert 0.12 < rows["ε = 0.1"][3] < 0.17  # the paper: 0.142
    assert len(done.report.panels) == 8
    shift, se = rows["uncorrected"][7:9]
    assert shift > 3.0 * se > 0.0 and abs(rows["exact"][7]) < 4.0 * rows["exact"][8]


def test_what_the_chains_took_is_told(done, folder):
    """The exact test evaluates every datum once per step, the sequential ones both states at the data they read."""
    table = done.report.tables[1]
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    usage = {row[0]: row[3] for row in done.report.tables[0].rows}
    steps, n_data = 20_000, 10_000
    tested = "likelihood evaluations (test)"
    assert rows["uncorrected"][tested] == 0
    assert rows["exact"][tested] == steps * n_data
    assert rows["ε = 0.1"][tested] == pytest.approx(2 * usage["ε = 0.1"] * steps * n_data)
    assert all(row["gradient evaluations (proposal)"] == 2 * 500 * steps for row in rows.values())
    assert all(row["seconds"] * row["steps/s"] == pytest.approx(steps) for row in rows.values())
    each = {name: row["evaluations of both kinds per effective draw"] for name, row in rows.items()}
    assert each["ε = 0.1"] < 0.6 * each["exact"]  # reads 14%, twice, and the gradient's batch
    against_time, against_work = done.report.panels[-2:]
    for panel in (against_time, against_work):
        assert [series.name for series in panel.series] == list(rows)
        assert all(np.all(np.diff(series.x) > 0) for series in panel.series)
    last = {series.name: series.y[-1] for series in against_work.series}
    assert last == {row[0]: row[1] for row in done.report.tables[0].rows}


def test_resuming_computes_nothing_again(folder, done):
    again = run_experiment(experiment("e7"), "tiny", folder)
    assert again.seconds == done.seconds
    assert again.report.finding == done.report.finding


def test_distance_of_exact_draws_is_their_noise():
    model = Settings(10).model()
    grid = np.linspace(-0.1, 0.2, 200_001)
    draws = np.interp(np.random.default_rng(1).random(10_000), model.cumulative(grid), grid)
    assert distance(model, draws) < 1.95 / 100  # Kolmogorov, probability 0.001
    assert distance(model, draws + 0.01) > 0.1
