"""The jobs of a session: long work outside the page's run, with progress, time left and a cancel button.

A page run must stay short, so a search or a simulation runs in a thread of its own, and a fragment of the page looks at
it twice a second. A session has one job of each kind; it keeps them when its page is loaded again. It may have a few in
the queue, of which only some run at once. The queue itself is bounded, and a job whose browser has gone is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from app.dashboard.jobs.addresses import client_of
from app.dashboard.jobs.job_queue import Job, JobQueue
from app.dashboard.state import belongings
from app.dashboard.state.visitor import is_here, session_id
from designer.core.errors import BadInput

WORKERS = 4  # jobs running at once, over all sessions; others wait their turn
WORKERS_PER_SESSION = 2  # jobs of one session running at once
MOST_IN_SESSION = 4  # jobs of one session that wait or run
MOST_OF_ADDRESS = 24  # jobs of all sessions of one address that wait or run
MOST_IN_ALL = 64  # jobs that wait or run
PROCESSES = 2  # that jobs have started, over all sessions: they cannot make room for others

_queue = JobQueue(WORKERS, MOST_IN_ALL, WORKERS_PER_SESSION, MOST_OF_ADDRESS)
_process_queue = JobQueue(PROCESSES, MOST_IN_ALL, 1, MOST_OF_ADDRESS)
program_queue = JobQueue(2, 16, 1, 4)  # requests of programs (`app.cli.http`)
_ALL = (_queue, _process_queue, program_queue)


def end_all(seconds: float) -> None:
    """Cancel all jobs: the server is stopping."""
    for queue in _ALL:
        queue.end(seconds)


def counts() -> dict[str, int]:
    """How many jobs wait, and how many are at work."""
    each = [queue.counts() for queue in _ALL]
    return {"waiting": sum(waiting for waiting, _ in each), "running": sum(running for _, running in each)}


def start(kind: str, key: str, work: Callable[[Job], Any], *, process: bool = False) -> Job:
    """Start a job of this session, and cancel the one of the same kind if it is still running.

    `process`: the work waits for a process of its own. Raises BadInput if this session, or all sessions together, have
    too many unfinished jobs.
    """
    previous = current(kind)
    if previous is not None:
        previous.cancel()
    mine = [job for job in st.session_state.get("jobs-unfinished", []) if job.running]
    if len(mine) >= MOST_IN_SESSION:
        raise BadInput(f"{len(mine)} of your jobs are still running; cancel one, or wait until it ends")
    session = session_id()
    job = Job(key, work, partial(is_here, session), session)
    job.client = client_of(st.context.ip_address or "")
    (_process_queue if process else _queue).put(job)
    st.session_state["jobs-unfinished"] = [*mine, job]
    st.session_state[f"job-{kind}"] = belongings.mine().jobs[kind] = job
    return job


def current(kind: str) -> Job | None:
    """This session's job of a kind, running or done."""
    job: Job | None = st.session_state.get(f"job-{kind}")
    if job is None and (job := belongings.mine().jobs.get(kind)) is not None:  # the page was loaded again
        st.session_state[f"job-{kind}"] = job
        st.session_state["jobs-unfinished"] = [*st.session_state.get("jobs-unfinished", []), job]
    return job


def elsewhere(page: str) -> dict[str, Job]:
    """The jobs of this session, by kind, that other pages show: running, or ended and not seen yet."""
    found = {kind: current(kind) for kind in belongings.mine().jobs}
    return {
        kind: job
        for kind, job in found.items()
        if job is not None and job.label and job.page != page and (job.running or not (job.seen or job.was_cancelled))
    }


def begin_page(page: str) -> bool:
    """A run of a page begins; whether the session was at another page before."""
    before = st.session_state.get("jobs-page")
    st.session_state["jobs-page"] = page
    return bool(before != page)


def watch(kind: str, label: str) -> Job | None:
    """Show a running job with progress, time left and a cancel button; return the job once it has ended."""
    job = current(kind)
    if job is None:
        return None
    show_on_page(job, label)
    if not job.running:
        return job
    _watch_running(kind, label)
    return None


def show_on_page(job: Job, label: str) -> None:
    """This page shows a job, which other pages then lead to."""
    job.label, job.page = label, st.session_state.get("jobs-page", "")
    job.seen = job.seen or not job.running


@st.fragment(run_every=0.5)
def _watch_running(kind: str, label: str) -> None:
    job = current(kind)
    if job is None or not job.running:
        st.rerun()
        return
    st.progress(job.share, in_words(job))
    if waiting := note(job):
        st.caption(waiting)
    st.button("Cancel", key=f"cancel-{kind}", icon=":material/cancel:", on_click=job.cancel)


def in_words(job: Job) -> str:
    """What a running job does, and how far it has got."""
    left = job.seconds_left
    return f"{job.label}: {job.share:.0%}" + (f", about {left:.0f} s left" if left is not None and left >= 0.5 else "")


def note(job: Job) -> str:
    """What a running job is at; empty if it does not say."""
    if job.started is None:
        return "waiting for a free worker"
    return "others have their turn" if job.paused is not None else job.state.note


def outcome_in_words(job: Job) -> Any:
    """The outcome of an ended job; None if it failed, and the page then says why."""
    try:
        return job.outcome()
    except (BadInput, ArithmeticError) as problem:
        st.error(str(problem), icon=":material/error:")
    except Exception as problem:
        st.error(f"This failed unexpectedly ({type(problem).__name__}); see the terminal that runs `austerity app`.")
    return None


def automatic(kind: str, key: str, label: str, work: Callable[[Job], Any], patience: float = 0.0) -> Any:
    """The outcome of a job that starts whenever its key is new; None while it runs, or if it has none.

    The page waits for `patience` seconds before it shows the progress of the job.
    """
    job = current(kind)
    if job is None or job.key != key:
        start(kind, key, work).wait(patience)
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
