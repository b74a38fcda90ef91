"""Unmixing four sounds: model, start and a random walk tuned to an acceptance rate (K14 section 6.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.chain import Chain
from samplers.data.sources import Source
from samplers.decide import ExactTest
from samplers.models.ica import ICA, whiten
from samplers.proposals import StiefelWalk

FIRST_SCALE = 5.0  # of the walk, in units of 1 / sqrt(N)
BLOCK = 10  # steps between changes of the scale


class Unmixing(NamedTuple):
    """The model of white data, the true unmixing matrix, and the orthonormal matrix nearest to it (flat)."""

    model: ICA
    truth: Floats
    start: Floats


def unmixing(source: Source) -> Unmixing:
    """Of the data set `audio`."""
    white = whiten(source.x)
    truth = white.unmixing(source.extra["mixing"])
    left, _, right = np.linalg.svd(truth)
    return Unmixing(ICA.from_data(white.rows), truth, (left @ right).ravel())


def tuned_chain(
    rng: np.random.Generator, problem: Unmixing, warmup: int, acceptance: float, step: Callable[[float], None]
) -> Chain:
    """An exact chain after warmup, in which the scale of its walk learned the acceptance rate and then stays.

    `step` is told the share of the warmup that is done.
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
