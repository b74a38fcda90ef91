"""The Start page: the sentence, the verdict, what it claims and what it does not, and what other pages take from it."""

from __future__ import annotations

import io
import re
import threading

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.dashboard.pages import start
from app.dashboard.pages.start_words import badge, decimal, headline, times, upper
from app.dashboard.state.current import DERIVED
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.source import UPLOAD, Source
from designer import Design, TrialRun
from designer.further.outlook import MARGIN, at_most, outlook, tolerance_for_growth
from designer.further.posterior.error import posterior_error
from designer.pairs.examples import example
from samplers.config.assemble import build
from samplers.config.built_in import built_in_text
from samplers.config.config import SamplerConfig
from samplers.runs.laplace import controlled as laplace_model
from samplers.study.laplace import laplace_verdict
from tests.app.dashboard.driving import alternative_texts, everything, page, settled
from tests.serving import PATIENCE


def html(found):
    return " ".join(element.proto.body for element in found.get("html"))


def found_for(page, name):
    """The answer that all pages take for the pairs of an example."""
    return page.session_state["belongings"].answers[example(name).digest]


@pytest.fixture(scope="module")
def controlled():
    return page("start", source="control")


def test_the_answer_is_one_sentence_without_symbols(controlled):
    text = html(controlled)
    wanted = "Reads 500 of 100,000 rows per step: 0.5% of the data, about 100× fewer evaluations than an exact chain"
    assert f"{wanted}; posterior standard deviations grow by less than 1%." in text
    assert ">worth it<" in text
    assert not set("αεΔθμσκ") & set(text) and "ε" in everything(controlled)  # the design in symbols is folded
    assert [b.proto.label for b in controlled.get("download_button")] == ["Get config", "Report"]
    assert "off by less than 0.018 posterior standard deviations" in everything(controlled)


def test_what_it_found_is_the_design_of_all_pages(controlled):
    answer = found_for(controlled, "control")
    assert answer.digest == example("control").digest and answer.result.best.m == 500
    assert controlled.session_state["tol"] == answer.question.tolerance == 0.01


def test_the_pictures_say_what_they_show(controlled):
    assert any("exact (grey area)" in words for words in alternative_texts(controlled))
    drawn = [element.proto.json for element in controlled.get("bidi_component") if "svg" in element.proto.json]
    assert drawn[0].count('class=\\"run\\"') == start.RUNS
    ends = re.findall(r"translate\(([\d.]+) ([\d.]+)\)", drawn[0])
    assert len(ends) == start.RUNS == len(set(ends))  # not one line above another at the edge of the frame


def test_the_plain_walk_is_not_worth_it_and_wider_posteriors_need_no_chain():
    found = page("start", source="logistic", grow="1%")
    assert ">not worth it<" in html(found) and "times the evaluations of an exact chain" in html(found)
    found.segmented_control[0].set_value("5%").run()
    while any(b.key == "cancel-start" for b in found.button):
        found.session_state["job-start"].wait(60)
        found.run()
    assert ">no need to sample<" in html(found)
    assert found.session_state["tol"] < 0.01


def test_with_nothing_yet_only_an_example_is_shown_and_nothing_is_claimed_or_used():
    found = page("start", have="nothing yet", rows="50000")
    text = everything(found)
    assert "An example, not your posterior" in html(found)
    assert "at least 1% of 50,000 rows: at most 50× fewer" in text and "Whatever your posterior" in text
    assert "belongings" not in found.session_state, "nor an answer in them"
    assert "tol" not in found.session_state
    found.number_input[0].set_value(600).run()
    assert "With 600 rows no test can save much" in everything(found)


def test_own_pairs_are_asked_for_and_no_others_take_their_place():
    found = page("start", have="a trial run")
    assert "Upload your trial run" in everything(found) and 'headline">' not in html(found)
    assert not found.text_input  # no rows of other pairs
    right, sink = TrialRun.at_stationarity(20_000, 0.3, 50, np.random.default_rng(3)), io.BytesIO()
    right.to_npz(sink)
    (uploader,) = found.file_uploader
    uploader.upload("mine.npz", sink.getvalue(), "application/octet-stream")
    settled(found.run())
    assert 'headline">' in html(found) and not found.file_uploader
    assert found.text_input[0].value == "20,000"


def test_a_tolerance_that_was_set_elsewhere_is_not_overwritten(controlled):
    found = page("start", source="control", tol="0.02")
    assert "0.02, was set on another page" in everything(found)
    assert found_for(found, "control").question.tolerance == 0.02


