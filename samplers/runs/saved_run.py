"""A run in a directory: chains that are saved as they go and resumed where they stopped, and their results.

`run_saved(spec, settings, store)` is the core of every saved run. A config (`samplers.runs.run`) and the arguments of
`samplers.run` (`samplers.runs.run_chains`) are two ways to make the spec.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from designer.core.errors import BadInput
from designer.core.files import csv_text, shorten, write_whole
from samplers.adapt.phases import attributes_of, phases_of
from samplers.adapt.redesign import Change, Redesign, from_json
from samplers.adapt.warmup import Warmup
from samplers.chains.blas import blas_threads
from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.driver import Paced, in_blocks
from samplers.chains.parallel import Reporter, RunProgress, in_parallel, streams
from samplers.chains.protocol import MarkovChain
from samplers.chains.spec import ChainSpec
from samplers.config.schema import RedesignTable, ScheduleTable
from samplers.runs.identity import MARKS
from samplers.runs.monitor import DIFFERS, Expected, Monitor, NotAsPredicted, judged
from samplers.runs.store import ChainStore, Checkpoint, Store

if TYPE_CHECKING:
    from xarray import DataTree

BLAS_THREADS = 1  # for a run: its draws should not depend on how many cores a machine has
RESULTS = "results.nc"  # in the directory of a run


class RunSettings(NamedTuple):
    """How many chains and draws, from which seed, how often they are saved, and whether the test changes on the way."""

    draws: int
    warmup: int = 0
    chains: int = 4
    seed: int = 0
    checkpoint_seconds: float = 5.0
    schedule: ScheduleTable | None = None
    redesign: RedesignTable | None = None

    @property
    def steps(self) -> int:
        """Of one chain, with its warm-up."""
        return self.warmup + self.draws


class Listener(Protocol):
    """Hears of the steps of a chain: of those it had already, and of each piece of new ones."""

    def skip(self, steps: int) -> None: ...

    def add(self, part: Draws) -> None: ...


def run_saved(
    spec: ChainSpec,
    settings: RunSettings,
    store: Store,
    *,
    workers: int | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> DataTree:
    """Run the chains, or continue those in the store; return their draws after warm-up, also written to results.nc.

    The draws depend on the spec and the seed alone: not on the workers, nor on where a run was killed and resumed.
    BadInput if the run was cancelled before there were any.
    """
    with store.held():
        advance_saved(spec, settings, store, workers=workers, progress=progress, cancelled=cancelled)
        return write_results(store, settings, spec.names)


def advance_saved(
    spec: ChainSpec,
    settings: RunSettings,
    store: Store,
    *,
    workers: int | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> None:
    """Run the chains, or continue those in the store, to their end or until cancelled."""
    with blas_threads(BLAS_THREADS):
        data_per_step = describe(spec, settings, store)
        monitor = Monitor(expected_of(store.meta() or {}, settings), settings.warmup)
        report = Reporter(settings.chains * settings.steps, data_per_step, progress, monitor)

        def whole(number: int, stop: Callable[[], bool]) -> None:
            run_chain(spec, settings, store, number, report.of(number), stop)

        in_parallel(whole, range(settings.chains), workers, cancelled)


def expected_of(meta: Mapping[str, Any], settings: RunSettings) -> Expected | None:
    """What the design of a run predicts for it; None if the test changes on the way."""
    return Expected.of_run(meta) if settings.schedule is None and settings.redesign is None else None


def describe(spec: ChainSpec, settings: RunSettings, store: Store) -> int:
    """Say in the directory what run it is; refuse a directory that holds another one. Returns the data per step."""
    check_directory(store, resume=True)
    _check_started_alike(spec, store)
    chain = spec.chain(np.random.default_rng(0))
    facts = {
        "digest": spec.digest,
        "config": dict(spec.entries),
        "version": version("austerity"),
        "warmup": settings.warmup,
        "names": None if spec.names is None else list(spec.names),
        **described(spec, chain),
        **spec.notes,
    }
    store.describe(facts)
    return chain.data_per_step


def described(spec: ChainSpec, chain: MarkovChain) -> dict[str, Any]:
    """Facts about the chains of a run for its directory, its results and its monitor."""
    always = getattr(chain, "n_always", 0)
    return {
        "n_data": chain.n_data,
        **({} if chain.data_per_step == chain.n_data else {"data_per_step": chain.data_per_step}),
        **({"n_always": always} if always else {}),
        "model": spec.kind,
        "proposal_class": type(spec.proposal).__name__,
        **({} if spec.design is None else {"design": spec.design.to_toml()}),
    }


def _check_started_alike(spec: ChainSpec, store: Store) -> None:
    """Refuse to continue a config's run with parts made in Python, and the other way round."""
    if (known := store.meta()) is None or (MARKS in known) == (MARKS in spec.notes):
        return
    ways = "from Python (samplers.run)", "from a config (run_config, austerity run)"
    was, now = ways if MARKS in known else ways[::-1]
    raise BadInput(f"{store.directory}: holds another run, started {was}, not {now}; resume it as it was started")


