"""E9: least squares by sequential tests against all data and against tuned SGD."""

from __future__ import annotations

import numpy as np
import pytest

from designer.core.progress import Cancelled
from samplers.experiments.framework.running import Work, run_experiment
from samplers.experiments.problems.time_to_target import cost_to_reach, target_table
from samplers.experiments.studies.e9 import EXPERIMENT, Settings, _some, methods_of, outcome, problem


@pytest.fixture(scope="module")
def rows(done):
    return {
        (row[0], row[1]): dict(zip(done.report.tables[0].columns, row, strict=True))
        for row in done.report.tables[0].rows
    }


def test_every_statement_holds(done):
    assert done.report.checks and all(done.report.checks.values()), done.report.checks
    assert len(done.report.checks) == 10


@pytest.mark.parametrize("name", ["flights", "mnist3"])
def test_the_sequential_test_reads_less_and_arrives(rows, name):
    ours, whole = rows[name, "sequential"], rows[name, "all data"]
    assert ours["passes to 99%"] < whole["passes to 99%"]
    assert ours["passes read"] < whole["passes read"]
    assert abs(ours["test loss"] - whole["test loss"]) < 0.005 * whole["test loss"]
    assert whole["passes to 99%"] == int(whole["passes to 99%"])  # all-data IRLS reads whole passes
    assert 0.0 <= ours["share of the way left"] < 0.001


def test_the_printed_rule_stays_behind(rows):
    """On the digits K16's rule runs away: a loss above that of theta = 0."""
    assert rows["mnist3", "as printed"]["share of the way left"] > 1.0
    assert rows["flights", "as printed"]["share of the way left"] > 0.01
    assert np.isnan(rows["mnist3", "as printed"]["passes to 99%"])


def test_batches_grow_in_the_panel(done):
    panel = next(p for p in done.report.panels if p.title == "flights: rows per iteration")
    share = np.array(panel.series[0].y)
    assert share[-1] == 1.0 and share[0] <= 0.1  # the last iteration reads everything


def test_panels_are_finite_and_twins_are_announced(done):
    assert len(done.report.panels) == 8
    for panel in done.report.panels:
        for series in panel.series:
            assert np.all(np.isfinite(series.x)) and np.all(np.isfinite(series.y)) and len(series.x) == len(series.y)
    *twins, caps = done.report.notices
    assert all(notice.startswith("SYNTHETIC DATA") for notice in twins) and len(twins) == 2
    assert caps.endswith("Ended at its cap, apart from SGD: flights as printed, mnist3 as printed.")
    assert "flights (LAD, N = 4,000)" in done.report.finding


def test_data_and_time_to_a_given_error_on_held_out_rows(done):
    """Each target is above the test error of the optimum; the sequential test gets there on less data than IRLS."""
    table = done.report.tables[1]
    rows = {(row[0], row[1], row[5]): dict(zip(table.columns, row, strict=True)) for row in table.rows}
    errors = {(data, error) for data, error, _ in rows}
    wanted = {("flights", "mean absolute error"), ("mnist3", "mean log loss"), ("mnist3", "error rate")}
    assert errors == wanted and len(rows) == 12
    for data, error in wanted:
        ours, whole = rows[data, error, "sequential"], rows[data, error, "all data"]
        assert whole["at the optimum"] < whole["target"] < whole["at θ = 0"]
        assert ours["passes to the target"] < whole["passes to the target"]
        assert whole["seconds to the target"] > 0.0
    tuned = rows["flights", "mean absolute error", "SGD"]
    assert rows["mnist3", "mean log loss", "all data"]["at θ = 0"] == pytest.approx(np.log(2.0))
    panel = next(p for p in done.report.panels if p.title == "flights: test error against time")
    assert panel.series[-1].name == "target" and panel.series[-1].y[0] == tuned["target"]


def test_targets_and_tuning_by_hand():
    """From 5.0 at the start to 1.0 at the optimum, 1% of the way is 0.04; tuning read 30 rows of 10."""
    whole = {"run": np.zeros(3), "read": np.array([10.0, 20.0, 30.0]), "elapsed": np.array([1.0, 2.0, 3.0])}
    whole |= {"test": np.array([2.0, 1.05, 1.0]), "n_data": 10, "lad": True, "start_test": 5.0}
    ours = whole | {"read": np.array([1.0, 2.0, 5.0]), "test": np.array([4.0, 1.04, 0.9]), "tuning_read": 30}
    first, second = target_table({"lines": {"all data": whole, "SGD": ours}}).rows
    assert first == ["lines", "mean absolute error", 5.0, 1.0, pytest.approx(1.04), "all data", 3.0, 3.0, 3.0]
    assert second[5:] == ["SGD", pytest.approx(0.2), 2.0, pytest.approx(3.2)]


def test_the_printed_test_has_no_cap_but_its_passes(rows):
    """Looks of N/1000 = 4 rows; thousands of iterations, until it has read as much as SGD."""
    for name in ("flights", "mnist3"):
        row = rows[name, "as printed"]
        assert row["ended"] == "at our cap" and 3.0 <= row["passes read"] < 3.2
        assert rows[name, "sequential"]["ended"] == "by itself"
    assert methods_of(Settings(("mnist3",), None, 1), "mnist3")[3] == "as printed, N₀ = 8,100"
    assert len(methods_of(Settings(("mnist3",), 4000, 1), "mnist3")) == 4
    assert _some(100).tolist() == list(range(100))
    assert _some(10**4)[[0, 1, -1]].tolist() == [0, 1, 9999] and _some(10**4).size < 150


def test_arriving_means_to_stay():
    run = {"test": np.array([3.0, 1.0, 2.0, 1.0, 0.9]), "read": np.arange(5.0)}
    assert cost_to_reach(run, "test", 1.0, "read") == 3.0
    assert cost_to_reach(run, "test", 0.5, "read") == np.inf
    assert cost_to_reach(run, "test", 5.0, "read") == 0.0
    assert cost_to_reach({**run, "test": np.array([1.0, 1.0, 1.0, 1.0, np.nan])}, "test", 2.0, "read") == np.inf


def test_parts_are_kept(done, folder):
    assert run_experiment(EXPERIMENT, "tiny", folder).seconds == done.seconds


def test_a_response_is_counted_from_its_median():
    given = problem("flights", Work(), 500)
    assert np.median(given.y) == 0.0 and np.all(given.x[:, -1] == 1.0)
    assert set(np.unique(problem("mnist3", Work(), 500).y)) == {0.0, 1.0}


def test_what_counts_as_arrived():
    """A run that leaves again has not arrived; medians are over runs."""
    train = np.array([10.0, 1.0, 5.0, 0.04, 0.0, 10.0, 0.05, 0.05, 0.05, 0.05])
    part = {
        "run": np.repeat([0.0, 1.0], 5),
        "read": np.tile([10.0, 20.0, 30.0, 40.0, 50.0], 2),
        "elapsed": np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 2),
        "train": train,
        "test": train,
        "n_data": 10,
        "start": 10.0,
    }
    found = outcome(part, 0.0)
    assert found.passes == 2.0 and found.seconds == 2.0  # the lower median of 4 and 2
    assert found.farther == 5.0 and found.left == 0.0
    behind = outcome(part | {"train": np.full(10, 9.0)}, 0.0)
    assert np.isnan(behind.passes) and behind.left == pytest.approx(0.9)


def test_cancelling_is_noticed():
    settings = Settings(("flights",), 2000, 1)
    with pytest.raises(Cancelled):
        EXPERIMENT.work(settings, "flights all data", Work(cancelled=lambda: True))
