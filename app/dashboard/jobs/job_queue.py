"""Long work in threads: a job, and the queue in which jobs take turns.

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
TURN_SECONDS = 1.0  # that a job may run while those of others wait
LOOK_SECONDS = 1.0  # between two looks at whether the browser is connected

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
        self.key, self.owner, self.alive = key, owner, alive
        self.client = ""  # the address of its browser, if others than this machine can reach the server
        self.label, self.page = "", ""  # what it does, and the page that shows it
        self.seen = False  # whether its end was
        self.taken = False  # whether its outcome was, by a page that uses it once
        self.state = JobProgress()
        self.started: float | None = None
        self.queue: JobQueue | None = None
        self.paused: float | None = None  # since when others have their turn
        self.turn = 0.0  # when its own began
        self._idle = 0.0  # seconds in which others had theirs
        self._work: Callable[[Job], Any] | None = work
        self._seen = self._asked = time.monotonic()
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

    def pause(self) -> None:
        """Others have their turn."""
        self.paused = time.monotonic()

    def resume(self) -> None:
        """It is this job's turn."""
        self.turn = time.monotonic()
        if self.paused is not None:
            self._idle, self.paused = self._idle + self.turn - self.paused, None

    def move_to(self, owner: str, alive: Callable[[], bool]) -> None:
        """Let another session have the job: its page was loaded again."""
        self.owner, self.alive, self._seen = owner, alive, time.monotonic()

    # -- for the work -------------------------------------------------------------------------------------------------

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Report progress; the work calls this, from any thread."""
        self.state = JobProgress(done, total, note or self.state.note)

    def cancelled(self) -> bool:
        """Whether the work should stop; the work asks as often as it likes, and waits here while others have a turn."""
        self.look()
        if self.queue is not None and not self.stopping:
            self.queue.take_turns(self)
        return self.stopping

    def look(self) -> None:
        """Once a second, see if the browser is connected; one that stays away cancels the job."""
        now = time.monotonic()
        if self.stopping or now - self._asked <= LOOK_SECONDS:
            return
        self._asked = now
        if self.alive():
            self._seen = now
        elif now - self._seen > GRACE_SECONDS:
            self._cancel.set()

    # -- for the page -------------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Ask the work to stop; it does when it next calls `cancelled`."""
        self._cancel.set()
        if self._future.cancel():
            self._work = None
        if self.queue is not None:
            self.queue.wake()

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
    def stopping(self) -> bool:
        """Whether the work was asked to stop."""
        return self._cancel.is_set()

    @property
    def away(self) -> bool:
        """Whether its browser was not connected at the last look."""
        return self._seen < self._asked

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
        """Seconds of its own turns left at the pace so far; None before there is one."""
        started, share, paused = self.started, self.share, self.paused
        if started is None or share == 0:
            return None
        now = time.monotonic() if paused is None else paused
        return max(0.0, now - started - self._idle) * (1.0 - share) / share

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
    """Jobs that wait, and those at work, each in a daemon thread: they never delay the end of the server.

    The next job is that of the owner with the fewest jobs at work, if fewer than `each`; among equals, the first one.
    A job that has had its turn makes room for those of others and goes on after them, so that nobody waits for the end
    of somebody else's long work. Jobs whose browser is away come last.
    """

    def __init__(self, workers: int, most: int, each: int | None = None, of_client: int | None = None) -> None:
        self.workers, self.most, self.each, self.of_client = workers, most, each or workers, of_client or most
        self._waiting: list[Job] = []
        self._at_work: list[Job] = []
        self._begun: list[Job] = []  # at work, or between two turns
        self._change = threading.Condition()

    def put(self, job: Job) -> None:
        """Put a job at the end; BadInput if the queue is full."""
        with self._change:
            self._waiting = [other for other in self._waiting if other.running]
            if len(self._waiting) + len(self._at_work) >= self.most:
                raise BadInput("this server is busy with the work of others; try again in a minute")
            unfinished = [*self._waiting, *self._at_work]
            if job.client and sum(other.client == job.client for other in unfinished) >= self.of_client:
                raise BadInput(f"your address has {self.of_client} jobs here; cancel one, or wait until one ends")
            job.queue = self
            self._waiting.append(job)
            threading.Thread(target=self._serve, args=(job,), name=f"job-{job.key[:20]}", daemon=True).start()
            self._fill()

    def counts(self) -> tuple[int, int]:
        """How many jobs wait, and how many are at work."""
        with self._change:
            return sum(job.running for job in self._waiting), len(self._at_work)

    def wake(self) -> None:
        """A job was cancelled: whoever waits looks again."""
        with self._change:
            self._fill()

    def take_turns(self, job: Job) -> None:
        """Let others have the place of a job that has had its turn, and wait until it has one again."""
        if job.paused is None and not self._waiting:
            return  # without the lock: the usual case, and work asks often
        with self._change:
            if job.paused is None and self._has_rival(job):
                self._at_work.remove(job)
                self._waiting.append(job)
                job.pause()
                self._fill()
            while job.paused is not None and not job.stopping:
                self._change.wait(LOOK_SECONDS)
                job.look()

    def end(self, seconds: float) -> None:
        """Cancel all jobs, and give those that have begun this long to clean up their processes and folders."""
        with self._change:
            for job in (*self._waiting, *self._at_work):
                job.cancel()
            self._change.wait_for(lambda: not self._begun, timeout=seconds)

    def _serve(self, job: Job) -> None:
        _give_way()
        with self._change:
            while job not in self._at_work and not job.stopping:
                self._change.wait(LOOK_SECONDS)
                job.look()
            self._begun.append(job)
        try:
            job.run()
        finally:
            with self._change:
                for jobs in (self._begun, self._at_work, self._waiting):
                    if job in jobs:
                        jobs.remove(job)
                self._fill()

    def _fill(self) -> None:
        """Give free places to jobs that wait; only with the lock."""
        while len(self._at_work) < self.workers and (job := self._next()) is not None:
            self._waiting.remove(job)
            self._at_work.append(job)
            job.resume()
        self._change.notify_all()

    def _next(self) -> Job | None:
        """The next job; None if no owner with a waiting job may have another place."""
        at_work = Counter(job.owner for job in self._at_work)
        allowed = [job for job in self._waiting if not job.stopping and at_work[job.owner] < self.each]
        return min(allowed, key=lambda job: (job.away, at_work[job.owner]), default=None)  # the first among equals

    def _has_rival(self, job: Job) -> bool:
        """Whether a job of somebody else, who has fewer at work, should have this one's place."""
        over = time.monotonic() - job.turn > TURN_SECONDS
        at_work = Counter(other.owner for other in self._at_work)
        behind = (job.away, at_work[job.owner] - 1)
        return any(
            (other.away, at_work[other.owner]) <= behind and (over or job.away > other.away)
            for other in self._waiting
            if other.owner != job.owner and not other.stopping and at_work[other.owner] < self.each
        )


def _give_way() -> None:
    """Let pages come first: this thread, and those that it starts, run when no page needs the processor.

    Only on Linux is niceness a property of a thread. It is raised relative to the server's, which an unprivileged
    process may not lower.
    """
    if sys.platform == "linux":
        os.nice(JOB_NICENESS)
