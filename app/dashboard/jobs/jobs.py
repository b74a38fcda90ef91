"""The jobs of a session: long work outside the page's run, with progress, time left and a cancel button.

A page run must stay short, so a search or a simulation runs in a thread of its own, and a fragment of the page looks at
it twice a second. A session has one job of each kind. It may have a few in the queue, of which only some run at once,
so that those of others find a worker. The queue itself is bounded, and a job whose browser has gone is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.dashboard.jobs.job_queue import Job, JobQueue
from designer.core.errors import BadInput

WORKERS = 4  # jobs running at once, over all sessions; others wait their turn
WORKERS_PER_SESSION = 2  # jobs of one session running at once
MOST_IN_SESSION = 4  # jobs of one session that wait or run
MOST_IN_ALL = 64  # jobs that wait or run

_queue = JobQueue(WORKERS, MOST_IN_ALL, WORKERS_PER_SESSION)


def end_all(seconds: float) -> None:
    """Cancel the jobs of all sessions: the server is stopping."""
    _queue.end(seconds)


def start(kind: str, key: str, work: Callable[[Job], Any]) -> Job:
    """Start a job of this session, and cancel the one of the same kind if it is still running.

    Raises BadInput if this session, or all sessions together, have too many unfinished jobs.
    """
    previous = current(kind)
    if previous is not None:
        previous.cancel()
    mine = [job for job in st.session_state.get("jobs-unfinished", []) if job.running]
    if len(mine) >= MOST_IN_SESSION:
        raise BadInput(f"{len(mine)} of your jobs are still running; cancel one, or wait until it ends")
    job = Job(key, work, _alive_check(), _session())
    _queue.put(job)
    st.session_state["jobs-unfinished"] = [*mine, job]
    st.session_state[f"job-{kind}"] = job
    return job


def current(kind: str) -> Job | None:
    """This session's job of a kind, running or done."""
    job: Job | None = st.session_state.get(f"job-{kind}")
    return job


def watch(kind: str, label: str) -> Job | None:
    """Show a running job with progress, time left and a cancel button; return the job once it has ended."""
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
    """The outcome of an ended job; None if it failed, and the page then says why."""
    try:
        return job.outcome()
    except (BadInput, ArithmeticError) as problem:
        st.error(str(problem), icon=":material/error:")
    except Exception as problem:
        st.error(f"This failed unexpectedly ({type(problem).__name__}); see the terminal that runs `austerity app`.")
    return None


def automatic(kind: str, key: str, label: str, work: Callable[[Job], Any]) -> Any:
    """The outcome of a job that starts whenever its key is new; None while it runs, or if it has none."""
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
    """The id of this session; empty outside of one."""
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def _alive_check() -> Callable[[], bool]:
    """A function that says whether the browser of this session is still connected."""
    context = get_script_run_ctx()
    if context is None or not Runtime.exists():
        return lambda: True
    runtime, session = Runtime.instance(), context.session_id
    return lambda: runtime.is_active_session(session)
