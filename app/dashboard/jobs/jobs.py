"""Long work outside the page's run: progress, time left, cancel. One job of each kind per session.

A page run must stay short, so a search or a simulation runs in a thread of its own (its kernels release the lock that
Python threads share) and the page looks in on it twice a second through a fragment. Jobs wait in one line for a few
workers; a session may have a few in it, of which only some run at once, so that those of others find a worker; the line
itself is bounded, and a job whose browser has gone is cancelled.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any, NamedTuple

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from designer.core.errors import BadInput
from designer.core.progress import Cancelled

WORKERS = 4  # jobs running at once, over all sessions; others wait their turn
BEHIND = 10  # by which jobs stand behind pages: their niceness
WORKERS_OF_ONE = 2  # jobs of one session running at once
MOST_IN_SESSION = 4  # jobs of one session that wait or run
MOST_IN_ALL = 64  # jobs that wait or run
GRACE = 60.0  # seconds that a session may be away (a reload, a sleeping laptop) before its jobs are cancelled

_log = logging.getLogger(__name__)


class Progress(NamedTuple):
    """How far a job is; replaced as a whole, so that a reader never sees half of an update."""

    done: int = 0
    total: int = 0
    note: str = ""


class Job:
    """One piece of long work. `key` says what was asked, so that a page sees when its answer is stale."""

    def __init__(
        self, key: str, work: Callable[[Job], Any], alive: Callable[[], bool] = lambda: True, owner: str = ""
    ) -> None:
        self.key, self.owner = key, owner
        self.state = Progress()
        self.started: float | None = None
        self._work: Callable[[Job], Any] | None = work
        self._alive, self._seen, self._asked = alive, time.monotonic(), time.monotonic()
        self._cancel = threading.Event()
        self._future: Future[Any] = Future()

    # -- for the worker -----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Do the work, unless it was cancelled while it waited. Lets go of the work, and of all it holds."""
        work, self._work = self._work, None
        if work is None or not self._future.set_running_or_notify_cancel():
            return
        self.started = time.monotonic()
        try:
            if self.cancelled():
                raise Cancelled
            self._future.set_result(work(self))
        except BaseException as error:
            ending = "cannot schedule new futures" in str(error)  # the server stops: nobody waits for this
            if not (ending or isinstance(error, (Cancelled, BadInput, ArithmeticError))):
                _log.exception("a job failed")
            self._future.set_exception(error.with_traceback(None))  # a traceback would keep all its frames alive

    # -- for the work -------------------------------------------------------------------------------------------------

    def progress(self, done: int, total: int, note: str = "") -> None:
        """To be called by the work, from any thread."""
        self.state = Progress(done, total, note or self.state.note)

    def cancelled(self) -> bool:
        """To be asked by the work, as often as it likes."""
        now = time.monotonic()
        if not self._cancel.is_set() and now - self._asked > 1.0:  # whether anybody is there: once a second is enough
            self._asked = now
            if self._alive():
                self._seen = now
            elif now - self._seen > GRACE:
                self._cancel.set()
        return self._cancel.is_set()

    # -- for the page -------------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Ask the work to stop; it does at its next look."""
        self._cancel.set()
        if self._future.cancel():
            self._work = None

    def wait(self, seconds: float) -> bool:
        """Wait for the end, but no longer than this; whether it has come."""
        try:
            self._future.exception(timeout=seconds)
        except CancelledError:
            return True
        except NotYet:
            return False
        return True

    @property
    def running(self) -> bool:
        """Still waiting or at work."""
        return not self._future.done()

    @property
    def was_cancelled(self) -> bool:
        """Ended without an outcome because somebody asked it to."""
        if self.running:
            return False
        return self._future.cancelled() or isinstance(self._future.exception(), Cancelled)

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        done, total, _ = self.state
        return min(1.0, max(0.0, done / total)) if total > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None before there is one."""
        started, share = self.started, self.share
        if started is None or share == 0:
            return None
        return (time.monotonic() - started) * (1.0 - share) / share

    def outcome(self) -> Any:
        """What the work returned; None if it runs or was cancelled. Raises what the work raised."""
        if self.running or self.was_cancelled:
            return None
        error = self._future.exception(timeout=0)
        if error is not None:
            raise error.with_traceback(None)  # or it would grow with every run of the page, and keep their frames
        return self._future.result(timeout=0)


# --- the line ---------------------------------------------------------------------------------------------------------


class Line:
    """Jobs that wait, and a few daemon threads that do them: they never hold up the end of the server.

    Whose turn it is: the owner with the fewest jobs running, if fewer than `each`; of those, the one who came first.
    """

    def __init__(self, workers: int, most: int, each: int | None = None) -> None:
        self.workers, self.most, self.each = workers, most, each or workers
        self._waiting: list[Job] = []
        self._at_work: list[Job] = []
        self._change = threading.Condition()
        self._threads: list[threading.Thread] = []

    def put(self, job: Job) -> None:
        """Put a job at the end; BadInput if the line is too long."""
        with self._change:
            self._waiting = [other for other in self._waiting if other.running]
            if len(self._waiting) + len(self._at_work) >= self.most:
                raise BadInput("this server is busy with the work of others: try again in a minute")
            self._waiting.append(job)
            if len(self._threads) < self.workers:
                name = f"job-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._serve, name=name, daemon=True))
                self._threads[-1].start()
            self._change.notify_all()

    def end(self, seconds: float) -> None:
        """Cancel all jobs, and give those at work so long to clean up behind them: their processes, their folders."""
        with self._change:
            every = [*self._waiting, *self._at_work]
            for job in every:
                job.cancel()
            self._change.wait_for(lambda: not self._at_work, timeout=seconds)

    def _serve(self) -> None:
        _give_way()
        while True:
            with self._change:
                job = self._change.wait_for(self._next)
                assert job is not None
                self._waiting.remove(job)
                self._at_work.append(job)
            job.run()
            with self._change:
                self._at_work.remove(job)
                self._change.notify_all()
            del job  # or its outcome would live until the next one comes

    def _next(self) -> Job | None:
        """The job whose turn it is; None if nobody waits who may have another worker."""
        at_work = Counter(job.owner for job in self._at_work)
        allowed = [job for job in self._waiting if at_work[job.owner] < self.each]
        return min(allowed, key=lambda job: at_work[job.owner], default=None)  # the first of equals


def _give_way() -> None:
    """Pages come first: this thread, and those that it starts, get a processor when no page wants it.

    On Linux, where niceness is a thread's own. It is added to: a server that was started with more may not take less.
    """
    if sys.platform == "linux":
        os.nice(BEHIND)


_line = Line(WORKERS, MOST_IN_ALL, WORKERS_OF_ONE)


def end_all(seconds: float) -> None:
    """The server stops: nobody waits for its jobs any more."""
    _line.end(seconds)


# --- the jobs of a session --------------------------------------------------------------------------------------------


def start(kind: str, key: str, work: Callable[[Job], Any]) -> Job:
    """Start a job of this session; one of the same kind that still runs is cancelled.

    Raises BadInput when this session, or all of them together, have too many unfinished ones.
    """
    previous = current(kind)
    if previous is not None:
        previous.cancel()
    mine = [job for job in st.session_state.get("jobs-unfinished", []) if job.running]
    if len(mine) >= MOST_IN_SESSION:
        raise BadInput(f"{len(mine)} jobs of yours still run: cancel one, or wait for it")
    job = Job(key, work, _alive_check(), _session())
    _line.put(job)
    st.session_state["jobs-unfinished"] = [*mine, job]
    st.session_state[f"job-{kind}"] = job
    return job


def current(kind: str) -> Job | None:
    """This session's job of a kind, running or done."""
    job: Job | None = st.session_state.get(f"job-{kind}")
    return job


