"""Long work in threads: a job, and the queue in which jobs wait for a few workers.

The kernels of a search or a simulation release the lock that Python threads share, so threads are enough.
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

from designer.core.errors import BadInput
from designer.core.progress import Cancelled

JOB_NICENESS = 10  # added to that of the server, so that pages come first
GRACE_SECONDS = 60.0  # that a session may be away (a reload, a sleeping laptop) before its jobs are cancelled

_log = logging.getLogger(__name__)


class JobProgress(NamedTuple):
    """How far a job has got, with a note; replaced as a whole, so that a reader never sees half of an update."""

    done: int = 0
    total: int = 0
    note: str = ""


class Job:
    """One piece of long work. `key` says what its outcome depends on, so that a page sees when it is out of date."""

    def __init__(
        self, key: str, work: Callable[[Job], Any], alive: Callable[[], bool] = lambda: True, owner: str = ""
    ) -> None:
        self.key, self.owner = key, owner
        self.state = JobProgress()
        self.started: float | None = None
        self._work: Callable[[Job], Any] | None = work
        self._alive, self._seen, self._asked = alive, time.monotonic(), time.monotonic()
        self._cancel = threading.Event()
        self._future: Future[Any] = Future()

    # -- for the worker -----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Do the work, unless it was cancelled while it waited; then drop the work and all it refers to."""
        work, self._work = self._work, None
        if work is None or not self._future.set_running_or_notify_cancel():
            return
        self.started = time.monotonic()
        try:
            if self.cancelled():
                raise Cancelled
            self._future.set_result(work(self))
        except BaseException as error:
            stopping = "cannot schedule new futures" in str(error)  # the server stops: nobody waits for this
            if not (stopping or isinstance(error, (Cancelled, BadInput, ArithmeticError))):
                _log.exception("a job failed")
            self._future.set_exception(error.with_traceback(None))  # a traceback would keep all its frames alive

    # -- for the work -------------------------------------------------------------------------------------------------

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Report progress; the work calls this, from any thread."""
        self.state = JobProgress(done, total, note or self.state.note)

    def cancelled(self) -> bool:
        """Whether the work should stop; the work asks as often as it likes."""
        now = time.monotonic()
        if not self._cancel.is_set() and now - self._asked > 1.0:  # once a second, see if the browser is connected
            self._asked = now
            if self._alive():
                self._seen = now
            elif now - self._seen > GRACE_SECONDS:
                self._cancel.set()
        return self._cancel.is_set()

    # -- for the page -------------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Ask the work to stop; it does when it next calls `cancelled`."""
        self._cancel.set()
        if self._future.cancel():
            self._work = None

    def wait(self, seconds: float) -> bool:
        """Wait at most this long for the job to end; returns whether it has."""
        try:
            self._future.exception(timeout=seconds)
        except CancelledError:
            return True
        except NotYet:
            return False
        return True

    @property
    def running(self) -> bool:
        """Whether the job waits or is at work."""
        return not self._future.done()

    @property
    def was_cancelled(self) -> bool:
        """Whether the job ended without an outcome because it was cancelled."""
        if self.running:
            return False
        return self._future.cancelled() or isinstance(self._future.exception(), Cancelled)

    @property
    def share(self) -> float:
        """The share that is done, from 0 to 1."""
        done, total, _ = self.state
        return min(1.0, max(0.0, done / total)) if total > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds left at the pace so far; None before there is one."""
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
            raise error.with_traceback(None)  # or it would grow with every run of the page and keep their frames alive
        return self._future.result(timeout=0)


# --- the queue --------------------------------------------------------------------------------------------------------


class JobQueue:
    """Jobs that wait, and a few daemon threads that run them: they never delay the end of the server.

    The next job is that of the owner with the fewest jobs running, if fewer than `each`; among equals, the first one.
    """

    def __init__(self, workers: int, most: int, each: int | None = None) -> None:
        self.workers, self.most, self.each = workers, most, each or workers
        self._waiting: list[Job] = []
        self._at_work: list[Job] = []
        self._change = threading.Condition()
        self._threads: list[threading.Thread] = []

    def put(self, job: Job) -> None:
        """Put a job at the end; BadInput if the queue is full."""
        with self._change:
            self._waiting = [other for other in self._waiting if other.running]
            if len(self._waiting) + len(self._at_work) >= self.most:
                raise BadInput("this server is busy with the work of others; try again in a minute")
            self._waiting.append(job)
            if len(self._threads) < self.workers:
                name = f"job-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._serve, name=name, daemon=True))
                self._threads[-1].start()
            self._change.notify_all()

    def end(self, seconds: float) -> None:
        """Cancel all jobs, and give those at work this long to clean up their processes and folders."""
        with self._change:
            for job in (*self._waiting, *self._at_work):
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
        """The next job; None if no owner with a waiting job may have another worker."""
        at_work = Counter(job.owner for job in self._at_work)
        allowed = [job for job in self._waiting if at_work[job.owner] < self.each]
        return min(allowed, key=lambda job: at_work[job.owner], default=None)  # the first among equals


def _give_way() -> None:
    """Let pages come first: this thread, and those that it starts, run when no page needs the processor.

    Only on Linux is niceness a property of a thread. It is raised relative to the server's, which an unprivileged
    process may not lower.
    """
    if sys.platform == "linux":
        os.nice(JOB_NICENESS)
