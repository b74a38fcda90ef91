"""Trial runs of one random walk at several step sizes, from the states of one exact chain.

The stationary distribution does not depend on the step size, so the states of one chain serve all sizes. At every
k-th state one step of each size is proposed and its pair recorded; none of these steps is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from designer.core.errors import BadInput, integer, real
from designer.pairs.trial_run import TrialRun
from samplers.chains.chain import compare
from samplers.chains.protocol import MarkovChain
from samplers.models.moments import moments
from samplers.proposals import RandomWalk
from samplers.study.observe import Observed, Pair

__all__ = ["trials_at"]


def trials_at(
    chain: MarkovChain,
    scales: Iterable[float],
    pairs: int = 100,
    every: int = 10,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[float, TrialRun]:
    """Advance a chain of random-walk steps; every `every`-th state gives a pair for each relative step of `scales`.

    The chain should have reached stationarity. `designer.best_step` takes the result.

    Parameters
    ----------
    chain
        With a `RandomWalk`; its own steps have relative size 1.
    scales
        Relative step sizes.
    pairs
        For each step size; every one of them costs a pass over the data.
    every
        Steps of the chain between them.
    progress
        Called with (pairs done, all).

    Returns
    -------
    dict of TrialRun
        By relative step size.

    Examples
    --------
    >>> from samplers import Chain, ExactTest, Logistic
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> chain = Chain(model, RandomWalk.isotropic(0.2, 2), ExactTest(), np.zeros(2), np.random.default_rng(1))
    >>> runs = trials_at(chain, [1.0, 2.0], pairs=20)
    >>> bool(np.median(runs[2.0].kappa) > np.median(runs[1.0].kappa))
    True
    """
    walk = chain.proposal
    if not isinstance(walk, RandomWalk):
        raise BadInput(f"proposal: must be a RandomWalk to be scaled, not {type(walk).__name__}")
    sizes = sorted({real("scales", scale, 1e-3, 1e3) for scale in scales})
    pairs, every = integer("pairs", pairs, 1, 10**6), integer("every", every, 1, 10**9)
    walks = {scale: RandomWalk(walk.factor * scale) for scale in sizes}
    recorded: dict[float, list[Pair]] = {scale: [] for scale in sizes}
    for number in range(pairs):
        draws = chain.advance(every)
        for scale in sizes:
            pair = _pair(chain, walks[scale])
            recorded[scale] += [pair] if pair is not None else []
        if progress is not None:
            progress(number + 1, pairs)
    nothing = draws.first(0)
    return {scale: Observed(nothing, of_size).trial(chain.model.n_data) for scale, of_size in recorded.items()}


def _pair(chain: MarkovChain, walk: RandomWalk) -> Pair | None:
    """The pair of a proposal from the current state; None if the prior alone decides."""
    proposed = walk.propose(chain.rng, chain.theta)
    question = compare(chain.model, chain.theta, proposed.theta, proposed.log_q, chain.rule)
    if not np.isfinite(question.log_ratio):
        return None
    mu, sigma, skew = moments(question)
    return Pair(mu, sigma, skew, question.log_ratio, 0.0, False, False, question.n)
