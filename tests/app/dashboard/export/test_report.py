"""The HTML report: whole in itself, and with the library's numbers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pytest

from app.dashboard.export import exports, report
from app.dashboard.jobs.job_queue import Job
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.question import Question, SearchAnswer, answer_question
from app.dashboard.state.source import Source
from designer import Design, TrialRun, acceptance, stopping, worst_case
from designer.pairs.diagnostics import histograms_of

SOURCE = Source("stationary", 20_000, 0.5, 40, 1)
TRIAL = TrialRun.at_stationarity(20_000, 0.5, 40, np.random.default_rng(1))
RUN = Loaded("<my> run & more", TRIAL, "made up")
NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


class Reader(HTMLParser):
    """Tags that are open, addresses that would be asked, and the text outside of scripts and styles."""

    EMPTY = frozenset({"meta", "br", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.text: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action", "srcset", "data")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def answer() -> SearchAnswer:
    return answer_question(Question(0.02), TRIAL, Job("x", lambda job: None))


def read(text: str) -> tuple[Reader, str]:
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader, " ".join(reader.text)


def test_it_is_whole_in_itself(answer):
    text = report.html(answer.result.best, answer, RUN, SOURCE, NOW)
    reader, _ = read(text)
    assert reader.addresses == []
    assert not {"link", "img", "iframe", "object", "embed"} & set(reader.tags)
    assert text.count("plotly.js (basic") == 1  # inlined, and once
    assert reader.tags.count("figure") == 2 + 3  # no skewness in this run
    assert (
        "default-src &#39;none&#39;" in text and "form-action &#39;none&#39;" in text
    )  # a browser refuses any request
    assert len(text.encode()) < 2e6
    assert '"showSendToCloud": true' not in text and "showSendToCloud: false" in text


@pytest.mark.parametrize(
    "name", ["BODY.csv", "PLOTLY.csv", "TITLE.csv", "{{ run }} {% x %}", "<script>alert(1)</script>"]
)
def test_a_trial_run_may_have_any_name(answer, name):
    usual, _ = read(report.html(answer.result.best, answer, RUN, SOURCE, NOW))
    text = report.html(answer.result.best, answer, RUN._replace(name=name), SOURCE, NOW)
    reader, words = read(text)
    assert reader.tags == usual.tags
    assert words.count(name) == 4  # title, heading, line of the trial run, provenance
    assert text.count("plotly.js (basic") == 1


def test_its_numbers_are_the_librarys(answer):
    best = answer.result.best
    _, words = read(report.html(best, answer, RUN, SOURCE, NOW))
    step, worst, where = acceptance(best, TRIAL), worst_case(best), stopping(best, 0.0)
    for number in (step.mean_abs_delta, step.max_abs_delta, worst.error[0]):
        assert f" {number:.3g}" in words
    for share in (step.mean_usage, worst.usage[0]):
        assert report.in_percent(share) in words
    assert f"{where.n[0]:,}" in words and f"{where.bound[0]:.3g}" in words and f"{where.n[-1]:,}" in words
    assert f"{len(answer.result.evaluated):,}" in words


def test_numbers_have_three_digits_and_nothing_is_python_s(answer):
    """Outside of the lines to copy, which have every digit."""
    _, words = read(report.html(answer.result.best, answer, RUN, SOURCE, NOW))
    told = words.split("Reproduce it")[0] + words.split("Provenance")[1]
    digits = {number: number.replace(".", "").lstrip("0") for number in re.findall(r"\d+\.\d+", told)}
    assert len(digits) > 20 and not [number for number, some in digits.items() if len(some) > 3]
    assert "Question(" not in told and "None" not in told and "tolerance 0.02, criterion average" in told


def test_only_looks_that_matter_are_listed(answer):
    slow = Design(20_000, 20, 0.02)
    _, words = read(report.html(slow, answer, RUN, SOURCE, NOW))
    rows = words.split("Table of looks")[1].split("Assumptions")[0]
    assert f"11 of {stopping(slow, 0.0).n.size:,} looks are shown" in rows


def test_what_was_asked_is_told_in_words():
    asked = Question(0.02, "quantile", 100, None, (0.6, 0.9), cost=(1.0, 2.0, 0.0), rule="barker", growth=(1.0, 2.0))
    assert report.asked_in_words(asked) == (
        "tolerance 0.02, criterion quantile, quantile 0.95, confidence 0.95, rule barker, m from 100, "
        "α from 0.6 to 0.9, growth 1 or 2, cost of a step 1 + 2 per datum + 0 per look"
    )


def test_it_says_where_it_comes_from_and_how_to_get_it_again(answer):
    best = answer.result.best
    reader, words = read(report.html(best, answer, RUN, SOURCE, NOW))
    assert TRIAL.digest in words and "2026-03-04 05:06 UTC" in words
    assert best.to_toml() in reader.text
    assert exports.command_line(answer.question, SOURCE, TRIAL) in reader.text
    assert exports.python_lines(answer.question, SOURCE, TRIAL, best) in reader.text
    assert "<my> run & more" in words  # escaped in the file, so that it is text and not a tag
    assert "my" not in reader.tags
    assert "records no skewness" in words


def test_a_given_design_is_reported_with_its_own_lines(answer):
    given = Design(20_000, 800, 0.0123456789, 0.65)
    reader, words = read(report.html(given, answer, RUN, SOURCE, NOW))
    assert f" {acceptance(given, TRIAL).mean_abs_delta:.3g}" in words
    assert exports.given_lines(given, answer.question, SOURCE, TRIAL)[0] in reader.text


def test_what_a_histogram_leaves_out_is_said_and_sentences_end_once(answer):
    sigma = np.concatenate([np.tile(TRIAL.sigma, 10), [5.0]])
    far = TrialRun(20_000, np.tile(TRIAL.mu, 11)[: sigma.size], sigma)
    assert [counts.outside for counts in histograms_of(far).values()] == [0, 1, 0]
    run = Loaded("far", far, "made up: two sentences. This.")
    _, words = read(report.html(answer.result.best, answer, run, SOURCE, NOW))
    assert words.count("Not shown: 1 further out.") == 1
    assert "two sentences. This. " in words and ".." not in words.split("The trial run")[1].split("Table of looks")[0]


def test_a_given_design_is_drawn_beside_what_the_search_found(answer):
    given = Design(20_000, 800, 0.0123456789, 0.65)
    text = report.html(given, answer, RUN, SOURCE, NOW)
    assert '"name":"found by the search"' in text
    assert "found by the search" not in report.html(answer.result.best, answer, RUN, SOURCE, NOW)


def test_looks_and_the_judged_error_are_named_for_what_they_are():
    asked = answer_question(Question(0.05, "worst-case"), TRIAL, Job("x", lambda job: None))
    best = asked.result.best
    _, words = read(report.html(best, asked, RUN, SOURCE, NOW))
    assert f"looks per step, mean over the pairs {acceptance(best, TRIAL).looks.mean():.3g}" in " ".join(words.split())
    judged = re.search(r"criterion worst-case judges: error of the hardest decision\s+(\S+)", words)
    assert float(judged[1]) == pytest.approx(worst_case(best).error[0], rel=5e-3)


def test_skewness_is_checked_when_known(answer):
    skewed = TrialRun(20_000, TRIAL.mu, TRIAL.sigma, skew=np.linspace(-2, 1, 40))
    again = answer._replace(digest=skewed.digest)
    reader, words = read(report.html(answer.result.best, again, Loaded("skewed", skewed, "made up"), SOURCE, NOW))
    assert "with skewness -2" in words and reader.tags.count("figure") == 2 + 4