def check_directory(store: Store, *, resume: bool) -> None:
    """A new run needs a directory that is empty or does not exist; one to resume must not hold other files only."""
    where = store.directory
    if where.exists() and not where.is_dir():
        raise BadInput(f"{where}: is a file; must be a directory for the run")
    if store.begun and not resume:
        raise BadInput(f"{where}: holds a run already; continue it with --resume (resume=True) or choose another one")
    if store.foreign:
        problem = "holds no run but other files" if resume else "is not empty"
        raise BadInput(f"{where}: {problem}; a run needs a directory of its own")


def run_chain(
    spec: ChainSpec,
    settings: RunSettings,
    store: Store,
    number: int,
    report: Listener,
    stop: Callable[[], bool],
) -> None:
    """One chain of a run, from its last checkpoint to its end, or until `stop` says so."""
    rng = streams(settings.seed, settings.chains)[number]
    with store.chain(number) as files:
        _SavedChain(spec, settings, rng, files).run(settings.steps, report, stop)


class _SavedChain:
    """One chain with its files: advances, learns in warm-up, saves every few seconds."""

    def __init__(self, spec: ChainSpec, settings: RunSettings, rng: np.random.Generator, files: ChainStore) -> None:
        self.until, self.seconds, self.files = settings.warmup, settings.checkpoint_seconds, files
        self.chain, self.warmup = spec.chain(rng), Warmup(spec)
        self.redesign = Redesign.of(settings.redesign, spec, settings.warmup)
        self.phases = phases_of(settings.schedule, spec.test, self.chain.n_data, settings.warmup)
        self.paced = Paced(self._follow)
        self.unsaved: list[Draws] = []
        self.reached: Checkpoint | None = None  # the end of the last of them
        self.saved_at = time.monotonic()

    def run(self, steps: int, report: Listener, stop: Callable[[], bool]) -> None:
        """Go to `steps`, from the last checkpoint if there is one."""
        self.resume()
        report.skip(min(self.chain.steps, steps))
        try:
            for part in in_blocks(self.chain, steps, breaks=[self.until], advance=self._advance, stop=stop):
                if self.chain.steps <= self.until:
                    self.warmup.learn(self.chain, part)
                self._remember(part)
                report.add(part)
                if time.monotonic() - self.saved_at >= self.seconds:
                    self.save()
        except BaseException as error:  # a likelihood that is not finite, no memory, ...: save the steps before it
            if isinstance(error, ChainStopped):
                self._remember(error.draws)
            self._save_after(error)
            raise
        self.save()

    def resume(self) -> None:
        """Continue from the newest good checkpoint."""
        last = self.files.latest()
        if last is None:
            return
        self.chain.restore({"steps": last.step, "rng": last.rng, **last.state})
        self.warmup.restore(self.chain, last.state)
        if self.redesign is not None:
            self.redesign.restore(self.chain, last.state["redesign"])

    def _advance(self, steps: int) -> Draws:
        """A whole block if warm-up learns from it, otherwise a piece."""
        whole = self.warmup.learns and self.chain.steps < self.until
        return self._follow(steps) if whole else self.paced(steps)

    def _follow(self, steps: int) -> Draws:
        follow = self.redesign or self.phases
        return self.chain.advance(steps) if follow is None else follow.advance(self.chain, steps)

    def _remember(self, part: Draws) -> None:
        """Add steps to save, and copy the state at their end: later steps, which may fail, do not touch the copy."""
        state = deepcopy(self.chain.state() | self.warmup.state())
        if self.redesign is not None:
            state["redesign"] = deepcopy(self.redesign.state())
        self.unsaved.append(part)
        self.reached = Checkpoint(state.pop("steps"), state.pop("rng"), state)

    def save(self) -> None:
        """Write what is new."""
        if self.reached is not None and any(part.accepted.size for part in self.unsaved):
            self.files.save(self.reached, Draws.joined(self.unsaved)._asdict())
        self.unsaved, self.saved_at = [], time.monotonic()

    def _save_after(self, error: BaseException) -> None:
        """Save after an error; if that fails too, the first error is the one to report."""
        try:
            self.save()
        except Exception as another:
            if not isinstance(error, OSError):  # else it is the same one again
                error.add_note(f"and the last steps could not be saved: {shorten(another, 100)}")


