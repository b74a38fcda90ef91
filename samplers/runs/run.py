"""Runs of a config: chains that are saved and resumed, trial runs, audits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from designer.core.errors import BadInput, integer
from designer.core.progress import Progress, raise_if
from designer.pairs.notes import Note
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from samplers.adapt.warmup import Warmup
from samplers.chains.blas import blas_threads
from samplers.chains.draws import MAX_DRAWS, ChainStopped, Draws
from samplers.chains.driver import in_blocks
from samplers.chains.parallel import RunProgress, streams
from samplers.chains.protocol import MarkovChain
from samplers.chains.spec import ChainSpec
from samplers.config.assemble import build
from samplers.config.config import SamplerConfig
from samplers.config.schema import AlwaysTable, ExactMinibatchTable
from samplers.decide.exact import ExactTest
from samplers.runs.saved_run import BLAS_THREADS, RunSettings, check_directory, run_saved
from samplers.runs.store import Store
from samplers.study.audit import EVERY, PASSES, Audit, audit_chain
from samplers.study.observe import Observed, Pair, check_observable, independent, observing, spacing
from samplers.study.predict_minibatch import minibatch_notes

if TYPE_CHECKING:
    from xarray import DataTree

INDEPENDENT_WARMUP = 100  # steps of a trial run's warm-up that are enough for independent proposals, from the mode


def run_config(
    config: SamplerConfig,
    output: str | Path,
    *,
    resume: bool = False,
    workers: int | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> DataTree:
    r"""Run the chains of a config, or continue them; they are saved in `output`.

    The draws depend on the config alone: not on the workers, nor on where a run was killed and resumed. The results
    are also written to `results.nc` in `output`.

    Parameters
    ----------
    config
        What to run.
    output
        A directory, new or empty unless `resume`.
    resume
        Continue from the checkpoints in `output`.
    workers
        Threads; as many as cores by default.
    progress
        Called with a `RunProgress` after every few steps, several times a second if a step is that fast.
    cancelled
        Asked as often; once it says True, the draws so far are saved and returned.

    Returns
    -------
    DataTree
        All draws after warm-up.

    Raises
    ------
    BadInput
        If `output` holds another run or other files, or if the run was cancelled before the end of warm-up; its
        progress is saved.

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
    check_directory(store, resume=resume)
    with blas_threads(BLAS_THREADS):
        spec = build(config)
        return run_saved(spec, settings_of(config), store, workers=workers, progress=progress, cancelled=cancelled)


def settings_of(config: SamplerConfig) -> RunSettings:
    """The settings of a config's run."""
    run = config.run
    numbers = run.draws, run.warmup, run.chains, run.seed, run.checkpoint_seconds
    return RunSettings(*numbers, schedule=config.schedule, redesign=config.redesign)


