"""A config at work: chains that are saved as they go and resumed where they were, and their results."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from designer.core.errors import BadInput
from designer.core.files import csv_text, shorten, write_whole
from designer.core.progress import Cancelled
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from samplers.adapt.phases import attributes_of, phases_of
from samplers.adapt.redesign import Change, Redesign, from_json
from samplers.adapt.warmup import Warmup
from samplers.chains.blas import blas_threads
from samplers.chains.chain import BLOCK, ChainStopped, Draws, Progress, streams
from samplers.chains.parallel import Reporter, in_parallel
from samplers.chains.slice_chain import Slice, SliceChain
from samplers.config.assemble import AnyChain, Parts, build
from samplers.config.config import SamplerConfig
from samplers.decide.exact import ExactTest
from samplers.runs.store import ChainStore, Checkpoint, Store
from samplers.study.observe import Audit, Observed, Pair, audit, observe

if TYPE_CHECKING:
    from xarray import DataTree

BLAS_THREADS = 1  # for a run: its draws should not depend on how many cores a machine has


def run_config(
    config: SamplerConfig,
    output: str | Path,
    *,
    resume: bool = False,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> DataTree:
    r"""Run (or go on with) the chains of a config, saving them in `output`.

    The draws depend on the config alone: not on the workers, nor on where a run was killed and resumed.

    Parameters
    ----------
    config
        What to run.
    output
        A directory, new or empty unless `resume`.
    resume
        Go on from the checkpoints in `output`.
    workers
        Threads; as many as cores by default.
    progress, cancelled
        Called with a `Progress` after each block; asked as often, and what there is is saved and returned when it says
        True.

    Returns
    -------
    DataTree
        All draws after warmup.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((500, 2)), rng.random(500) < 0.5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/data.npz", x=x, y=y)
    ...     text = f'[test]\nkind = "exact"\n[data]\npath = "{folder}/data.npz"\n[run]\ndraws = 100\nwarmup = 50'
    ...     run_config(SamplerConfig.from_toml(text), f"{folder}/run")["posterior/theta"].shape
    (4, 100, 2)
    """
    store = Store(output)
    if not resume:
        refuse_used(store)
    with blas_threads(BLAS_THREADS):
        parts = opened(config, store)
        report = Reporter(config.run.chains * all_steps(config), parts.model.n_data, progress)

        def whole(number: int, stop: Callable[[], bool]) -> None:
            run_chain(config, parts, store, number, report, stop)

        in_parallel(whole, range(config.run.chains), workers, cancelled)
    return results_in(store, config)


class Listener(Protocol):
    """Hears of the steps of a chain: of those it has already, and of each block of new ones."""

    def skip(self, steps: int) -> None: ...

    def add(self, part: Draws) -> None: ...


def all_steps(config: SamplerConfig) -> int:
    """Of one chain, with its warmup."""
    return config.run.warmup + config.run.draws


def opened(config: SamplerConfig, store: Store) -> Parts:
    """The parts of a run, and in its directory what run it is; one of another config or of other data is refused."""
    parts = build(config)
    digest = hashlib.sha256((config.digest + parts.data_digest).encode()).hexdigest()
    notes = {
        "digest": digest,
        "config": config.entries | {"contents of the data": parts.data_digest[:8]},
        "version": version("austerity"),
        "warmup": config.run.warmup,
        "n_data": parts.model.n_data,
        "model": config.model.kind,
        "names": None if parts.names is None else list(parts.names),
        **parts.notes,
    }
    store.describe(notes | ({"design": config.test.to_toml()} if isinstance(config.test, Design) else {}))
    return parts


def run_chain(
    config: SamplerConfig, parts: Parts, store: Store, number: int, report: Listener, stop: Callable[[], bool]
) -> None:
    """One chain of a run, from its last checkpoint to its end, or until `stop` says so."""
    rng = streams(config.run.seed, config.run.chains)[number]
    with store.chain(number) as files:
        _SavedChain(config, parts, rng, files).run(all_steps(config), report, stop)


def refuse_used(store: Store) -> None:
    """A new run begins in a directory that is empty or not there."""
    where = store.directory
    if where.exists() and not where.is_dir():
        raise BadInput(f"{where}: is a file; must be a directory for the run")
    if store.begun:
        raise BadInput(f"{where}: holds a run already; give --resume to go on with it, or another directory")
    if store.foreign:
        raise BadInput(f"{where}: is not empty; a run needs a directory of its own")


def collect_pairs(
    config: SamplerConfig,
    pairs: int,
    every: int = 10,
    *,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> TrialRun:
    r"""A trial run: pairs of one exact chain of the config, after its warmup.

    Parameters
    ----------
    config
        Data, model and proposal; its test is not used.
    pairs
        How many; each costs a pass over the data.
    every
        Steps between them.
    progress, cancelled
        Called with (steps done, all steps); when `cancelled` says so, `Cancelled` is raised.

    Returns
    -------
    TrialRun
        For the calculator.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((500, 2)), rng.random(500) < 0.5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/data.npz", x=x, y=y)
    ...     text = f'[test]\nkind = "exact"\n[data]\npath = "{folder}/data.npz"\n[run]\nwarmup = 50'
    ...     len(collect_pairs(SamplerConfig.from_toml(text), pairs=20, every=2))
    20
    """
    with blas_threads(BLAS_THREADS):
        return _pairs(config, pairs, every, progress, cancelled)


def _pairs(
    config: SamplerConfig,
    pairs: int,
    every: int,
    progress: Callable[[int, int], None] | None,
    cancelled: Callable[[], bool] | None,
) -> TrialRun:
    parts = _with_pairs(build(config))._replace(test=ExactTest())
    steps = config.run.warmup + pairs * every

    def told(done: int) -> None:
        if cancelled is not None and cancelled():
            raise Cancelled
        if progress is not None:
            progress(done, steps)

    chain = warmed_up(config, parts, told)
    assert not isinstance(chain, SliceChain)
    seen: list[Pair] = []
    for number in range(pairs):
        try:
            seen += observe(chain, every, every).pairs
        except ChainStopped as stopped:
            stopped.add_note(f"{number:,} pairs can be had before that")
            raise
        told(config.run.warmup + (number + 1) * every)
    return Observed(Draws.empty(0, chain.theta.size), seen, config.rule).trial(parts.model.n_data)


def audit_config(config: SamplerConfig, steps: int, every: int) -> Audit:
    r"""One chain of the config after its warmup, every `every`-th decision compared with the exact one.

    Parameters
    ----------
    config
        With a sequential test.
    steps, every
        How many steps to make, and the distance of those that are compared.

    Returns
    -------
    Audit
        What the test did, beside what its design predicts.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((2000, 2)), rng.random(2000) < 0.5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/data.npz", x=x, y=y)
    ...     text = f'[data]\npath = "{folder}/data.npz"\n[run]\nwarmup = 50'
    ...     config = SamplerConfig.from_toml(text, Design(2000, 200, 0.05))
    ...     audit_config(config, steps=200, every=2).pairs
    100
    """
    if config.redesign is not None:
        raise BadInput("redesign: an audit is of one design; leave this table out")
    if config.schedule is not None:
        raise BadInput("schedule: an audit is of one design; leave this table out")
    if not isinstance(config.test, Design):
        kind = "exact" if config.test is None else config.test.kind
        raise BadInput(f"test.kind = {kind!r}: only a sequential test makes predictions that can be audited")
    with blas_threads(BLAS_THREADS):
        parts = _with_pairs(build(config))
        chain = warmed_up(config, parts)
        assert not isinstance(chain, SliceChain)
        seen = Observed(Draws.empty(0, chain.theta.size), [], config.rule)
        try:
            for begin in range(0, steps, every):
                seen.pairs.extend(observe(chain, min(every, steps - begin), every).pairs)
        except ChainStopped as stopped:
            if seen.pairs:
                stopped.add_note(f"before that, {audit(config.test, seen, parts.model.n_data).sentence}")
            raise
        return audit(config.test, seen, parts.model.n_data)


def _with_pairs(parts: Parts) -> Parts:
    """The parts of a chain whose steps are decisions about pairs."""
    if isinstance(parts.proposal, Slice):
        raise BadInput("proposal.kind = 'slice': an update is not one decision about one pair; take 'random-walk'")
    return parts


def warmed_up(config: SamplerConfig, parts: Parts, told: Callable[[int], None] = lambda done: None) -> AnyChain:
    """The first chain of a config at the end of its warmup; `told` hears of its steps."""
    chain, warmup = parts.chain(streams(config.run.seed, 1)[0]), Warmup(config, parts)
    while chain.steps < config.run.warmup:
        told(chain.steps)
        warmup.learn(chain, chain.advance(min(BLOCK, config.run.warmup - chain.steps)))
    return chain


class _SavedChain:
    """One chain with its files: advances, learns in warmup, saves every few seconds."""

    def __init__(self, config: SamplerConfig, parts: Parts, rng: np.random.Generator, files: ChainStore) -> None:
        self.until, self.seconds, self.files = config.run.warmup, config.run.checkpoint_seconds, files
        self.chain, self.warmup, self.redesign = parts.chain(rng), Warmup(config, parts), Redesign.of(config)
        self.phases = phases_of(config.schedule, parts.test, parts.model.n_data, config.run.warmup)
        self.unsaved: list[Draws] = []
        self.reached: Checkpoint | None = None  # the end of the last of them
        self.saved_at = time.monotonic()

    def run(self, steps: int, report: Listener, stop: Callable[[], bool]) -> None:
        """Go to `steps`, from the last checkpoint if there is one."""
        self.resume()
        report.skip(min(self.chain.steps, steps))
        try:
            while self.chain.steps < steps and not stop():
                report.add(self.advance(steps))
                if time.monotonic() - self.saved_at >= self.seconds:
                    self.save()
        except BaseException as error:  # a likelihood that is not finite, no memory, ...: what there is is saved
            self._save_after(error)
            raise
        self.save()

    def resume(self) -> None:
        """Take up the newest good checkpoint."""
        last = self.files.latest()
        if last is None:
            return
        self.chain.steps, self.chain.theta = last.step, np.array(last.state["theta"])
        self.chain.rng.bit_generator.state = dict(last.rng)
        self.warmup.restore(self.chain, last.state)
        if self.redesign is not None:
            self.redesign.restore(self.chain, last.state["redesign"])

    def advance(self, steps: int) -> Draws:
        """Up to the next multiple of BLOCK, so that learning happens at the same steps however often a run stops."""
        goal = min(steps, (self.chain.steps // BLOCK + 1) * BLOCK)
        warming = self.chain.steps < self.until
        if warming:
            goal = min(goal, self.until)
        try:
            part = self._made(goal - self.chain.steps)
        except ChainStopped as stopped:
            self._keep(stopped.draws)
            raise
        if warming:
            self.warmup.learn(self.chain, part)
        self._keep(part)
        return part

    def _made(self, steps: int) -> Draws:
        follow = self.redesign or self.phases
        return self.chain.advance(steps) if follow is None else follow.advance(self.chain, steps)

    def _keep(self, part: Draws) -> None:
        """Steps to save, and the state at their end: later steps, which may fail half-way, do not touch it."""
        state = deepcopy({"theta": self.chain.theta, **self.warmup.state()})
        if self.redesign is not None:
            state["redesign"] = deepcopy(self.redesign.state())
        self.unsaved.append(part)
        self.reached = Checkpoint(self.chain.steps, self.chain.rng.bit_generator.state, state)

    def save(self) -> None:
        """Write what is new."""
        if self.reached is not None and any(part.accepted.size for part in self.unsaved):
            self.files.save(self.reached, Draws.joined(self.unsaved)._asdict())
        self.unsaved, self.saved_at = [], time.monotonic()

    def _save_after(self, error: BaseException) -> None:
        """Whatever goes wrong now is less interesting than the error that is on its way."""
        try:
            self.save()
        except Exception as another:
            if not isinstance(error, OSError):  # else it is the same one again
                error.add_note(f"and the last steps could not be saved: {shorten(another, 100)}")


def results_in(store: Store, config: SamplerConfig) -> DataTree:
    """The draws after warmup of the chains that have any."""
    from samplers.runs.results import collect_run

    begin, end = config.run.warmup, config.run.warmup + config.run.draws
    chains = {number: store.chain(number).draws() for number in store.chains() if number < config.run.chains}
    kept = {
        number: {name: values[begin:end] for name, values in draws.items()}
        for number, draws in chains.items()
        if draws and draws["theta"].shape[0] > begin
    }
    if not kept:
        raise BadInput(f"{store.directory}: no draws after warmup yet; --resume goes on")
    meta = store.meta() or {}
    if config.schedule is not None:
        meta |= attributes_of(config.schedule)  # its weights may be others now: no draw depends on them
    if config.redesign is not None:
        logs = redesign_logs(store, config.run.chains)
        meta["redesign"] = json.dumps([[change._asdict() for change in logs.get(number, [])] for number in kept])
        with store.alone():
            write_whole(store.directory / "redesign.csv", _log_table(logs))
    return collect_run(kept, meta)


def redesign_logs(store: Store, chains: int) -> dict[int, list[Change]]:
    """What the checkpoint of each chain that has one knows of its designs."""
    last = {number: store.chain(number).latest() for number in store.chains() if number < chains}
    return {number: from_json(point.state["redesign"]["log"]) for number, point in last.items() if point is not None}


def _log_table(logs: Mapping[int, Sequence[Change]]) -> str:
    rows = [(number, *change) for number, log in logs.items() for change in log]
    return csv_text(("chain", *Change._fields), rows)
