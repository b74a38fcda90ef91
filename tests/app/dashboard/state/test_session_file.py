"""A session as a file: what it holds, and what is refused; and old names in addresses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from app.dashboard.state import addresses, belongings, loaded, session_file, visitor
from app.dashboard.state.belongings import Belongings
from app.dashboard.state.loaded import Loaded
from app.dashboard.state.source import UPLOAD, Source
from designer import BadInput, TrialRun

TRIAL = TrialRun.at_stationarity(5_000, 0.4, 20, np.random.default_rng(1))


@pytest.fixture
def session(monkeypatch):
    """A session outside of a page: its state is a dictionary."""
    state, mine = {}, Belongings("", "")
    for module in (addresses, belongings, loaded, session_file):
        monkeypatch.setattr(module.st, "session_state", state)
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
        (broken(pages={"design": "a=1&" * 200}), "more than 100 parameters"),
        (broken(pages={"design": "a" * 20_000}), "too long"),
        (broken(trial={"key": "a"}), "incomplete"),
        (broken(trial=dict.fromkeys(("key", "name", "origin"), "a") | {"npz": "?"}), "damaged"),
    ],
)
def test_what_is_not_a_session_is_refused_and_changes_nothing(session, text, message):
    session.addresses = {"explore": {"m": ["700"]}}
    with pytest.raises(BadInput, match=message):
        session_file.load_session(text)
    assert session.addresses == {"explore": {"m": ["700"]}} and not session.runs


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