def watch(kind: str, label: str) -> Job | None:
    """Show a running job with progress, time left and a cancel button; returns the job once it has ended."""
    job = current(kind)
    if job is None or not job.running:
        return job
    _watch_running(kind, label)
    return None


@st.fragment(run_every=0.5)
def _watch_running(kind: str, label: str) -> None:
    job = current(kind)
    if job is None or not job.running:
        st.rerun()
        return
    left, share = job.seconds_left, job.share
    waiting = "waiting for a free worker" if job.started is None else job.state.note
    st.progress(share, f"{label}: {share:.0%}" + (f", about {left:.0f} s left" if left is not None else ""))
    if waiting:
        st.caption(waiting)
    st.button("Cancel", key=f"cancel-{kind}", icon=":material/cancel:", on_click=job.cancel)


def outcome_in_words(job: Job) -> Any:
    """The outcome of an ended job; bad input and failures are told, and give None."""
    try:
        return job.outcome()
    except (BadInput, ArithmeticError) as problem:
        st.error(str(problem), icon=":material/error:")
    except Exception as problem:
        st.error(f"This failed in a way nobody foresaw ({type(problem).__name__}); the log of the server has more.")
    return None


def automatic(kind: str, key: str, label: str, work: Callable[[Job], Any]) -> Any:
    """The outcome of a job that is started whenever its question is new; None while it runs or if there is none."""
    job = current(kind)
    if job is None or job.key != key:
        start(kind, key, work)
    ended = watch(kind, label)
    if ended is None:
        return None
    if ended.was_cancelled:
        again = st.button("Cancelled. Run it again", key=f"again-{kind}", icon=":material/refresh:")
        if again:
            start(kind, key, work)
            st.rerun()
        return None
    return outcome_in_words(ended)


def _session() -> str:
    """Which session this is; nothing outside of one."""
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def _alive_check() -> Callable[[], bool]:
    """Whether the browser of this session is still connected."""
    context = get_script_run_ctx()
    if context is None or not Runtime.exists():
        return lambda: True
    runtime, session = Runtime.instance(), context.session_id
    return lambda: runtime.is_active_session(session)
