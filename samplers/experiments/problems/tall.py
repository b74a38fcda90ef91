"""Logistic regression on data as tall as memory allows: the posterior, its proxies, and nearly exact moments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.models.arrays import blocks
from samplers.models.control import Controlled
from samplers.models.control.expansion import rows_of
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk

TOGETHER = 64  # draws whose likelihoods are computed in one pass over the data


class TallProblem(NamedTuple):
    """The posterior with second-order proxies at its mode, the proposals, and the seconds for mode and proxies."""

    model: Logistic
    proxies: Controlled
    walk: RandomWalk
    proxy: ProxyStep
    seconds: float

    @property
    def covariance(self) -> Floats:
        """Covariance of the proxies' posterior."""
        covariance: Floats = self.proxy.factor @ self.proxy.factor.T
        return covariance

    def draw(self, rng: np.random.Generator, draws: int) -> Floats:
        """Draws from the proxies' posterior."""
        xi = rng.standard_normal((draws, self.proxy.centre.size))
        points: Floats = self.proxy.centre + xi @ self.proxy.factor.T
        return points


class Moments(NamedTuple):
    """Means and standard deviations, and the largest standard error of a mean in standard deviations."""

    mean: Floats
    sd: Floats
    error: float


def moments(rng: np.random.Generator, problem: TallProblem, draws: int, progress: Callable[[float], None]) -> Moments:
    """Moments of the posterior, by importance sampling from its proxies with all data.

    The moments of the proxies are known. Only the effect of the weights w is estimated: E d (w - 1), which has a small
    variance if the proxies are good, as they are for large N.
    """
    points = problem.draw(rng, draws)
    weights = _weights(problem, points, progress)
    d, centre, variance = points - problem.proxy.centre, problem.proxy.centre, np.diag(problem.covariance)
    shifts = d * (weights - 1.0)[:, None]
    shift = shifts.mean(axis=0)
    sd = np.sqrt(variance + ((d * d - variance) * (weights - 1.0)[:, None]).mean(axis=0) - shift * shift)
    return Moments(centre + shift, sd, float((shifts.std(axis=0) / sd).max() / math.sqrt(draws)))


def _weights(problem: TallProblem, points: Floats, progress: Callable[[float], None]) -> Floats:
    """Posterior density divided by that of the proxies, with mean 1 over the points."""
    model, d = problem.model, points - problem.proxy.centre
    log = 0.5 * np.einsum("ij,jk,ik->i", d, problem.proxy.precision, d)
    log += [model.log_prior(point) for point in points]
    for start in range(0, len(points), TOGETHER):
        some = slice(start, start + TOGETHER)
        for block in blocks(model.n_data):
            progress((start + TOGETHER * block.start / model.n_data) / len(points))
            log[some] += model.value(points[some] @ rows_of(model, block).T, block).sum(axis=1)
    weights: Floats = np.exp(log - log.max())
    weights /= weights.mean()
    return weights
