"""A random walk that learns its covariance and scale during warm-up, and then stays as it is.

Haario's adaptive Metropolis with a Robbins-Monro scale: after each block of steps the covariance of the states so far
and the acceptance rate move the proposal. After warm-up nothing changes, so the chain is then a proper Markov chain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.draws import Draws
from samplers.proposals import RandomWalk

TARGET = 0.234  # acceptance rate of the optimal random walk in many dimensions
TARGET_IN_ONE = 0.44  # and in one
REGULAR = 1e-6  # of the mean variance, added to the diagonal


@dataclass
class Adaptation:
    """What warm-up has learned so far; `state` and `restore` are for checkpoints."""

    walk: RandomWalk
    count: int = 0
    log_scale: float = 0.0
    mean: Floats = field(init=False)
    scatter: Floats = field(init=False)

    def __post_init__(self) -> None:
        dimension = self.walk.factor.shape[0]
        self.mean, self.scatter = np.zeros(dimension), np.zeros((dimension, dimension))

    def learn(self, draws: Draws) -> RandomWalk:
        """Learn from a block of steps; returns the proposal for the next one."""
        for theta in draws.theta:  # Welford: one pass, no cancellation
            self.count += 1
            difference = theta - self.mean
            self.mean += difference / self.count
            self.scatter += np.outer(difference, theta - self.mean)
        target = TARGET_IN_ONE if self.mean.size == 1 else TARGET
        gain = min(1.0, 20.0 / math.sqrt(self.count))
        self.log_scale += gain * (float(draws.accepted.mean()) - target)
        return self.proposal()

    def proposal(self) -> RandomWalk:
        """The current walk: the first one, rescaled, until there are enough states for a covariance."""
        dimension, scale = self.mean.size, math.exp(self.log_scale)
        if self.count < 20 * dimension:
            return RandomWalk(self.walk.factor * scale)
        covariance = self.scatter / (self.count - 1)
        covariance += REGULAR * np.trace(covariance) / dimension * np.eye(dimension)
        if not np.trace(covariance) > 0:  # never moved
            return RandomWalk(self.walk.factor * scale)
        return RandomWalk.with_covariance(covariance, 2.38 / math.sqrt(dimension) * scale)

    def state(self) -> dict[str, Any]:
        """All of it, for a checkpoint."""
        return {"count": self.count, "log_scale": self.log_scale, "mean": self.mean, "scatter": self.scatter}

    def restore(self, state: Mapping[str, Any]) -> None:
        """From a checkpoint."""
        self.count, self.log_scale = int(state["count"]), float(state["log_scale"])
        self.mean, self.scatter = np.array(state["mean"]), np.array(state["scatter"])