def test_a_tolerance_in_a_link_counts_whatever_this_page_has_derived_before():
    """Also after a reload, which keeps what was derived from other questions."""
    found = AppTest.from_string("from app.dashboard.pages import start; start.show()", default_timeout=PATIENCE)
    found.query_params["source"], found.query_params["tol"] = "control", "0.02"
    found.session_state[DERIVED] = (("another trial run", 0.01), 0.005)
    settled(found.run())
    assert "0.02, was set on another page" in everything(found)
    assert found_for(found, "control").question.tolerance == 0.02
    found.session_state[DERIVED] = (("", 0.0), 0.0)  # as when a question of the page is answered anew
    del found.query_params["tol"]
    settled(found.run())
    assert found.session_state["tol"] == 0.01 and "another page" not in everything(found)


def test_an_upload_on_another_page_answers_what_the_user_has():
    trial = TrialRun.at_stationarity(20_000, 0.3, 50, np.random.default_rng(3))
    found = page("start", source="control", have="an example")
    found.session_state["remembered-runs"] = {trial.digest: Loaded("mine.csv", trial, "uploaded")}
    found.session_state["source"] = mine = Source(UPLOAD, digest=trial.digest)
    settled(found.run())
    assert found.session_state["source"] == mine and found.session_state["have"] == start.TRIAL
    assert found.text_input[0].value == "20,000"
    found.session_state["source"] = Source("ica")
    settled(found.run())
    assert found.session_state["have"] == start.EXAMPLE and found.session_state["source"] == Source("ica")


def test_numbers_are_said_with_few_digits_and_limits_are_not_too_small():
    assert [upper(share) for share in (1e-6, 0.001, 0.0042, 0.01, 0.0101, 0.05)] == [
        "0.1%",
        "0.1%",
        "0.42%",
        "1%",
        "1.1%",
        "5%",
    ]
    assert [decimal(value) for value in (2.2e-6, 3e-6, 0.04, 0.96)] == ["0.000003", "0.000003", "0.04", "1.0"]
    assert [times(gain) for gain in (1.234, 99.96, 12_345.0)] == ["1.2×", "100×", "12,300×"]


def test_the_verdict_is_about_the_cost_the_error_and_the_alternative():
    trial = example("logistic")
    dear = outlook(Design(trial.n_data, 500, 0.01), trial)
    assert dear.gain == pytest.approx(trial.n_data / (2 * dear.rows.value), rel=1e-6)
    assert badge(dear, 0.01, None)[:2] == ("bad", "not worth it")
    assert badge(dear, 0.05, 0.018)[:2] == ("open", "no need to sample")
    assert "times the evaluations" in headline(dear, trial.n_data, 0.01)
    grown = posterior_error(Design(trial.n_data, 500, 0.01), trial).sd_ratio - 1.0
    assert dear.growth == pytest.approx(MARGIN * grown, rel=1e-3)


def test_the_effect_on_the_posterior_is_refused_where_it_is_not_known():
    pairs = TrialRun(10_000, np.full(50, -1e-4), np.full(50, 1e-6), notes={"proposal": "proxy"})
    found = outlook(Design(10_000, 500, 0.5), pairs)
    assert found.growth is None and "random walks" in found.unknown and found.worth
    assert "deviations" not in headline(found, 10_000, 0.01)
    assert tolerance_for_growth(pairs, 0.01).value == 0.01
    assert at_most(800) == pytest.approx(0.8)


def test_a_tolerance_for_a_growth_gives_a_design_that_keeps_it():
    trial = TrialRun.at_stationarity(50_000, 0.3, 100, np.random.default_rng(3))
    for growth in (0.01, 0.1):
        answer = start._work(trial, growth, None, start.Job("a", lambda job: None))
        assert answer.outlook is not None and 0.2 * growth < answer.outlook.growth <= growth


def test_every_example_has_an_answer_before_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(start, "_answers", {})
    start.warm()
    (thread,) = [one for one in threading.enumerate() if one.name == "cards"]
    thread.join(PATIENCE)
    for name in start.CARDS:
        assert repr((example(name).digest, 0.01, None)) in start._answers


def test_what_it_says_of_the_laplace_approximation():
    model = laplace_model(build(SamplerConfig.from_toml(built_in_text("control"), exact=True)))
    judged = laplace_verdict(model, np.random.default_rng(0), wish=0.01)
    assert judged.largest < judged.upper <= start.LAPLACE["control"] == start.LAPLACE["logistic"] < 1.1 * judged.upper
