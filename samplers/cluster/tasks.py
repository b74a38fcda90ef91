"""What the workers of a cluster do: one chain, one trial run, one part of an experiment, or one call for a search.

A task carries strings, numbers and paths, never data: a worker reads the data itself and stores them for the next
chain. Bad input comes back as one line, so that it is not tried again; errors of the file system are raised, and the
scheduler tries again.
"""

from __future__ import annotations

import hashlib
import os
import platform
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from designer.core.errors import BadInput, Busy
from designer.core.progress import Cancelled
from samplers.chains.blas import blas_threads
from samplers.chains.draws import Draws
from samplers.chains.spec import ChainSpec
from samplers.config.assemble import build
from samplers.config.config import SamplerConfig
from samplers.runs.monitor import Counts
from samplers.runs.run import collect_pairs, settings_of
from samplers.runs.saved_run import BLAS_THREADS, describe, run_chain
from samplers.runs.store import Store

MESSAGE_INTERVAL = 0.2  # seconds between two messages of a task
PACKAGES = ("austerity", "numpy", "scipy", "numba")  # must be the same everywhere, and so must Python
SUMS = "sums"  # should be
MESSAGE = "message"  # where an event carries the message
PIECES, PIECE = 256, 2**14  # of a file that are compared, and the bytes of each
PATIENCE = 150.0  # seconds to wait for a lock: NFS releases the locks of a dead machine after 90


class WorkerContext:
    """The worker that runs a task: sends its progress, and knows whether the task was cancelled."""

    def __init__(self, topic: str) -> None:
        from distributed import get_worker

        self.topic, self.worker = topic, get_worker()
        self.key, self.sent_at = self.worker.get_current_task(), 0.0

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the caller, a few times a second at most."""
        if time.monotonic() - self.sent_at >= MESSAGE_INTERVAL:
            self.sent_at = time.monotonic()
            self.worker.log_event(self.topic, {MESSAGE: message})

    def stopped(self) -> bool:
        """Whether the caller cancelled or is gone, or the worker has lost its scheduler."""
        task = self.worker.state.tasks.get(self.key)
        active = task is not None and task.state in ("executing", "long-running")
        return not active or self.worker.status.name not in ("running", "paused", "closing_gracefully")


class TaskResult(NamedTuple):
    """The result of a task: a value, or a problem in one line."""

    value: Any = None
    problem: str | None = None
    numerical: bool = False


class Task(Protocol):
    """Something a worker can do, with this number of BLAS threads."""

    @property
    def threads(self) -> int: ...

    def do(self, here: WorkerContext) -> Any: ...


def perform(task: Task, topic: str, software: Mapping[str, str]) -> TaskResult:
    """Run a task on a worker; this is the function that the scheduler sends.

    `software` is the caller's: a worker that came after the caller had looked may have another one.
    """
    here = WorkerContext(topic)
    try:
        check_software(versions(), software)
        with blas_threads(task.threads):
            return TaskResult(task.do(here))
    except BadInput as problem:
        return TaskResult(problem=f"worker {here.worker.address}: {problem}")
    except ArithmeticError as problem:
        return TaskResult(problem=str(problem), numerical=True)
    except Cancelled:
        return TaskResult(problem="cancelled")


# --- chains -----------------------------------------------------------------------------------------------------------


class ChainProgress(NamedTuple):
    """How far a chain has got: where this task resumed it, where it is, and totals over the steps since.

    `counts` are those of its decisions after warm-up.
    """

    chain: int
    start: int
    step: int
    accepted: int
    used: int
    n_data: int
    counts: Sequence[int] = (0, 0, 0)


class ChainTask(NamedTuple):
    """One chain of a run, from its last checkpoint; `marker` is a file in the run's directory."""

    config: str
    output: str
    number: int
    marker: str
    threads: int = BLAS_THREADS

    def do(self, here: WorkerContext) -> ChainProgress:
        check_marker(self.marker)
        config, store = SamplerConfig.from_toml(self.config), Store(self.output)
        spec, settings = _LAST_SPEC.get(self.config, lambda: build(config)), settings_of(config)
        try:
            describe(spec, settings, store)
        except BadInput as problem:
            raise BadInput(f"{problem}; if only this worker's data are others, give it the same files") from None
        until = time.monotonic() + PATIENCE
        while True:
            relay = Relay(here, self.number, spec, settings.warmup)
            try:
                run_chain(spec, settings, store, self.number, relay, here.stopped)
                return relay.reached
            except Busy:  # another worker holds the lock; it may be dead
                if here.stopped() or time.monotonic() > until:
                    raise
                time.sleep(0.5)


