"""Page Compare tests: what it shows is what the library says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from app.dashboard.jobs import remembered
from app.dashboard.jobs.job_queue import Job
from app.dashboard.pages import compare, compare_model
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.source import UPLOAD, Source
from designer import Design, TrialRun
from designer.core.progress import Cancelled
from designer.pairs.examples import example
from samplers.config.built_in import built_in
from samplers.decide.barker import BarkerTest
from samplers.decide.concentration import ConcentrationTest
from samplers.study.best_tests import best_candidates
from samplers.study.compare_tests import Candidates, cheapest, predict, with_control_variates
from tests.app.dashboard.driving import (
    button,
    everything,
    open_page,
    settled,
)


@pytest.fixture(autouse=True)
def model_unasked(request, monkeypatch):
    """The model of the pairs is asked only by the test that is about it: that takes seconds."""
    if "model" not in request.node.name:
        monkeypatch.setattr(compare_model, "of_model", lambda run: None)


def test_compare_shows_what_advice_says():
    page = open_page("compare", cbest="false")
    assert not page.exception
    trial = example("logistic")
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
    page.number_input(key="tol").set_value(1.0).run()
    assert any("sequential** needs the fewest" in block.value for block in page.markdown)


def test_compare_follows_its_knobs():
    page = open_page("compare", cbest="false")
    before = page.dataframe[0].value["data per step"].tolist()
    page.number_input(key="eps").set_value(0.2).run()
    after = page.dataframe[0].value["data per step"].tolist()
    assert after[0] == before[0] and after[2] != before[2]


def test_a_batch_of_more_than_all_the_data_reads_them_all():
    page = open_page("compare", cbest="false")
    page.number_input(key="m").set_value(10**8).run()
    assert not page.error
    for number in (0, 1):
        assert set(page.dataframe[number].value["data per step"]) == {"100,000"}
    sequential = page.dataframe[0].value.set_index("test").loc["sequential"]
    assert float(sequential["mean |Δ|"]) == 0.0


def test_compare_says_what_its_recommendation_leaves_out():
    page = open_page("compare", cbest="false")
    barker = next(block.value for block in page.markdown if "Barker minibatch** needs" in block.value)
    assert "that of the correction table alone: the sample mean is treated as normal" in barker


def test_compare_can_be_reset_and_linked():
    page = open_page("compare", source="stationary", trial_n="20000", cbest="false")
    page.number_input(key="eps").set_value(0.2).run()
    assert "eps=0.2" in page.code[0].value and "trial_n=20000" in page.code[0].value
    button(page, "Reset to defaults").click().run()
    assert page.toggle(key="cbest").value and "cbest=true" in page.code[0].value
    page.toggle(key="cbest").set_value(False).run()
    assert page.number_input(key="eps").value == 0.05
    assert "eps=0.05" in page.code[0].value


def test_compare_s_file_has_every_prediction():
    trial = example("logistic")
    tests = Candidates(Design(trial.n_data, 500, 0.05))
    rows = predict(trial, tests)
    columns = compare._columns({"a": rows, "b": rows}, {"a": tests, "b": tests})
    assert columns["pairs"] == ["a"] * len(rows) + ["b"] * len(rows)
    assert columns["per_move"] == [row.per_move for row in rows] * 2
    assert columns["knobs"][2] == "m = 500, ε = 0.05, α = 0.5"


def test_compare_gives_each_test_its_best_knobs():
    small = {"source": "stationary", "trial_n": "5000", "acceptance": "0.5", "pairs": "20", "seed": "1"}
    page = settled(open_page("compare", **small, tol="0.05", cfactor="20", crange="5"))
    trial = TrialRun.at_stationarity(5000, 0.5, 20, np.random.default_rng(1))
    for number, pairs in enumerate((trial, with_control_variates(trial, 20.0))):
        tests = best_candidates(pairs, 0.05, 5.0)
        table = page.dataframe[number].value
        assert table["data per step"].tolist() == [f"{row.data:,.0f}" for row in predict(pairs, tests)]
        assert table["knobs"][2].startswith(f"m = {tests.sequential.m:,}, ε = {tests.sequential.epsilon:.6g}")
        assert table["knobs"][3] == f"m = {tests.barker.m:,}, σ₀ = {tests.barker.sigma:g}"
    assert "cbest=true" in page.code[0].value and "eps" not in page.code[0].value
    assert {each.key for each in page.number_input} == {"tol", "cfactor", "crange"}
    page.toggle(key="cbest").set_value(False).run()
    assert page.dataframe[0].value["knobs"][2] == "m = 500, ε = 0.05, α = 0.5"


CONFIG = """
[model]
kind = "logistic"
prior_precision = 1.0
[proposal]
kind = "proxy"
[data]
path = "{}"
[run]
draws = 10
"""


def test_where_the_model_is_known_it_is_asked_too(tmp_path):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(2000, 2))
    np.savez(tmp_path / "data.npz", x=x, y=(rng.random(2000) < 1.0 / (1.0 + np.exp(-x[:, 0]))).astype(float))
    trial = TrialRun.at_stationarity(2000, 0.9, 20, np.random.default_rng(1))
    page = open_page("compare", cbest="false")
    run = Loaded("mine", trial, "made", CONFIG.format(tmp_path / "data.npz"))
    page.session_state["remembered-runs"] = {trial.digest: run}
    page.session_state["source"] = Source(UPLOAD, digest=trial.digest)
    said = everything(settled(page.run()))
    assert "Do you need to sample at all?" in said and "they need the model" not in said
    assert "exact minibatch" in page.dataframe[0].value["test"].tolist()
    assert page.table[0].value["without a chain"].tolist()[0] == "Laplace"


def test_without_the_model_the_page_says_what_is_missing():
    link = {"source": "stationary", "trial_n": "5000", "pairs": "20", "cbest": "false"}
    assert "they need the model, not only its pairs" in everything(open_page("compare", **link))


def test_a_model_of_another_kind_is_not_even_built():
    found = compare_model._work(built_in("e4").to_toml(), Job("x", lambda job: None))
    assert not found.notes and not found.verdict and "not for a model of this kind (ica)" in found.why


def test_the_model_is_asked_once_for_all_sessions_and_by_its_config(monkeypatch):
    said = compare_model.OfModel({}, False, "need not sample", {}, "")
    asked = []
    monkeypatch.setattr(remembered, "_answers", {})
    monkeypatch.setattr(compare_model, "_work", lambda text, job: asked.append(text) or said)
    for _ in range(2):
        page = settled(open_page("compare", source="control", cbest="false"))
        assert "Need not sample" in everything(page)
    assert len(asked) == 1


@pytest.mark.parametrize("number", range(4))
def test_asking_the_model_stops_before_the_next_part(monkeypatch, number):
    """A cancelled job does no further part; one that others wait for makes room there, too."""
    job, done = Job("x", lambda job: None), []
    for name in ("build", "controlled", "minibatch_notes", "laplace_verdict"):
        part = SimpleNamespace(proposal=None, rule="metropolis")
        monkeypatch.setattr(compare_model, name, lambda *given, name=name, part=part: done.append(name) or part)
    monkeypatch.setattr(job, "cancelled", lambda: len(done) == number)
    with pytest.raises(Cancelled):
        compare_model._work(built_in("control").to_toml(), job)
    assert len(done) == number


@pytest.mark.parametrize(("source", "parts"), [("logistic", 2), ("control", 1)])
def test_control_variates_do_not_count_twice(source, parts):
    page = open_page("compare", source=source, cbest="false")
    knobs = {entry.key for entry in page.number_input}
    assert len(page.dataframe) == parts
    assert (compare.FACTOR.key in knobs) == (parts == 2)
    assert ("with control variates" in everything(page).lower()) == (parts == 2)
