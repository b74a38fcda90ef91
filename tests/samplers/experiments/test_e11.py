"""E11: ones against sevens, data per step of the tests."""

from __future__ import annotations

import numpy as np
import pytest

from designer.core.progress import Cancelled
from samplers.experiments.framework.running import Work, run_experiment
from samplers.experiments.studies.e11 import EXPERIMENT, TESTS, Unbounded
from samplers.models.logistic import Logistic


@pytest.fixture(scope="module")
def rows(done):
    table = done.report.tables[0]
    return {(row[0], row[1]): dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_every_statement_holds(done):
    assert all(done.report.checks.values()), done.report.checks
    assert len(done.report.checks) == 4  # the paper's figures are not asked of a twin


def test_data_per_step(rows):
    assert len(rows) == 2 * len(TESTS)
    for temperature in (100.0, 36.0):
        found = [rows[test, temperature]["data per step"] for test in TESTS]
        assert found == sorted(found)
        assert rows["exact", temperature]["evaluations per step"] == 1000.0  # with the cache
        assert rows["barker", temperature]["evaluations per step"] == 2 * found[0]
    assert rows["barker", 100.0]["data per step"] < 120.0
    assert rows["barker", 36.0]["data per step"] > 1.5 * rows["barker", 100.0]["data per step"]  # kappa is larger
    for test in ("barker", "sequential"):
        row = rows[test, 100.0]
        assert abs(row["data per step"] - row["predicted"]) < 4 * row["± s.e."] + 0.15 * row["predicted"]


def test_the_known_bound_is_not_charged(rows):
    """The test's own batches only, but the pass is among the likelihood evaluations."""
    row = rows["concentration, known bound", 100.0]
    assert row["data per step"] <= 1000.0 and row["evaluations per step"] == 2 * row["data per step"] + 2000.0


def test_chains_learn(done, rows):
    assert rows["barker", 36.0]["final test accuracy"] > 0.8
    accuracy = next(panel for panel in done.report.panels if panel.title.startswith("Test accuracy against data"))
    for series in accuracy.series:
        assert np.all(np.diff(series.x) > 0) and np.all((np.array(series.y) >= 0) & (np.array(series.y) <= 1))
    assert accuracy.series[0].x[0] == 100.0  # the first batch
    assert done.report.notices[0].startswith("SYNTHETIC DATA")


def test_parts_are_kept(done, folder):
    assert run_experiment(EXPERIMENT, "tiny", folder).seconds == done.seconds


def test_a_model_without_a_bound():
    rng = np.random.default_rng(1)
    model = Logistic.from_data(rng.normal(size=(20, 3)), rng.random(20) < 0.5)
    plain, theta, proposed = Unbounded(model), np.zeros(3), rng.normal(size=3)
    indices = np.arange(20)
    np.testing.assert_array_equal(plain.terms(theta, proposed, indices), model.terms(theta, proposed, indices))
    assert getattr(plain, "range_bound", None) is None and plain.n_data == 20


def test_cancelling_is_noticed():
    with pytest.raises(Cancelled):
        EXPERIMENT.work(EXPERIMENT.sizes["tiny"], "exact, T = 100", Work(cancelled=lambda: True))
