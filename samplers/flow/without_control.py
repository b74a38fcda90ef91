"""Models without derivatives: a random walk that learns scale and covariance in an exact chain, before all else."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.core.progress import Progress
from samplers.adapt.random_walk import Adaptation
from samplers.chains.chain import Chain
from samplers.chains.draws import ChainStopped
from samplers.chains.driver import in_blocks
from samplers.decide.exact import ExactTest
from samplers.models import Model
from samplers.models.arrays import blocks
from samplers.proposals import RandomWalk

ROUNDS, MOST_ROUNDS = 3, 12  # of learning; more while the chain still climbs
FALL = 1.0  # of the log posterior, at which a coordinate's first step is long enough
SHORTER = 60  # halvings or doublings of a first step
SETTLED = 5.0  # a round that raises the log posterior by more than this plus 3 √D is part of the burn-in


class Tuned(NamedTuple):
    """A random walk and the state that the chain reached while it was tuned.

    Attributes
    ----------
    walk
        The proposal.
    theta
        The last state.
    acceptance
        In the last round.
    steps
        Made in all.
    """

    walk: RandomWalk
    theta: Floats
    acceptance: float
    steps: int


def tuned(model: Model, start: Floats, rng: np.random.Generator, steps: int, progress: Progress | None = None) -> Tuned:
    """Learn the steps of a random walk from an exact chain, in rounds of `steps`, each from what the last one learned.

    Examples
    --------
    >>> from samplers import Logistic
    >>> x = np.random.default_rng(0).standard_normal((200, 2))
    >>> found = tuned(Logistic.from_data(x, x[:, 0] > 0, 1.0), np.zeros(2), np.random.default_rng(1), 500)
    >>> bool(0.1 < found.acceptance < 0.5), bool(found.theta[0] > 1.0)
    (True, True)
    """
    walk, theta, made, acceptance = RandomWalk(np.diag(first_steps(model, start))), start.copy(), 0, math.nan
    for number in range(1, MOST_ROUNDS + 1):
        chain, learner = Chain(model, walk, ExactTest(), theta, rng), Adaptation(walk)
        accepted, before = 0, theta
        try:
            for part in in_blocks(chain, steps):
                chain.use(learner.learn(part))
                accepted += int(part.accepted.sum())
                if progress is not None:
                    progress(made + chain.steps, max(ROUNDS, number) * steps)
        except ChainStopped as stopped:
            raise BadInput(f"the random walk met a state at which the likelihood is not finite: {stopped}") from None
        walk, theta, acceptance = learner.proposal(), chain.theta.copy(), accepted / steps
        made += steps
        rise = log_posterior_change(model, before, theta)
        if number >= ROUNDS and rise <= SETTLED + 3.0 * math.sqrt(theta.size):
            return Tuned(walk, theta, acceptance, made)
    raise BadInput(
        f"after {made:,} steps the random walk still climbs (by {rise:,.0f} in the last {steps:,}): give a start "
        "nearer to the mode, or a larger warmup"
    )


def first_steps(model: Model, theta: Floats) -> Floats:
    """For each coordinate a step that lowers the log posterior by about 1, found by doubling and halving."""
    found = np.empty(theta.size)
    for j in range(theta.size):
        step = 0.1 * (1.0 + abs(float(theta[j])))
        for _ in range(SHORTER):
            if _fall(model, theta, j, step) <= FALL:
                break
            step *= 0.5
        else:
            raise BadInput(f"start: no step in theta[{j}] keeps the log posterior finite; start elsewhere")
        while _fall(model, theta, j, 2.0 * step) <= FALL and step < 1e6 * (1.0 + abs(float(theta[j]))):
            step *= 2.0
        found[j] = step
    return found / math.sqrt(theta.size)


def _fall(model: Model, theta: Floats, j: int, step: float) -> float:
    """By how much the log posterior changes, on the worse of both sides; infinite where it is not known."""
    changes = []
    for sign in (1.0, -1.0):
        there = theta.copy()
        there[j] += sign * step
        change = log_posterior_change(model, theta, there)
        changes.append(abs(change) if math.isfinite(change) else math.inf)
    return max(changes)


def log_posterior_change(model: Any, theta: Floats, theta_new: Floats) -> float:
    """Of the log posterior, over all data: one pass."""
    with np.errstate(all="ignore"):
        change = float(model.log_prior(theta_new)) - float(model.log_prior(theta))
        if not math.isfinite(change):
            return change
        for block in blocks(model.n_data):
            change += float(np.sum(model.terms(theta, theta_new, np.arange(block.start, block.stop))))
    return change