# --- results ----------------------------------------------------------------------------------------------------------


def draws_in(store: Store, settings: RunSettings) -> dict[int, dict[str, np.ndarray]]:
    """The draws after warm-up of the chains that have any, by the number of the chain."""
    chains = {number: store.chain(number).draws() for number in store.chains() if number < settings.chains}
    return {
        number: {name: values[settings.warmup : settings.steps] for name, values in draws.items()}
        for number, draws in chains.items()
        if draws and draws["theta"].shape[0] > settings.warmup
    }


def write_results(store: Store, settings: RunSettings, names: Sequence[str] | None = None) -> DataTree:
    """The draws after warm-up of all chains; they are also written to results.nc in the directory of the run.

    `names` of the parameters replace those that the run was started with.
    """
    from samplers.runs.results import collect_run, to_netcdf

    draws = draws_in(store, settings)
    if not draws:
        raise BadInput(f"{store.directory}: no draws after warm-up yet; progress is saved, resume to continue")
    facts = (store.meta() or {}) | ({} if names is None else {"names": list(names)})
    if settings.schedule is not None:
        facts |= attributes_of(settings.schedule)  # its weights may be others now: no draw depends on them
    logs = None if settings.redesign is None else redesign_logs(store, settings.chains)
    if logs is not None:
        facts["redesign"] = json.dumps([[change._asdict() for change in logs.get(number, [])] for number in draws])
    if differs := judged(expected_of(facts, settings), draws.values()):
        facts[DIFFERS] = differs
    results = collect_run(draws, facts)
    with store.alone():
        if logs is not None:
            write_whole(store.directory / "redesign.csv", _log_table(logs))
        to_netcdf(results, store.directory / RESULTS)
    results.encoding["source"] = str((store.directory / RESULTS).resolve())  # as of trees that are read from a file
    if differs:
        warnings.warn(differs, NotAsPredicted, stacklevel=4)  # blames the caller of `run` or `run_config`
    return results


def redesign_logs(store: Store, chains: int) -> dict[int, list[Change]]:
    """The changes of design of each chain that has a checkpoint."""
    last = {number: store.chain(number).latest() for number in store.chains() if number < chains}
    return {number: from_json(point.state["redesign"]["log"]) for number, point in last.items() if point is not None}


def _log_table(logs: Mapping[int, Sequence[Change]]) -> str:
    rows = [(number, *change) for number, log in logs.items() for change in log]
    return csv_text(("chain", *Change._fields), rows)
