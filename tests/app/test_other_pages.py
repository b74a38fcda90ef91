"""Compare tests, Experiments and Method: what they show is what the library says."""

import threading
from pathlib import Path

import pytest

from app import live
from app.commands.experimenting import write_figures
from app.figures.panels import figure
from app.jobs import Job
from designer import Design, TrialRun
from designer.errors import BadInput
from samplers.accept.barker import BarkerTest
from samplers.accept.concentration import ConcentrationTest
from samplers.advice import Candidates, cheapest, predict, with_control_variates
from samplers.experiments.report import Panel, Report, Series, Table
from tests.app.pages import open_page

PANEL = Panel(
    "Risk",
    "seconds",
    "risk",
    [
        Series("a", [1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [2.5, 1.5, 0.5], [3.5, 2.5, 1.5]),
        Series("b", [1.0, 2.0], [1.0, 2.0], [0.9, 1.9], [1.2, 2.2], "points"),
        Series("c", ["x", "y"], [1.0, 2.0], style="bars"),
    ],
    log_y=True,
    note="what to see",
)
REPORT = Report("It holds.", {"a statement": True}, [Table("numbers", ["n"], [[1]])], [PANEL], ["a notice"])


def test_panels_keep_their_numbers():
    drawn = figure(PANEL)
    curve = next(trace for trace in drawn.data if trace.name == "a")
    points = next(trace for trace in drawn.data if trace.name == "b")
    assert list(curve.y) == [3.0, 2.0, 1.0]
    assert list(points.error_y.array) == pytest.approx([0.2, 0.2])
    assert list(points.error_y.arrayminus) == pytest.approx([0.1, 0.1])
    assert drawn.layout.yaxis.type == "log"
    band = [trace for trace in drawn.data if getattr(trace, "fill", None) == "tonexty"]
    assert list(band[0].y) == [3.5, 2.5, 1.5]


def test_figures_need_nothing_from_elsewhere(tmp_path):
    names = write_figures(REPORT, tmp_path, "A <title>")
    page = (tmp_path / "figures.html").read_text()
    assert names[0].startswith("figures.html")
    assert "A &lt;title&gt;" in page and "what to see" in page
    assert 'src="http' not in page


def test_compare_shows_what_advice_says():
    page = open_page("compare")
    assert not page.exception
    trial = TrialRun.load(Path("examples/logistic_trial.csv"))
    n = trial.n_data
    tests = Candidates(Design(n, 500, 0.05), BarkerTest(m=500), ConcentrationTest(m=500), 6.0)
    for number, pairs in enumerate((trial, with_control_variates(trial, 30.0))):
        shown = page.dataframe[number].value
        expected = predict(pairs, tests)
        assert shown["test"].tolist() == [row.test for row in expected]
        assert shown["data per step"].tolist() == [f"{row.data:,.0f}" for row in expected]
    best = cheapest(predict(trial, tests), 0.05)
    assert best.test == "exact, cached"  # the sequential test's error is larger here
    assert any(best.test in block.value for block in page.markdown)
    page.number_input(key="ctol").set_value(1.0).run()
    assert any("sequential** needs the fewest" in block.value for block in page.markdown)


def test_compare_follows_its_knobs():
    page = open_page("compare")
    before = page.dataframe[0].value["data per step"].tolist()
    page.number_input(key="ceps").set_value(0.2).run()
    after = page.dataframe[0].value["data per step"].tolist()
    assert after[0] == before[0] and after[2] != before[2]


def test_compare_refuses_a_bad_batch():
    page = open_page("compare")
    page.number_input(key="cm").set_value(10**8).run()
    assert not page.exception  # a batch larger than N reads everything


def test_method_shows_the_self_check():
    page = open_page("method")
    assert not page.exception
    table = page.table[0].value
    assert set(table["passed"]) == {"yes"}
    assert any("Phi" in block.value for block in page.markdown)


def test_experiments_are_listed():
    page = open_page("experiments")
    assert not page.exception
    assert len(page.selectbox[0].options) >= 13
    page.selectbox[0].select_index(11).run()
    assert not page.exception
    assert any("austerity experiment e12" in block.value for block in page.markdown)


def test_an_experiment_runs_live():
    job = Job("e13", lambda job: live.run_quick(job, "e13"))
    job.run()
    assert all(job.outcome().checks.values())
    assert job.share == 1.0


def test_a_live_experiment_can_be_cancelled_and_fail():
    waiting = Job("e3", lambda job: live.run_quick(job, "e3"))
    threading.Timer(1.0, waiting.cancel).start()  # while its process starts
    waiting.run()
    assert waiting.outcome() is None
    failed = Job("e99", lambda job: live.run_quick(job, "e99"))
    failed.run()
    with pytest.raises(BadInput, match="experiment = 'e99'"):
        failed.outcome()
