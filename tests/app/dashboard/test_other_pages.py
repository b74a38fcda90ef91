"""Compare tests, Experiments and Method: what they show is what the library says."""

import importlib.util
import json
import shutil
import struct
import threading
from pathlib import Path

import numpy as np
import pytest

from app.cli.commands.experiment import write_figures
from app.cli.main import main
from app.dashboard.jobs import live
from app.dashboard.jobs.jobs import Job
from app.dashboard.pages import compare
from app.figures.compare import costs
from app.figures.panels import figure
from app.figures.style import GREY, SERIES
from designer import Design, TrialRun
from designer.core.errors import BadInput
from designer.core.progress import Cancelled
from samplers.decide.barker import BarkerTest
from samplers.decide.concentration import ConcentrationTest
from samplers.experiments import NAMES
from samplers.experiments.framework.report import Panel, Report, Series, Table
from samplers.experiments.framework.running import shipped
from samplers.study.best_tests import best_candidates
from samplers.study.compare_tests import Candidates, cheapest, measure, predict, with_control_variates
from tests.app.dashboard.driving import (
    alternative_texts,
    button,
    everything,
    figures,
    numbers,
    open_page,
    query,
    settled,
)
from tests.browser.driving import NAMES as NAMES_OF_CHROMIUM

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


def test_figures_are_also_pictures(tmp_path):
    """PNG as `austerity experiment` writes it, where kaleido and a browser are there."""
    if importlib.util.find_spec("kaleido") is None:
        pytest.skip("NO KALEIDO, PICTURES OF EXPERIMENTS NOT TESTED: pip install 'austerity[figures]'")
    if not any(map(shutil.which, NAMES_OF_CHROMIUM)):
        pytest.skip("NO CHROMIUM, PICTURES OF EXPERIMENTS NOT TESTED: make browser, or apt-get install chromium")
    two = REPORT._replace(panels=[PANEL, PANEL._replace(title="Again")])
    assert write_figures(two, tmp_path, "two") == ["figures.html", "figure1.png", "figure2.png"]
    for number in (1, 2):
        content = (tmp_path / f"figure{number}.png").read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", content[16:24]) == (1800, 1000)  # 900 x 500 at twice the resolution
        assert len(content) > 10_000  # something is drawn on it
    assert {file.name for file in tmp_path.iterdir()} == {"figures.html", "figure1.png", "figure2.png"}


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


def test_a_batch_of_more_than_all_the_data_reads_them_all():
    page = open_page("compare")
    page.number_input(key="cm").set_value(10**8).run()
    assert not page.error
    for number in (0, 1):
        assert set(page.dataframe[number].value["data per step"]) == {"100,000"}
    sequential = page.dataframe[0].value.set_index("test").loc["sequential"]
    assert float(sequential["mean |Δ|"]) == 0.0


def test_compare_says_what_its_recommendation_leaves_out():
    barker = next(block.value for block in open_page("compare").markdown if "Barker minibatch** needs" in block.value)
    assert "that of the correction table alone: the sample mean is treated as normal" in barker


def test_compare_can_be_reset_and_linked():
    page = open_page("compare", source="stationary", trial_n="20000")
    page.number_input(key="ceps").set_value(0.2).run()
    assert "ceps=0.2" in page.code[0].value and "trial_n=20000" in page.code[0].value
    button(page, "Reset to defaults").click().run()
    assert page.number_input(key="ceps").value == 0.05
    assert "ceps=0.05" in page.code[0].value


def test_compare_s_file_has_every_prediction():
    trial = TrialRun.load(Path("examples/logistic_trial.csv"))
    tests = Candidates(Design(trial.n_data, 500, 0.05))
    rows = predict(trial, tests)
    columns = compare._columns({"a": rows, "b": rows}, {"a": tests, "b": tests})
    assert columns["pairs"] == ["a"] * len(rows) + ["b"] * len(rows)
    assert columns["per_move"] == [row.per_move for row in rows] * 2
    assert columns["knobs"][2] == "m = 500, ε = 0.05, α = 0.5"


