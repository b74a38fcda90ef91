"""Page Experiments: stored results as they are, and the live run."""

from __future__ import annotations

import json

import numpy as np
import pytest

from app.cli.main import main
from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages.experiments import counted
from app.figures.facets import facets
from samplers.experiments import NAMES
from samplers.experiments.framework.report import in_words
from samplers.experiments.framework.running import shipped
from samplers.experiments.framework.stories import story, three
from tests.app.dashboard.driving import (
    alternative_texts,
    button,
    everything,
    figures,
    numbers,
    open_page,
    query,
)
from tests.app.figures.test_panels import PANEL, REPORT


def test_experiments_are_listed():
    page = open_page("experiments")
    assert not page.exception
    assert len(page.selectbox[0].options) == len(NAMES) == 13
    page.selectbox[0].select_index(11).run()
    assert not page.exception
    assert any("austerity experiment e12" in block.value for block in page.markdown)
    assert query(page, "experiment") == "e12"


def test_the_command_line_lists_the_same_experiments(capsys):
    assert main(["experiment", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["experiments"]
    assert tuple(each["name"] for each in listed) == NAMES and len(listed) == 13


@pytest.mark.parametrize("name", ["e1", "e11"])
def test_the_story_comes_first_and_everything_stored_is_shown(name):
    page, (_, report) = open_page("experiments", experiment=name), shipped(name)
    told, text = story(name, report), everything(page)
    assert 0 <= text.index(told.words) < text.index(report.finding)
    headings = [heading.value for heading in page.header]
    assert headings[-2 - len(report.tables) : -1] == ["In detail", *(table.title for table in report.tables)]
    for shown, table in zip(page.dataframe, report.tables, strict=True):
        assert shown.value.shape == (len(table.rows), len(table.columns))  # also where two headings are the same
        for number, column in enumerate(shown.value):
            assert column.strip("\u200b") == table.columns[number]
            assert [*shown.value[column]] == [three(row[number]) for row in table.rows], column
    order = [*told.panels, *(panel for panel in report.panels if panel not in told.panels)]
    plots = [plot for panel in order for plot in facets(panel)]
    for drawn, plot in zip(figures(page), plots, strict=True):
        assert len(plot.series) <= 8
        for series in plot.series:
            curve = next(one for one in drawn["data"] if one.get("name") == series.name)
            assert numbers(curve["y"]) == pytest.approx(np.array(series.y, float), nan_ok=True)
    assert all(f"{in_words(true)}] {said}" in text for said, true in report.checks.items())
    assert f"Checks: {counted(report)}" in [fold.label for fold in page.expander]


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
    assert "e3 is running. Only one experiment runs at a time: starting e5 cancels it." in everything(page)
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
