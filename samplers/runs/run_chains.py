"""`run`: several chains of parts that are at hand in Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from designer.core.errors import integer
from designer.engine.step_error import Rule
from samplers.chains.draws import MAX_DRAWS, ChainStopped, Draws
from samplers.chains.driver import in_blocks
from samplers.chains.parallel import Reporter, RunProgress, in_parallel, streams
from samplers.chains.protocol import MarkovChain
from samplers.chains.spec import ChainSpec
from samplers.decide.comparison import AcceptTest
from samplers.models import Model
from samplers.proposals import Proposal


def run(
    model: Model,
    proposal: Proposal,
    test: AcceptTest,
    *,
    start: npt.ArrayLike,
    draws: int,
    warmup: int = 0,
    chains: int = 4,
    seed: int = 0,
    rule: Rule = "metropolis",
    workers: int | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    fuse: bool = True,
) -> list[Draws]:
    """Several chains from the same start, in threads.

    Parameters
    ----------
    model, proposal, test, rule, fuse
        As for `Chain`.
    start
        Of every chain, D numbers.
    draws, warmup
        Steps of each chain that are returned, and steps before them that are not.
    chains
        How many.
    seed
        The draws depend on it alone, not on `workers`.
    workers
        Threads; as many as cores by default.
    progress
        Called with a `RunProgress` after each block of steps.
    cancelled
        Asked before each block; once it says True, the draws so far are returned.

    Returns
    -------
    list of Draws
        One per chain. `samplers.collect([draws._asdict() for draws in ...])` makes a DataTree for ArviZ.

    Raises
    ------
    ChainStopped
        If a log-likelihood is not finite.

    Examples
    --------
    >>> from samplers import ExactTest, Logistic, RandomWalk
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> chains = run(model, RandomWalk.isotropic(0.2, 2), ExactTest(), start=np.zeros(2), draws=50, warmup=10, chains=2)
    >>> [draws.theta.shape for draws in chains]
    [(50, 2), (50, 2)]
    """
    draws, warmup = integer("draws", draws, 1, MAX_DRAWS), integer("warmup", warmup, 0, MAX_DRAWS)
    spec = ChainSpec(model, proposal, test, np.array(start, dtype=np.float64), rule, fuse=fuse)
    every = [spec.chain(rng) for rng in streams(seed, integer("chains", chains, 1, 10**4))]
    report = Reporter(len(every) * (draws + warmup), model.n_data, progress)

    def whole(chain: MarkovChain, stop: Callable[[], bool]) -> Draws:
        parts = [Draws.empty(0, chain.theta.size, chain.theta.dtype)]
        try:
            for part in in_blocks(chain, warmup + draws, breaks=[warmup], stop=stop):
                if chain.steps > warmup:
                    parts.append(part)
                report.add(part)
        except ChainStopped as stopped:
            if chain.steps < warmup:
                stopped.draws = stopped.draws.first(0)
            raise stopped.after(parts) from None
        return Draws.joined(parts)

    return in_parallel(whole, every, workers, cancelled)
