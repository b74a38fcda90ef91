"""The story of every stored experiment: three sentences whose numbers are those of its tables."""

from __future__ import annotations

import re

import pytest

from samplers.experiments import NAMES
from samplers.experiments.framework import stories
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


def test_what_the_docs_say_beside_the_paper():
    for name in NAMES:
        assert len(stories.beside_the_paper(name)) > 100, name
    assert stories.beside_the_paper("e99") == ""
