"""Go further: what every topic has. A link that brings it back, a reset, a file, its formulas, errors for people."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.dashboard.jobs import remembered
from app.dashboard.pages.further import ENTRIES, boundary, budget, posterior, redesign, steps
from tests.app.dashboard.driving import alternative_texts, button, everything, figures, open_page, page

SMALL = {"source": "stationary", "trial_n": "3000", "acceptance": "0.5", "pairs": "20", "seed": "1", "spread": "0.2"}
TURNED = {
    "posterior": {
        "m": "300",
        "eps": "0.02",
        "alpha": "0.75",
        "growth": "1.5",
        "pdim": "7",
        "pskew": "0.3",
        "pinfl": "0.2",
    },
    "boundary": {"tol": "0.04", "bndm": "700", "bndgrowth": "1.5", "bndasym": "true"},
    "budget": {
        "bsec": "5.0",
        "btau": "50.0",
        "bsens": "0.3",
        "bdeg": "2.0",
        "bfix": "1e-06",
        "bdat": "1e-07",
        "m": "200",
    },
    "steps": {"tol": "0.04", "steppow": "1.5", "stephold": "equal error"},
    "redesign": {
        "redchain": "e4",
        "tol": "0.04",
        "redm": "900",
        "redeps": "0.01",
        "redevery": "200",
        "redsteps": "900",
    },
}


def link_of(found):
    """The parameters of the link that the page offers."""
    (link,) = [code.value for code in found.code if code.value.startswith(("http", "?"))]
    return dict(parse_qsl(urlsplit(link).query))


@pytest.mark.parametrize("topic", TURNED)
def test_a_topic_has_a_link_a_reset_a_file_and_words_for_its_figures(topic):
    found = page("further", **SMALL, topic=topic, **TURNED[topic])
    link = link_of(found)
    assert link == SMALL | {"topic": topic} | TURNED[topic]
    if topic != "redesign":  # which does nothing before it is asked to
        assert any(each.proto.label.endswith("CSV") for each in found.get("download_button"))
        assert figures(found)
        captions = [each.value for each in found.caption]
        assert set(alternative_texts(found)) <= set(captions)
    button(found, "Reset to defaults").click().run()
    after = link_of(found)
    assert set(after) == set(link) and {key: after[key] for key in SMALL} == SMALL
    assert all(after[key] != value for key, value in TURNED[topic].items())


def test_every_topic_is_in_the_list_and_names_a_page_that_exists():
    topics = [each.TOPIC for each in (posterior, budget, steps, redesign)] + [boundary._topic(5000)]
    assert {topic.key for topic in topics} == {entry.key for entry in ENTRIES} == set(TURNED)
    for topic in topics:
        assert Path("docs", topic.page).is_file()
        assert "$$" in topic.method
    specs = [spec for topic in topics for spec in topic.knobs if spec.key != "bndm"]  # whose default depends on N
    assert all(one == other for one in specs for other in specs if one.key == other.key)  # shared, or its own


def test_a_test_too_hot_to_compute_leaves_the_rest_of_the_topic():
    """No numbers of this test, but those of others, and what to tolerate."""
    hot = {"source": "stationary", "trial_n": "1000000", "acceptance": "0.02", "pairs": "5", "topic": "posterior"}
    found = page("further", **hot, m="500", eps="0.5")
    assert [each.value for each in found.error] == ["this test heats the posterior beyond a temperature of 100"]
    assert "tolerate a mean |Δ| of" in everything(found)
    (drawn,) = figures(found)
    assert [each["name"] for each in drawn["data"]] == ["standard deviation"]


def test_steps_say_when_an_exact_chain_explores_more():
    assert "An exact chain that caches its log-likelihoods explores more" in everything(
        page("further", topic="steps", source="stationary", trial_n="3000", pairs="20", tol="0.001")
    )


def test_a_budget_in_which_exact_decisions_are_best_says_so():
    found = page("further", topic="budget", source="stationary", trial_n="3000", pairs="20", bsec="1000")
    said = everything(found)
    assert "Best fixed test: exact" in said and "no test on part of the data pays" in said
    assert "No schedule of several tests does better" in said


@pytest.mark.parametrize("topic", ["posterior", "boundary", "budget", "steps"])
def test_what_was_computed_for_one_is_shown_to_the_next_at_once(topic):
    link = {"source": "stationary", "trial_n": "3000", "acceptance": "0.5", "pairs": "20", "seed": "5", "topic": topic}
    first, second = page("further", **link), open_page("further", **link)
    assert f"job-{topic}" in first.session_state and f"job-{topic}" not in second.session_state
    assert figures(second) == figures(first) != []


def test_only_so_many_answers_are_remembered(monkeypatch):
    monkeypatch.setattr(remembered, "MOST_ANSWERS", 2)
    monkeypatch.setattr(remembered, "_answers", {})
    for seed in range(3):
        page("further", source="stationary", trial_n="3000", pairs="20", seed=str(seed), topic="steps")
    assert len(remembered._answers) == 2


def test_a_job_whose_answer_was_remembered_meanwhile_counts_as_seen(monkeypatch):
    monkeypatch.setattr(remembered, "_answers", {})
    found = page("further", source="stationary", trial_n="3000", pairs="20", seed="8", topic="steps")
    job = found.session_state["job-steps"]
    job.seen = False  # another session has brought the answer before this one looked
    found.run()
    assert job.seen