def test_compare_gives_each_test_its_best_knobs():
    small = {"source": "stationary", "trial_n": "5000", "acceptance": "0.5", "pairs": "20", "seed": "1"}
    page = settled(open_page("compare", **small, cbest="true", ctol="0.05", cfactor="20", crange="5"))
    trial = TrialRun.at_stationarity(5000, 0.5, 20, np.random.default_rng(1))
    for number, pairs in enumerate((trial, with_control_variates(trial, 20.0))):
        tests = best_candidates(pairs, 0.05, 5.0)
        table = page.dataframe[number].value
        assert table["data per step"].tolist() == [f"{row.data:,.0f}" for row in predict(pairs, tests)]
        assert table["knobs"][2].startswith(f"m = {tests.sequential.m:,}, ε = {tests.sequential.epsilon:.6g}")
        assert table["knobs"][3] == f"m = {tests.barker.m:,}, σ₀ = {tests.barker.sigma:g}"
    assert "cbest=true" in page.code[0].value and "ceps" not in page.code[0].value
    assert {each.key for each in page.number_input} == {"ctol", "cfactor", "crange"}
    button(page, "Reset to defaults").click().run()
    assert page.dataframe[0].value["knobs"][2] == "m = 500, ε = 0.05, α = 0.5"


def test_the_simulated_points_have_their_series_colour_and_are_beside_their_own_predictions():
    trial = TrialRun.at_stationarity(5_000, 0.5, 30, np.random.default_rng(1))
    tests = Candidates(Design(5_000, 300, 0.05), BarkerTest(m=300), ConcentrationTest(m=300))
    seen = measure(np.random.default_rng(2), trial, tests, pairs=3, repeats=10)
    rows = predict(trial, tests)
    drawn = costs({"a": rows, "b": rows}, {"a": seen, "b": seen})
    colours = {name: {each.marker.color for each in drawn.data if each.name.startswith(name)} for name in "ab"}
    assert all(len(found) == 1 for found in colours.values()) and colours["a"] != colours["b"]
    looks = [(each.marker.color, each.marker.symbol) for each in drawn.data]
    assert len(set(looks)) == len({each.offsetgroup for each in drawn.data}) == len(looks) == 6
    beside = next(each for each in drawn.data if each.name == "a, simulated pairs predicted")
    assert list(beside.x) == [row.predicted_data for row in seen]


def test_method_shows_the_self_check():
    page = open_page("method")
    assert not page.exception
    table = page.table[0].value
    assert set(table["passed"]) == {"yes"}
    assert any("Phi" in block.value for block in page.markdown)


def test_experiments_are_listed():
    page = open_page("experiments")
    assert not page.exception
    assert len(page.selectbox[0].options) == len(NAMES) == 14
    page.selectbox[0].select_index(11).run()
    assert not page.exception
    assert any("austerity experiment e12" in block.value for block in page.markdown)
    assert query(page, "experiment") == "e12"


