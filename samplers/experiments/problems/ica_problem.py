"""Unmixing four sounds: model, starting point, and a random walk tuned to an acceptance rate (K14 section 6.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.chain import Chain
from samplers.data.sources import Source, load
from samplers.decide import ExactTest
from samplers.experiments.framework.data_sets import origin_of
from samplers.experiments.framework.running import Work
from samplers.models.ica import ICA, whiten
from samplers.proposals import StiefelWalk

FIRST_SCALE = 5.0  # of the walk, in units of 1 / sqrt(N)
BLOCK = 10  # steps between changes of the scale


class Unmixing(NamedTuple):
    """The model of the whitened data, the true unmixing matrix, and the nearest orthonormal matrix (flat)."""

    model: ICA
    truth: Floats
    start: Floats


def unmixing(source: Source) -> Unmixing:
    """The problem for the data set `audio`."""
    white = whiten(source.x)
    truth = white.unmixing(source.extra["mixing"])
    left, _, right = np.linalg.svd(truth)
    return Unmixing(ICA.from_data(white.rows), truth, (left @ right).ravel())


def tuned_chain(
    rng: np.random.Generator, problem: Unmixing, warmup: int, acceptance: float, step: Callable[[float], None]
) -> Chain:
    """An exact chain after a warm-up that adapts the scale of its walk to the acceptance rate; then the scale is fixed.

    `step` is called with the share of the warm-up that is done.
    """
    model, size = problem.model, problem.truth.shape[0]
    scale = FIRST_SCALE / math.sqrt(model.n_data)
    chain = Chain(model, StiefelWalk(scale, size), ExactTest(), problem.start, rng)
    for block in range(max(1, warmup // BLOCK)):
        step(block * BLOCK / warmup)
        accepted = chain.advance(BLOCK).accepted.mean()
        scale *= math.exp((float(accepted) - acceptance) * 2.0 / math.sqrt(1.0 + block))
        chain.use(StiefelWalk(scale, size))
    return chain


class TunedUnmixing(NamedTuple):
    """The problem, the tuned scale of the walk, the state after tuning, and where the data come from."""

    problem: Unmixing
    scale: float
    start: Floats
    origin: Mapping[str, object]

    @property
    def walk(self) -> StiefelWalk:
        """The tuned random walk."""
        return StiefelWalk(self.scale, self.problem.truth.shape[0])


def tuned_unmixing(
    rng: np.random.Generator, rows: int | None, warmup: int, acceptance: float, work: Work
) -> TunedUnmixing:
    """Load and whiten the data, and tune the walk."""
    source = load("audio", work.data, rows)
    problem = unmixing(source)
    chain = tuned_chain(rng, problem, warmup, acceptance, lambda share: work.step(0.0, f"tuning, {share:.0%}"))
    assert isinstance(chain.proposal, StiefelWalk)
    return TunedUnmixing(problem, chain.proposal.scale, chain.theta, origin_of(source))