def collect_pairs(
    config: SamplerConfig,
    pairs: int,
    every: int | None = None,
    *,
    spec: ChainSpec | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> TrialRun:
    r"""A trial run: pairs of one exact chain of the config, after its warm-up.

    Parameters
    ----------
    config
        Data, model and proposal; its test is not used.
    pairs
        How many; each costs a pass over the data.
    every
        Steps from one to the next; by default 1 for independent proxy proposals, 10 for random walks, and what the
        correlation of the steps asks for in between. Each step of an exact chain is a pass over the data.
    spec
        What `build` made of the config, if it did already.
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
    pairs = integer("pairs", pairs, 1, MAX_DRAWS)
    if every is not None:
        every = integer("every", every, 1, MAX_DRAWS)
    with blas_threads(BLAS_THREADS):
        exact = (build(config) if spec is None else spec)._replace(test=ExactTest())
        return _pairs(config, exact, pairs, spacing(exact.proposal) if every is None else every, progress, cancelled)


def _pairs(
    config: SamplerConfig,
    spec: ChainSpec,
    pairs: int,
    every: int,
    progress: Progress | None,
    cancelled: Callable[[], bool] | None,
) -> TrialRun:
    warmup = min(config.run.warmup, INDEPENDENT_WARMUP) if independent(spec.proposal) else config.run.warmup
    steps = warmup + pairs * every

    def tell(done: int) -> None:
        raise_if(cancelled)
        if progress is not None:
            progress(done, steps)

    chain = _observable(config, spec, warmup, tell)
    recorded: list[Pair] = []
    accepted = 0
    try:
        for part in observing(chain, steps, every, recorded):
            accepted += int(np.count_nonzero(part.accepted))
            tell(chain.steps)
    except ChainStopped as stopped:
        stopped.add_note(f"{(chain.steps - warmup) // every:,} pairs can be recorded before that")
        raise
    notes: dict[str, Note] = {"proposal": config.proposal.kind, "chain_acceptance": accepted / (pairs * every)}
    if heavy := getattr(spec.model, "n_heavy", 0):
        notes |= {"n_heavy": heavy, "heavy": spec.model.split.sentence}
    notes |= minibatch_notes(np.random.default_rng(config.run.seed), chain.model, chain.proposal, config.rule)
    return Observed(Draws.empty(0, chain.theta.size), recorded, config.rule).trial(chain.n_data, notes)


def audit_config(
    config: SamplerConfig,
    steps: int | None = None,
    every: int = EVERY,
    *,
    passes: int = PASSES,
    tolerance: float | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Audit:
    r"""Audit the test of a config in the steps of its first chain, after the warm-up.

    Parameters
    ----------
    config
        With any test but the exact one.
    steps
        How many to make; by default as many as it takes to notice twice the tolerance, at most `passes * every`.
    every
        Steps from one audited step to the next.
    passes
        Most audited steps; each costs a pass over the data.
    tolerance
        Of mean |Δ|; by default that of the design (see `audit`).
    progress, cancelled
        As for `audit_chain`.

    Returns
    -------
    Audit
        How wrong the test is, against its tolerance.

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
    steps = None if steps is None else integer("steps", steps, 1, MAX_DRAWS)
    every = integer("every", every, 1, MAX_DRAWS)
    if config.redesign is not None:
        raise BadInput("redesign: an audit is of one design; leave this table out")
    if config.schedule is not None:
        raise BadInput("schedule: an audit is of one design; leave this table out")
    if config.test is None:
        raise BadInput("test.kind = 'exact': has no error to audit")
    if isinstance(config.test, ExactMinibatchTable):
        raise BadInput("test.kind = 'exact-minibatch': has no error to audit; its chains have the exact posterior")
    if isinstance(config.test, AlwaysTable):
        raise BadInput("test.kind = 'always': decides nothing, so there is nothing to audit")
    design = config.test if isinstance(config.test, Design) else None
    with blas_threads(BLAS_THREADS):
        chain = _observable(config, build(config), config.run.warmup)
        return audit_chain(
            chain,
            design,
            tolerance=tolerance,
            passes=passes,
            every=every,
            steps=steps,
            progress=progress,
            cancelled=cancelled,
        )


def _observable(
    config: SamplerConfig, spec: ChainSpec, warmup: int, tell: Callable[[int], None] = lambda done: None
) -> MarkovChain:
    """The first chain of a config after warm-up, if its steps are decisions about pairs; BadInput at once if not."""
    check_observable(spec.chain(streams(config.run.seed, 1)[0]))
    return warmed_up(config, spec, tell, warmup)


def warmed_up(
    config: SamplerConfig,
    spec: ChainSpec,
    tell: Callable[[int], None] = lambda done: None,
    steps: int | None = None,
) -> MarkovChain:
    """The first chain of a config at the end of its warm-up; `tell` hears of its steps before each block."""
    chain, warmup = spec.chain(streams(config.run.seed, 1)[0]), Warmup(spec)
    for part in in_blocks(chain, config.run.warmup if steps is None else steps, stop=lambda: tell(chain.steps)):
        warmup.learn(chain, part)
    return chain
