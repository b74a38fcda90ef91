"""`run`: several chains of a model, a proposal and a test, in memory or saved as they go."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from designer.engine.step_error import Rule, check_rule
from designer.rule.design import Design
from samplers.chains.blas import blas_threads
from samplers.chains.draws import MAX_DRAWS, ChainStopped, Draws
from samplers.chains.driver import Paced, in_blocks
from samplers.chains.parallel import MAX_CHAINS, MAX_SEED, Reporter, RunProgress, in_parallel, streams
from samplers.chains.protocol import MarkovChain
from samplers.chains.slice_chain import Slice
from samplers.chains.spec import ChainSpec
from samplers.decide.comparison import AcceptTest, LevelTest
from samplers.decide.sequential import SequentialTest
from samplers.models.rj_logistic import RJLogistic
from samplers.proposals import Proposal
from samplers.runs.identity import identified
from samplers.runs.monitor import Expected, Monitor, NotAsPredicted, judged
from samplers.runs.saved_run import (
    BLAS_THREADS,
    RunSettings,
    advance_saved,
    check_directory,
    described,
    draws_in,
    write_results,
)
from samplers.runs.store import Store


def run(
    model: Any,
    proposal: Proposal | Slice | None,
    test: AcceptTest | LevelTest | Design,
    *,
    start: npt.ArrayLike,
    draws: int,
    warmup: int = 0,
    chains: int = 4,
    seed: int = 0,
    rule: Rule = "metropolis",
    output: str | Path | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    names: Sequence[str] | None = None,
    workers: int | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    fuse: bool = True,
) -> list[Draws]:
    """Several chains from the same start, in threads; with `output`, saved as they go.

    A saved run can be killed at any time. Called again with `resume=True`, it continues and makes the same draws as a
    run that was never interrupted.

    Parameters
    ----------
    model, proposal, test
        As for `Chain`; or a model with a `Slice`, as for `SliceChain`; or, with proposal None, an `RJLogistic` (see
        `JumpChain`) or a field for Gibbs sampling. The test may be a `Design`.
    start
        Of every chain, D numbers.
    draws, warmup
        Steps of each chain that are returned, and steps before them that are not.
    chains
        How many.
    seed
        The draws depend on it alone, not on `workers`.
    rule, fuse
        As for `Chain`.
    output
        A directory for checkpoints and for the results, `results.nc`; new or empty unless `resume`. By default nothing
        is saved.
    resume
        Continue the run in `output`, or start it if there is none yet. Model, proposal, test, start, warm-up and seed
        must be the same; draws and chains may be more or fewer.
    checkpoint_seconds
        How often chains are saved.
    names
        Of the parameters, for the results; they may be given or changed on resuming.
    workers
        Threads; as many as cores by default.
    progress
        Called with a `RunProgress` after every few steps, several times a second if a step is that fast.
    cancelled
        Asked as often; once it says True, the draws so far are saved and returned. In warm-up there are none yet: then
        the draws are empty, and `results.nc` is not written.

    Returns
    -------
    list of Draws
        One per chain. `samplers.collect([draws._asdict() for draws in ...])` makes a DataTree for ArviZ.

    Raises
    ------
    ChainStopped
        If a log-likelihood is not finite. The steps before it are saved.
    BadInput
        If the parts do not fit together, or `output` holds another run.

    Examples
    --------
    >>> from samplers import ExactTest, Logistic, RandomWalk
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> chains = run(model, RandomWalk.isotropic(0.2, 2), ExactTest(), start=np.zeros(2), draws=50, warmup=10, chains=2)
    >>> [draws.theta.shape for draws in chains]
    [(50, 2), (50, 2)]
    """
    settings = _settings(draws, warmup, chains, seed, checkpoint_seconds)
    spec = _spec(model, proposal, test, start, rule, fuse=fuse, names=names)
    return _run(spec, settings, output, resume, workers, progress, cancelled)


def run_chains(
    make: Callable[[np.random.Generator], MarkovChain],
    *,
    draws: int,
    warmup: int = 0,
    chains: int = 4,
    seed: int = 0,
    output: str | Path | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    names: Sequence[str] | None = None,
    workers: int | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[Draws]:
    """As `run`, with chains of your own.

    Parameters
    ----------
    make
        Makes a chain at its start from its random numbers: one that follows the chain protocol, `MarkovChain`, for
        instance derived from `SteppedChain`. To be saved, it must define `probes`: a run is told from another by
        them, by what its proposal proposes, and by its test and start.
    draws, warmup, chains, seed, output, resume, checkpoint_seconds, names, workers, progress, cancelled
        As for `run`.

    Returns
    -------
    list of Draws
        One per chain.

    Examples
    --------
    >>> from samplers import Decision, SteppedChain
    >>> class Coin(SteppedChain):
    ...     n_data = 1
    ...     def __init__(self, rng):
    ...         self.rng, self.theta = rng, np.zeros(1)
    ...     def step(self, rng, theta):
    ...         accept = rng.random() < 0.5
    ...         return (theta + 1.0 if accept else theta), Decision(accept, 0, 0)
    >>> [part.theta.shape for part in run_chains(Coin, draws=50, chains=2)]
    [(50, 1), (50, 1)]
    """
    settings = _settings(draws, warmup, chains, seed, checkpoint_seconds)
    rng = np.random.default_rng(0)
    chain = make(rng)
    if chain.rng is not rng:
        raise BadInput("make: must return a chain that uses the random numbers it is given, as its `rng`")
    spec = ChainSpec(
        model=chain.model,
        proposal=chain.proposal,
        test=chain.test,
        start=chain.theta.copy(),
        rule=chain.rule,
        names=_names(names, chain.theta.size),
        kind=type(chain).__qualname__,
        factory=make,
    )
    return _run(spec, settings, output, resume, workers, progress, cancelled)


def _settings(draws: int, warmup: int, chains: int, seed: int, checkpoint_seconds: float) -> RunSettings:
    return RunSettings(
        integer("draws", draws, 1, MAX_DRAWS),
        integer("warmup", warmup, 0, MAX_DRAWS),
        integer("chains", chains, 1, MAX_CHAINS),
        integer("seed", seed, 0, MAX_SEED),
        real("checkpoint_seconds", checkpoint_seconds, 0.0, 1e9),
    )


def _run(
    spec: ChainSpec,
    settings: RunSettings,
    output: str | Path | None,
    resume: bool,
    workers: int | None,
    progress: Callable[[RunProgress], None] | None,
    cancelled: Callable[[], bool] | None,
) -> list[Draws]:
    if output is None:
        if resume:
            raise BadInput("resume: needs the directory of a run, `output`")
        return _run_in_memory(spec, settings, workers, progress, cancelled)
    return _run_in_directory(spec, settings, Store(output), resume, workers, progress, cancelled)


def _spec(
    model: Any,
    proposal: Proposal | Slice | None,
    test: Any,
    start: npt.ArrayLike,
    rule: Rule,
    *,
    fuse: bool,
    names: Sequence[str] | None,
) -> ChainSpec:
    """The spec of the arguments of `run`."""
    _check_parts(model, proposal, test)
    design, state = test if isinstance(test, Design) else None, _start(start)
    return ChainSpec(
        model=model,
        proposal=proposal,
        test=test if design is None else SequentialTest.from_design(design),
        start=state,
        rule=check_rule(rule),
        fuse=fuse,
        design=design,
        names=_names(names, state.size),
        kind="rj-logistic" if isinstance(model, RJLogistic) else type(model).__qualname__,
    )


def _check_parts(model: Any, proposal: Any, test: Any) -> None:
    """Refuse what cannot be a model, a proposal or a test."""
    wanted = ["n_data", *(["log_prior", "terms"] if proposal is not None and not isinstance(model, RJLogistic) else [])]
    if missing := [name for name in wanted if not hasattr(model, name)]:
        raise BadInput(
            f"model: {type(model).__name__} has no {missing[0]}; must be a Model, or a field if proposal is None"
        )
    if not (proposal is None or isinstance(proposal, Slice) or hasattr(proposal, "propose")):
        raise BadInput(f"proposal: {type(proposal).__name__} has no propose; must be a Proposal, a Slice or None")
    if not (isinstance(test, Design) or hasattr(test, "decide") or hasattr(test, "decide_at")):
        raise BadInput(f"test: {type(test).__name__} has no decide; must be a test or a Design")


def _start(start: npt.ArrayLike) -> Floats:
    try:
        state = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput("start: must be a list of numbers") from None
    if state.ndim != 1 or not np.all(np.isfinite(state)):
        raise BadInput(f"start: must be a list of finite numbers, has shape {state.shape}")
    return state


def _names(names: Sequence[str] | None, parameters: int) -> tuple[str, ...] | None:
    """Distinct strings, one for each parameter."""
    if names is None:
        return None
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise BadInput("names: must be a list of strings, one for each parameter")
    if len(names) != parameters:
        raise BadInput(f"names: {len(names):,} given for {parameters:,} parameters")
    if len(set(names)) < len(names):
        raise BadInput("names: must be distinct")
    return tuple(str(name) for name in names)


def _run_in_directory(
    spec: ChainSpec,
    settings: RunSettings,
    store: Store,
    resume: bool,
    workers: int | None,
    progress: Callable[[RunProgress], None] | None,
    cancelled: Callable[[], bool] | None,
) -> list[Draws]:
    check_directory(store, resume=resume)
    with blas_threads(BLAS_THREADS):
        chain = spec.chain(np.random.default_rng(0))
        whole = identified(spec, settings.warmup, settings.seed, store.meta(), chain)
    with store.held():
        advance_saved(whole, settings, store, workers=workers, progress=progress, cancelled=cancelled)
        draws = draws_in(store, settings)
        if draws:
            write_results(store, settings, spec.names)
    none = Draws.empty(0, chain.theta.size, chain.theta.dtype)._asdict()
    return [Draws(**draws.get(number, none)) for number in range(settings.chains)]


def _run_in_memory(
    spec: ChainSpec,
    settings: RunSettings,
    workers: int | None,
    progress: Callable[[RunProgress], None] | None,
    cancelled: Callable[[], bool] | None,
) -> list[Draws]:
    every = [spec.chain(rng) for rng in streams(settings.seed, settings.chains)]
    warmup, first = settings.warmup, every[0]
    expected = Expected.of_run(described(spec, first))
    reporter = Reporter(len(every) * settings.steps, first.data_per_step, progress, Monitor(expected, warmup))

    def whole(number: int, stop: Callable[[], bool]) -> Draws:
        chain, report = every[number], reporter.of(number)
        parts = [Draws.empty(0, chain.theta.size, chain.theta.dtype)]
        try:
            for part in in_blocks(chain, settings.steps, breaks=[warmup], advance=Paced(chain.advance), stop=stop):
                if chain.steps > warmup:
                    parts.append(part)
                report.add(part)
        except ChainStopped as stopped:
            if chain.steps < warmup:
                stopped.draws = stopped.draws.first(0)
            raise stopped.after(parts) from None
        return Draws.joined(parts)

    draws = in_parallel(whole, range(len(every)), workers, cancelled)
    if differs := judged(expected, [part._asdict() for part in draws]):
        warnings.warn(differs, NotAsPredicted, stacklevel=4)  # blames the caller of `run`
    return draws
