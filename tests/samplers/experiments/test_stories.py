"""The story of every stored experiment: three sentences whose numbers are those of its tables."""

from __future__ import annotations

import re

import pytest

from samplers.experiments import NAMES
from samplers.experiments.framework import stories
from samplers.experiments.framework.report import ResultTable
from samplers.experiments.framework.running import shipped

END = re.compile(r"\.(?= [A-Z]|$)")  # of a sentence: not the point of 0.05, S17. or K14


@pytest.mark.parametrize("name", NAMES)
def test_every_stored_experiment_has_a_story_and_a_figure(name):
    _, report = shipped(name)
    told = stories.story(name, report)
    assert told.words != stories.first_sentences(report.finding)  # the tables have what the story looks up
    assert 100 < len(told.words) < 900
    assert len(END.findall(told.words)) == 3, told.words
    assert 1 <= len(told.panels) <= 4 and all(panel in report.panels for panel in told.panels)
    assert not re.search(r"nan|None", told.words), told.words
    decimals = re.findall(r"\d\.(\d+)", told.words)
    assert all(len(digits.lstrip("0")) <= 3 for digits in decimals), decimals


def test_numbers_are_looked_up():
    _, report = shipped("e7")
    first = report.tables[0]
    changed = [[0.987654 if cell == first.rows[0][1] else cell for cell in row] for row in first.rows]
    other = report._replace(tables=[first._replace(rows=changed), *report.tables[1:]])
    assert "0.988" in stories.story("e7", other).words
    assert "0.988" not in stories.story("e7", report).words
    assert stories.story("e7", report._replace(tables=[])).words == stories.first_sentences(report.finding)


COSTS = {"seconds of processor time": False, "data read, where no chain remembers, as in the papers": True}


def test_verdicts_are_those_of_the_checks():
    _, stored = shipped("e6")
    tables = [table for table in stored.tables if not table.title.startswith("Risks at equal cost")]
    report = stored._replace(checks={}, tables=tables)
    plain = stories.story("e6", report).words
    assert "than with exact jumps, which is not checked in this run, and the same inclusion probabilities" in plain
    checks = {f"K14 Fig. 4: some ε > 0 has a lower risk than ε = 0, at equal {cost}": c for cost, c in COSTS.items()}
    columns = ["at equal", "test", "budget", "risk, exact", "from", "to", "risk, test", "from", "to", "lower"]
    rows = [[cost, f"ε = {e}", 9, 4.0, 3, 5, risk, 1, 5, "no"] for cost in COSTS for e, risk in ((0.01, 1), (0.1, 2))]
    table = ResultTable("Risks at equal cost (bands)", columns, rows)
    others = {"no inclusion probability of any test differs": None}
    told = stories.story("e6", report._replace(checks=checks | others, tables=[*report.tables, table])).words
    assert "jumps, which does not hold at equal seconds of processor time and holds at equal data read (at" in told
    assert (
        "(at equal data read ε = 0.01 does best), and the same" in told and "chains, which is unresolved here" in told
    )
    worse = table._replace(rows=[[*row[:6], 9.0 - row[6], *row[7:]] for row in rows])
    told = stories.story("e6", report._replace(tables=[*report.tables, worse])).words
    assert "(at equal data read ε = 0.1 comes closest)" in told


def test_e4_says_which_sources_it_has():
    _, report = shipped("e4")
    for sources in ("four sounds", "music, noise and two Gaussian sources"):
        finding = f"On 1,950,000 samples of {sources}, with 0.3 of the paper's samples from uniformly random matrices."
        words = stories.story("e4", report._replace(finding=finding)).words
        assert words.startswith(f"With 1.95 million samples of {sources}, chains with the sequential test read")


def test_what_the_docs_say_beside_the_paper():
    for name in NAMES:
        assert len(stories.beside_the_paper(name)) > 100, name
    assert stories.beside_the_paper("e99") == ""
