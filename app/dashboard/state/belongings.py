"""What a session has on the server, kept for when its page is loaded again: trial runs, answers, jobs, addresses.

A browser that loads a page again gets a new session, which takes over what an earlier one of the same visitor left
behind. Nothing goes to another visitor. What nobody takes is dropped after some hours, and the oldest is dropped first
when there is too much of it.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.dashboard.state.visitor import is_here, session_id, visitor
from designer.pairs.trial_run import TrialRun

if TYPE_CHECKING:
    from app.dashboard.jobs.job_queue import Job
    from app.dashboard.state.loaded import Loaded
    from app.dashboard.state.question import SearchAnswer
    from app.dashboard.state.table import Table
    from designer.rule.design import Design

KEPT_SECONDS = 4 * 3600.0  # after the browser was last seen
MOST_SESSIONS = 200  # whose belongings are kept
MOST_BYTES = 2**28  # of all trial runs and tables kept
MOST_ANSWERS = 5  # of searches, of one session

_all: list[Belongings] = []
_turn = Lock()


class Belongings:
    """What one session has: trial runs and jobs by name, answers by digest, and the latest address of each page."""

    def __init__(self, owner: str, session: str) -> None:
        self.owner, self.session = owner, session
        self.runs: dict[str, Loaded] = {}
        self.jobs: dict[str, Job] = {}
        self.addresses: dict[str, dict[str, list[str]]] = {}  # of each page: the parameters of its latest URL
        self.answers: dict[str, SearchAnswer] = {}  # the latest for each trial run
        self.designs: dict[str, Design] = {}  # by digest: what the searches of a session that was loaded had found
        self.table: Table | None = None  # of the Fit page
        self.more: dict[str, Any] = {}  # what single pages keep, by its key in the session
        self.seen = time.monotonic()

    @property
    def size(self) -> int:
        """Bytes of its trial runs and its table."""
        table = 0 if self.table is None else len(self.table.content)
        return table + sum(_size(run.trial) for run in self.runs.values())


def mine() -> Belongings:
    """The belongings of this session; a new session takes over those that its visitor left behind last."""
    found: Belongings | None = st.session_state.get("belongings")
    if found is None:
        found = st.session_state["belongings"] = _take(visitor(), session_id())
    found.seen = time.monotonic()
    return found


def keep(name: str, value: Any) -> None:
    """Keep a value for this session, and for the one that follows it when the page is loaded again."""
    st.session_state[name] = mine().more[name] = value


def kept(name: str) -> Any:
    """A value that this session has kept, or the one before it; None if there is none."""
    if name not in st.session_state and name in mine().more:
        st.session_state[name] = mine().more[name]
    return st.session_state.get(name)


def run_of_visitor(key: str) -> Loaded | None:
    """A trial run that another session of this visitor has, in a second window for instance."""
    owner = visitor()
    with _turn:
        runs = [one.runs[key] for one in reversed(_all) if owner and one.owner == owner and key in one.runs]
    return runs[0] if runs else None


def tidy() -> None:
    """Drop what is too old, and the oldest if there is too much; never what a connected browser has."""
    now = time.monotonic()
    for one in _all:
        if is_here(one.session):
            one.seen = now
    left = sorted((one for one in _all if one.seen < now), key=lambda one: one.seen)
    size = sum(one.size for one in _all)
    for one in left:
        if now - one.seen > KEPT_SECONDS or len(_all) > MOST_SESSIONS or size > MOST_BYTES:
            _all.remove(one)
            size -= one.size


def _size(trial: TrialRun) -> int:
    more = trial.residuals
    kept = 0 if more is None else more.values.nbytes + more.weights.nbytes
    return kept + sum(column.nbytes for column in trial.columns.values())


def _take(owner: str, session: str) -> Belongings:
    """The latest belongings without a browser, or new ones."""
    with _turn:
        tidy()
        left = [one for one in _all if owner and one.owner == owner and not is_here(one.session)]
        found = max(left, key=lambda one: one.seen, default=None)
        if found is None:
            found = Belongings(owner, session)
            if owner:
                _all.append(found)
        found.session = session
        for job in found.jobs.values():
            job.move_to(session, lambda: is_here(session))
        return found
