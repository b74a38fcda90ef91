"""A session as a file: what it holds, and what is refused; and old names in addresses."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest

from app.dashboard.jobs.job_queue import Job
from app.dashboard.state import addresses, belongings, current, loaded, session_file, visitor
from app.dashboard.state.belongings import Belongings
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.question import Question, answer_question
from app.dashboard.state.source import UPLOAD, Source
from app.dashboard.state.table import Table
from designer import BadInput, Design, TrialRun

TRIAL = TrialRun.at_stationarity(5_000, 0.4, 20, np.random.default_rng(1))


@pytest.fixture
def session(monkeypatch):
    """A session outside of a page: its state is a dictionary."""
    state, mine = {}, Belongings("", "")
    for module in (addresses, belongings, current, loaded, session_file):
        monkeypatch.setattr(module.st, "session_state", state)
    monkeypatch.setattr(session_file.st, "query_params", {})
    state["belongings"] = mine
    return mine


def saved(mine):
    source = Source(UPLOAD, digest=TRIAL.digest)
    return session_file.session_text(mine, "design", source, Loaded("mine.npz", TRIAL, "uploaded", "a = 1"))


def test_a_session_comes_back_as_it_was(session):
    session.addresses = {"explore": {"m": ["700"]}, "design": {"tol": ["0.02"], "pin": ["a", "b"]}}
    text = saved(session)
    session.addresses = {}
    assert session_file.load_session(text.encode()) == "/design?tol=0.02&pin=a&pin=b"
    assert session.addresses == {"explore": {"m": ["700"]}, "design": {"tol": ["0.02"], "pin": ["a", "b"]}}
    assert session.runs[TRIAL.digest] == Loaded("mine.npz", TRIAL, "uploaded", "a = 1")


def test_other_trial_runs_and_the_table_of_a_fit_come_back_too(session):
    others = [TrialRun.at_stationarity(3_000, 0.4, 20, np.random.default_rng(seed)) for seed in (2, 3)]
    session.runs = {trial.digest: Loaded(f"{k}.csv", trial, "uploaded") for k, trial in enumerate([*others, TRIAL])}
    session.table = table = Table("mine.csv", b"y,x\n1,2\n3,4\n", ("y", "x"))
    text = saved(session)
    session.runs, session.table = {}, None
    session_file.st.session_state.pop("remembered-runs", None)
    session_file.load_session(text.encode())
    assert list(session.runs) == [*(trial.digest for trial in others), TRIAL.digest]
    assert session.table == table


def test_the_design_in_use_comes_back_with_what_it_promises(session):
    answer = answer_question(Question(0.05), TRIAL, Job("a", lambda job: None))
    current.take_answer(answer)
    text = saved(session)
    session.answers = {}
    assert current.current_design(TRIAL) is None
    session_file.load_session(text.encode())
    assert current.current_design(TRIAL) == answer.result.best and answer.result.best.predicted is not None
    other = TrialRun.at_stationarity(5_000, 0.4, 20, np.random.default_rng(2))
    assert current.current_design(other) is None, "it was found for other pairs"
    assert json.loads(saved(session))["designs"] == json.loads(text)["designs"], "it is saved again"


def test_what_does_not_fit_into_the_file_is_left_out(session, monkeypatch):
    other = TrialRun.at_stationarity(3_000, 0.4, 2000, np.random.default_rng(2))
    session.runs = {other.digest: Loaded("other.csv", other, "uploaded")}
    session.table = Table("mine.csv", b"y,x\n1,2\n3,4\n", ("y", "x"))
    monkeypatch.setattr(session_file, "MOST_MEGABYTES", 0.01)
    content = json.loads(saved(session))
    assert content["more"] == [] and "table" in content and "trial" in content


def packed(content):
    return base64.b64encode(zlib.compress(content)).decode()


def broken(**changes):
    return json.dumps({"austerity_session": 1, "page": "design", "pages": {}} | changes).encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff", "not a JSON file"),
        (b"[" * 10_000, "not a JSON file"),
        (b"{}", "not a session that was saved here"),
        (broken(austerity_session=2), "its format is 2"),
        (broken(pages=None), "addresses of its pages are missing"),
        (broken(page="//elsewhere.example"), "name that no page has"),
        (broken(pages={"design": 1}), "not a text"),
        (broken(pages={"design": "a=1&" * 300}), "more than 200 parameters"),
        (broken(pages={"design": "a" * 30_000}), "too long"),
        (broken(trial={"key": "a"}), "incomplete"),
        (broken(designs=[]), "must be a table"),
        (broken(designs={"a": 1}), "not a text"),
        (broken(designs={"a": "m = 1"}), "design"),
        (broken(more={}), "must be a list"),
        (broken(more=[{}]), "trial run is incomplete"),
        (broken(table={"name": "a.csv"}), "table is incomplete"),
        (broken(table={"name": "a.csv", "zlib": "?"}), "table is damaged"),
        (broken(table={"name": "a.csv", "zlib": packed(b"x" * 2**25)}), "larger than 20 MB"),
        (broken(table={"name": "a.csv", "zlib": packed(b"")}), "a.csv"),
        (broken(trial=dict.fromkeys(("key", "name", "origin"), "a") | {"npz": "?"}), "damaged"),
    ],
)
def test_what_is_not_a_session_is_refused_and_changes_nothing(session, text, message):
    session.addresses = {"explore": {"m": ["700"]}}
    with pytest.raises(BadInput, match=message):
        session_file.load_session(text)
    assert session.addresses == {"explore": {"m": ["700"]}} and not session.runs and session.table is None


def test_a_trial_run_must_be_the_one_that_the_file_names(session):
    content = json.loads(saved(session))
    content["trial"]["key"] = "ab" * 32
    with pytest.raises(BadInput, match="not the one that it names"):
        session_file.load_session(json.dumps(content).encode())


def test_old_names_mean_what_they_meant_and_new_ones_come_first():
    assert addresses.renamed({"pm": ["300"], "x": ["1"]}) == {"x": ["1"], "m": ["300"]}
    assert addresses.renamed({"ctol": ["0.05"], "tol": ["0.02"]}) == {"tol": ["0.02"]}


def test_belongings_go_to_the_same_visitor_only_and_expire(monkeypatch):
    here = {"one": True, "two": True}
    monkeypatch.setattr(belongings, "_all", [])
    monkeypatch.setattr(belongings, "is_here", lambda session: here.get(session, False))
    first = belongings._take("visitor", "one")
    first.runs["a"] = Loaded("a", TRIAL, "")
    assert belongings._take("visitor", "two") is not first, "the first window is open"
    here["one"] = False
    assert belongings._take("stranger", "three").runs == {}
    assert belongings._take("", "four").runs == {}, "without a cookie nothing is shared"
    assert belongings._take("visitor", "five") is first and first.session == "five"
    first.seen -= belongings.KEPT_SECONDS + 1
    belongings.tidy()
    assert first not in belongings._all


def test_too_much_is_dropped_from_the_oldest_on(monkeypatch):
    monkeypatch.setattr(belongings, "_all", [])
    monkeypatch.setattr(belongings, "is_here", lambda session: session == "open")
    kept = [belongings._take(f"v{number}", "open" if number == 0 else str(number)) for number in range(4)]
    for age, one in zip((40, 30, 20, 10), kept, strict=True):
        one.runs["a"] = Loaded("a", TRIAL, "")
        one.seen -= age
    monkeypatch.setattr(belongings, "MOST_BYTES", 2 * kept[0].size)
    belongings.tidy()
    assert belongings._all == [kept[0], kept[3]]


def test_a_visitor_is_who_has_our_cookie():
    cookie = visitor.new_cookie().partition(";")[0]
    assert len(visitor.visitor_of(f"a=b; {cookie}")) == 32
    assert visitor.visitor_of("austerity_visitor=../etc") == "" == visitor.visitor_of("")
    assert "HttpOnly" in visitor.new_cookie() and "SameSite=Strict" in visitor.new_cookie()


def test_a_file_never_has_more_designs_than_can_be_loaded(session):
    design = Design(5_000, 100, 0.05)
    session.designs = {f"old {k}": design for k in range(session_file.MOST_RUNS)}
    text = saved(session)
    session.designs = {f"new {k}": design for k in range(3)}
    session_file.load_session(text.encode())
    assert len(session.designs) == session_file.MOST_RUNS and "old 9" in session.designs
    session_file.load_session(saved(session).encode())


def test_an_address_that_is_too_long_is_left_out(session):
    session.addresses = {"fit": {"columns": ["a" * session_file.MOST_TEXT]}, "design": {"tol": ["0.02"]}}
    assert session_file.load_session(saved(session).encode()) == "/design?tol=0.02"
    assert "fit" not in session.addresses


@pytest.mark.parametrize("local", [True, False])
def test_a_visitor_from_elsewhere_names_no_files_of_the_server(session, monkeypatch, local):
    monkeypatch.setattr(session_file.runs.place, "local", local)
    config = '[data]\npath = "/etc/passwd"\n[test]\nkind = "exact"\n'
    run, source = Loaded("mine.npz", TRIAL, "uploaded", config), Source(UPLOAD, digest=TRIAL.digest)
    session_file.load_session(session_file.session_text(session, "compare", source, run).encode())
    assert session.runs[TRIAL.digest].config == (config if local else None)


def test_rows_that_were_set_by_hand_outlast_a_reload_of_another_page(session):
    state = session_file.st.session_state
    session.addresses = {"explore": {"n": ["5000"]}, "method": {}}
    current.follow_rows(100_000)
    assert "n" not in state, "the page Explore takes it from its address"
    current.follow_rows(20_000)
    assert state["n"] == 20_000, "another trial run"
