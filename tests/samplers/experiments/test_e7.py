"""E7 at a tiny size: the finding holds, and finished parts are not computed again."""

import numpy as np
import pytest

from samplers.experiments import experiment
from samplers.experiments.e7 import Settings, distance
from samplers.experiments.running import run_experiment


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("e7")


@pytest.fixture(scope="module")
def done(folder):
    return run_experiment(experiment("e7"), "tiny", folder)


def test_finding(done):
    assert all(done.report.checks.values()), done.report.checks
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert rows["uncorrected"][1] > 0.15
    assert rows["ε = 0.5"][3] == pytest.approx(0.05)
    assert 0.12 < rows["ε = 0.1"][3] < 0.17  # the paper: 0.142
    assert len(done.report.panels) == 6
    shift, se = rows["uncorrected"][7:9]
    assert shift > 3.0 * se > 0.0 and abs(rows["exact"][7]) < 4.0 * rows["exact"][8]


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
