"""`run`: several chains of a model, a proposal and a test, in memory or saved as they go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.errors import BadInput, integer, real
from designer.engine.step_error import Rule
from designer.rule.design import Design
from samplers.chains.blas import blas_threads
from samplers.chains.draws import MAX_DRAWS, ChainStopped, Draws
from samplers.chains.driver import in_blocks
from samplers.chains.parallel import MAX_CHAINS, MAX_SEED, Reporter, RunProgress, in_parallel, streams
from samplers.chains.protocol import MarkovChain
from samplers.chains.slice_chain import Slice
from samplers.chains.spec import ChainSpec
from samplers.decide.comparison import AcceptTest, LevelTest
from samplers.decide.sequential import SequentialTest
from samplers.models.rj_logistic import RJLogistic
from samplers.proposals import Proposal
from samplers.runs.identity import identified
from samplers.runs.saved_run import BLAS_THREADS, RunSettings, draws_in, refuse_used, run_saved
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
        Of the parameters, for the results.
    workers
        Threads; as many as cores by default.
    progress
        Called with a `RunProgress` after each block of steps.
    cancelled
        Asked before each block; once it says True, the draws so far are saved and returned.

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
    settings = RunSettings(
        integer("draws", draws, 1, MAX_DRAWS),
        integer("warmup", warmup, 0, MAX_DRAWS),
        integer("chains", chains, 1, MAX_CHAINS),
        integer("seed", seed, 0, MAX_SEED),
        real("checkpoint_seconds", checkpoint_seconds, 0.0, 1e9),
    )
    spec = _spec(model, proposal, test, start, rule, fuse=fuse, names=names)
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
    design = test if isinstance(test, Design) else None
    spec = ChainSpec(
        model=model,
        proposal=proposal,
        test=test if design is None else SequentialTest.from_design(design),
        start=np.array(start, dtype=np.float64),
        rule=rule,
        fuse=fuse,
        design=design,
        names=None if names is None else tuple(names),
        kind="rj-logistic" if isinstance(model, RJLogistic) else type(model).__qualname__,
    )
    if names is not None and len(names) != spec.start.size:
        raise BadInput(f"names: {len(names):,} given for {spec.start.size:,} parameters")
    return spec


def _run_in_directory(
    spec: ChainSpec,
    settings: RunSettings,
    store: Store,
    resume: bool,
    workers: int | None,
    progress: Callable[[RunProgress], None] | None,
    cancelled: Callable[[], bool] | None,
) -> list[Draws]:
    if not resume:
        refuse_used(store)
    with blas_threads(BLAS_THREADS):
        known = identified(spec, settings.warmup, settings.seed)
        run_saved(known, settings, store, workers=workers, progress=progress, cancelled=cancelled)
    none = Draws.empty(0, spec.start.size)._asdict()
    draws = draws_in(store, settings)
    return [Draws(**draws.get(number, none)) for number in range(settings.chains)]


def _run_in_memory(
    spec: ChainSpec,
    settings: RunSettings,
    workers: int | None,
    progress: Callable[[RunProgress], None] | None,
    cancelled: Callable[[], bool] | None,
) -> list[Draws]:
    every = [spec.chain(rng) for rng in streams(settings.seed, settings.chains)]
    warmup, report = settings.warmup, Reporter(len(every) * settings.steps, every[0].data_per_step, progress)

    def whole(chain: MarkovChain, stop: Callable[[], bool]) -> Draws:
        parts = [Draws.empty(0, chain.theta.size, chain.theta.dtype)]
        try:
            for part in in_blocks(chain, settings.steps, breaks=[warmup], stop=stop):
                if chain.steps > warmup:
                    parts.append(part)
                report.add(part)
        except ChainStopped as stopped:
            if chain.steps < warmup:
                stopped.draws = stopped.draws.first(0)
            raise stopped.after(parts) from None
        return Draws.joined(parts)

    return in_parallel(whole, every, workers, cancelled)