def test_the_command_line_lists_the_same_experiments(capsys):
    assert main(["experiment", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["experiments"]
    assert tuple(each["name"] for each in listed) == NAMES and len(listed) == 14


@pytest.mark.parametrize("name", ["e4", "e11", "regimes"])
def test_stored_numbers_are_shown_as_they_are(name):
    page, (_, report) = open_page("experiments", experiment=name), shipped(name)
    assert report.finding in everything(page)
    assert [heading.value for heading in page.subheader] == [table.title for table in report.tables]
    for shown, table in zip(page.dataframe, report.tables, strict=True):
        for number, column in enumerate(table.columns):
            assert [*shown.value[column].replace({np.nan: None})] == [row[number] for row in table.rows], column
    for drawn, panel in zip(figures(page), report.panels, strict=True):
        for series in panel.series:
            curve = next(one for one in drawn["data"] if one.get("name") == series.name)
            assert numbers(curve["y"]) == pytest.approx(np.array(series.y, float), nan_ok=True)
    statements = [f"{'holds' if true else 'does not hold'}] {said}" for said, true in report.checks.items()]
    assert all(statement in everything(page) for statement in statements)


def test_only_synthetic_data_are_warned_of():
    page = open_page("experiments", experiment="e9")  # two real data sets and two twins
    assert sum("SYNTHETIC DATA" in warning.value for warning in page.warning) == len(page.warning) == 2
    assert sum(caption.value.startswith("Data: ") for caption in page.caption) == 2


def test_a_link_opens_its_experiment():
    page = open_page("experiments", experiment="e5")
    assert page.selectbox[0].value == "e5"
    assert page.code[0].value.endswith("?experiment=e5")
    assert open_page("experiments", experiment="nonsense").selectbox[0].value == "e1"


def with_job(page, key, work):
    """The page while a job of that name is the session's."""
    page.session_state["job-experiment"] = job = Job(key, work)
    return job, page.run()


def progress(page):
    """The words of the page's progress bar."""
    (bar,) = page.get("progress")
    return bar.proto.text


def test_a_running_experiment_has_its_own_name_and_others_say_that_they_would_end_it():
    job, page = with_job(open_page("experiments", experiment="e5"), "e3", lambda job: REPORT)
    assert "e3 is running. One experiment runs at a time: starting e5 cancels it." in everything(page)
    assert progress(page).startswith("e3 at a quick size")
    job.run()
    assert "The live run of e3 has ended" in everything(page.run())
    assert REPORT.finding not in everything(page)
    page.selectbox[0].select("e3").run()
    assert REPORT.finding in everything(page)
    assert alternative_texts(page)[-1] == PANEL.note  # below the stored ones


def test_a_cancelled_experiment_says_so():
    job, page = with_job(open_page("experiments", experiment="e3"), "e3", lambda job: REPORT)
    button(page, "Cancel").click().run()
    assert job.was_cancelled
    assert "Cancelled." in everything(page.run())


def test_an_experiment_runs_live():
    job = Job("e13", lambda job: live.run_quick(job, "e13"))
    job.run()
    assert all(job.outcome().checks.values())
    assert job.share == 1.0


def test_a_live_experiment_says_what_it_does_before_there_is_progress():
    job = Job("e13", lambda job: live.run_quick(job, "e13"))
    job.cancel()
    with pytest.raises(Cancelled):
        live.run_quick(job, "e13")
    assert job.share == 0.0 and "preparing" in job.state.note


def test_no_two_series_look_alike():
    many = Panel("Many", "x", "y", [Series(str(k), [1.0], [2.0], style="bars") for k in range(14)])
    bars = {(each.marker.color, each.marker.pattern.shape) for each in figure(many).data}
    assert len(bars) == 14
    assert GREY not in SERIES and len({*SERIES}) == 6


def test_a_title_and_a_legend_are_at_opposite_ends():
    drawn = figure(PANEL).layout
    assert drawn.title.text == "Risk"
    crowded = figure(PANEL._replace(y="error of the distribution function", series=[PANEL.series[0]] * 7)).layout
    assert crowded.height > drawn.height + 4 * 15  # lines of the legend do not eat the plot
    assert crowded.yaxis.title.text == "error of the distribution<br>function"
    assert (drawn.legend.yref, drawn.legend.y, drawn.legend.yanchor) == ("container", 0, "bottom")


def test_a_live_experiment_can_be_cancelled_and_fail():
    waiting = Job("e3", lambda job: live.run_quick(job, "e3"))
    threading.Timer(1.0, waiting.cancel).start()  # while its process starts
    waiting.run()
    assert waiting.outcome() is None
    failed = Job("e99", lambda job: live.run_quick(job, "e99"))
    failed.run()
    with pytest.raises(BadInput, match="experiment = 'e99'"):
        failed.outcome()