class Relay:
    """Sends the progress of one chain to the caller."""

    def __init__(self, here: WorkerContext, number: int, spec: ChainSpec, warmup: int) -> None:
        self.here, self.reached = here, ChainProgress(number, 0, 0, 0, 0, spec.data_per_step)
        self.warmup, self.n_always = warmup, getattr(spec.chain(np.random.default_rng(0)), "n_always", 0)

    def skip(self, steps: int) -> None:
        """Do not count steps of an earlier run."""
        self.reached = self.reached._replace(start=steps, step=steps)
        self.here.send(self.reached._asdict())

    def add(self, part: Draws) -> None:
        """Count steps made just now."""
        now, skip = self.reached, max(self.warmup - self.reached.step, 0)
        new = Counts.of(part.accepted[skip:], part.n_used[skip:], self.n_always)
        self.reached = now._replace(
            counts=Counts(*now.counts).plus(new),
            step=now.step + part.accepted.size,
            accepted=now.accepted + int(part.accepted.sum()),
            used=now.used + int(part.n_used.sum()),
        )
        self.here.send(self.reached._asdict())


class _LastSpec:
    """The data and model of the last run, for all its chains on this worker; made by the first that asks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.last: tuple[str, ChainSpec] | None = None  # the text of a config, and what was made of it

    def get(self, text: str, make: Callable[[], ChainSpec]) -> ChainSpec:
        with self.lock:
            if self.last is None or self.last[0] != text:
                self.last = None  # make room for the new one
                self.last = text, make()
            return self.last[1]


_LAST_SPEC = _LastSpec()


def forget() -> None:
    """Free the data of the last run."""
    with _LAST_SPEC.lock:
        _LAST_SPEC.last = None


def check_marker(marker: str) -> None:
    """Check that this worker sees a file that the caller has just written, and can write beside it."""
    folder = Path(marker).parent
    if not Path(marker).is_file():
        raise BadInput(f"output: {folder}: not visible here; a run needs a directory that all workers share")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"output: {folder}: cannot be written here")


class TrialTask(NamedTuple):
    """A trial run."""

    config: str
    pairs: int
    every: int | None
    threads: int = BLAS_THREADS

    def do(self, here: WorkerContext) -> Any:
        def report(done: int, total: int) -> None:
            here.send({"done": done, "total": total})

        config = SamplerConfig.from_toml(self.config)
        return collect_pairs(config, self.pairs, self.every, progress=report, cancelled=here.stopped)


# --- experiments and searches -----------------------------------------------------------------------------------------

_ONE_PART = threading.Lock()  # parts share what they prepare, and some measure time: one after the other in a process


class PartTask(NamedTuple):
    """One part of an experiment. `known` is its identity: a worker with other code or data is refused."""

    experiment: str
    data: Sequence[str]
    settings: Any
    part: str
    folder: str | None
    known: str
    threads: int

    def do(self, here: WorkerContext) -> Any:
        from samplers.experiments import experiment
        from samplers.experiments.framework.running import Work, computed, fingerprints_of

        def report(share: float, note: str) -> None:
            here.send({"part": self.part, "share": share, "note": note})

        local = replace(experiment(self.experiment), data=self.data)
        folder = None if self.folder is None else Path(self.folder)
        if local.identity(self.settings, fingerprints_of(local, folder)) != self.known:
            raise BadInput(f"{self.experiment}: its code or its data sets differ from those where it was started")
        with _ONE_PART:
            return computed(local, self.settings, self.part, Work(folder, report, here.stopped))


def call(function: Callable[[Any], Any], item: Any, threads: int) -> TaskResult:
    """function(item), for a search."""
    with blas_threads(threads):
        return TaskResult(function(item))


def unchanged(value: Any) -> Any:
    """Return the argument: a value that is sent once, and sent again if the worker that holds it dies."""
    return value


# --- is this worker like the others? ----------------------------------------------------------------------------------


def probe(marker: str | None, files: Sequence[str] = ()) -> dict[str, str]:
    """What a worker must have in common with the caller and the others, and whether it sees the caller's file."""
    if marker is not None:
        check_marker(marker)
    return versions() | {SUMS: _sums()} | {file: glance(Path(file)) for file in files}


def versions() -> dict[str, str]:
    """Of the software on which the draws depend."""
    return {"python": platform.python_version().rpartition(".")[0]} | {name: version(name) for name in PACKAGES}


def check_software(theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Refuse a worker whose versions are not the caller's."""
    for name, needed in ours.items():
        if (there := theirs.get(name, "unknown")) != needed:
            advice = "install the same versions everywhere, or remove this worker"
            raise BadInput(f"has {name} {there}, the caller has {needed}; {advice}")


def glance(file: Path) -> str:
    """The size of a file, and a digest of pieces all over it: enough to tell that two files are not the same one.

    The whole is compared when a chain has read its data.
    """
    if not file.is_file():
        raise BadInput(f"data: {file}: no such file; every worker needs the data at this path")
    size, sha = file.stat().st_size, hashlib.sha256()
    with open(file, "rb") as opened:
        for start in range(0, size, max(size // PIECES, PIECE)):
            opened.seek(start)
            sha.update(opened.read(PIECE))
    return f"{size:,} bytes (digest {sha.hexdigest()[:8]})"


def _sums() -> str:
    """A digest of sums like those of a run, too small for threads: their last bits depend on the processor."""
    x = np.random.default_rng(1).standard_normal((60, 60))
    parts = x @ x.T, np.linalg.inv(x), x @ x[0], np.log1p(np.exp(x))
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:12]
