"""Several chains at once: their random numbers, their threads, and the progress they report."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from designer.core.errors import integer
from samplers.chains.draws import Draws

MAX_CHAINS = 10**4
MAX_SEED = 2**128

_T = TypeVar("_T")
_R = TypeVar("_R")


class RunProgress(NamedTuple):
    """How far the chains of a run have got, taken together.

    Attributes
    ----------
    done, total
        Steps of all chains.
    seconds
        Time since the run began.
    acceptance, usage
        Acceptance rate and mean data use so far.
    warning
        How they differ from what the design predicts, beyond chance; empty if they do not.

    Examples
    --------
    >>> RunProgress(done=500, total=2000, seconds=2.0, acceptance=0.3, usage=0.1).seconds_left
    6.0
    """

    done: int
    total: int
    seconds: float
    acceptance: float
    usage: float
    warning: str = ""

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.done / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """At the rate so far."""
        return (self.total - self.done) / max(self.rate, 1e-9)


def streams(seed: int, chains: int) -> list[np.random.Generator]:
    """Independent random numbers for every chain; they depend on the seed alone."""
    seed = integer("seed", seed, 0, MAX_SEED)
    return [np.random.Generator(np.random.PCG64DXSM(child)) for child in np.random.SeedSequence(seed).spawn(chains)]


def in_parallel(
    task: Callable[[_T, Callable[[], bool]], _R],
    items: Sequence[_T],
    workers: int | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[_R]:
    """Call task(item, stop) for every item, in threads; a task finishes early once stop() is true.

    That is the case when `cancelled` says so, when another task has failed, and when the user interrupts.
    """
    halt = threading.Event()

    def guarded(item: _T) -> _R:
        try:
            return task(item, lambda: halt.is_set() or (cancelled is not None and cancelled()))
        except BaseException:
            halt.set()
            raise

    workers = integer("workers", os.cpu_count() or 1 if workers is None else workers, 1, 1000)
    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(guarded, items))
        except BaseException:
            halt.set()
            raise


class Watch(Protocol):
    """What watches chains as they go: `finding` says what it found, if anything."""

    @property
    def finding(self) -> str: ...

    def begin(self, chain: int, step: int) -> None: ...

    def add(self, chain: int, part: Draws) -> None: ...


class Reporter:
    """Adds up what several chains report from their threads, and calls the caller's `progress`."""

    def __init__(
        self, total: int, n_data: int, tell: Callable[[RunProgress], None] | None, watch: Watch | None = None
    ) -> None:
        self.total, self.n_data, self.tell, self.watch = total, n_data, tell, watch
        self.start, self.lock = time.monotonic(), threading.Lock()
        self.done = self.accepted = self.used = 0

    def of(self, chain: int) -> ChainReporter:
        """Hears of the steps of one chain."""
        return ChainReporter(self, chain)

    def skip(self, chain: int, steps: int) -> None:
        """Do not count steps of an earlier run."""
        if self.watch is not None:
            self.watch.begin(chain, steps)
        with self.lock:
            self.total -= steps

    def add(self, chain: int, part: Draws) -> None:
        """Count steps made just now."""
        if self.watch is not None:
            self.watch.add(chain, part)
        with self.lock:
            self.done += part.accepted.size
            self.accepted += int(part.accepted.sum())
            self.used += int(part.n_used.sum())
            if self.tell is not None:
                share = self.accepted / self.done, self.used / self.done / self.n_data
                warning = "" if self.watch is None else self.watch.finding
                self.tell(RunProgress(self.done, self.total, time.monotonic() - self.start, *share, warning))


class ChainReporter(NamedTuple):
    """Passes on what one chain reports, with its number."""

    report: Reporter
    chain: int

    def skip(self, steps: int) -> None:
        """Do not count steps of an earlier run."""
        self.report.skip(self.chain, steps)

    def add(self, part: Draws) -> None:
        """Count steps made just now."""
        self.report.add(self.chain, part)
