"""Logistic regression on data as tall as memory allows: the posterior, its proxies, and nearly exact moments."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from samplers.experiments.framework.seeds import generator
from samplers.models.arrays import blocks
from samplers.models.control import Controlled, find_mode
from samplers.models.control.expansion import rows_of
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk

PRIOR_PRECISION = 10.0
COEFFICIENTS = 0.3  # their standard deviation; covariates are standard normal
TOGETHER = 64  # draws whose likelihoods are computed in one pass over the data
STEEPEST = 1.0 / (6.0 * math.sqrt(3.0))  # largest third derivative of log sigm


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


@lru_cache(maxsize=1)  # consecutive parts of an experiment use the same data
def tall_problem(n_data: int, dimension: int, seed: int) -> TallProblem:
    """Make the data in single precision, block by block: 10^7 x 20 numbers are 0.8 GB."""
    rng = generator(seed, "tall", str(n_data))
    truth = rng.normal(0.0, COEFFICIENTS, dimension)
    x: npt.NDArray[Any] = np.empty((n_data, dimension), dtype=np.float32)
    y = np.empty(n_data, dtype=np.int8)
    for block in blocks(n_data):
        x[block] = rng.standard_normal((block.stop - block.start, dimension), dtype=np.float32)
        y[block] = rng.random(block.stop - block.start) < 1.0 / (1.0 + np.exp(-(x[block] @ truth)))
    start = time.perf_counter()
    model = Logistic.mapped(x, y, PRIOR_PRECISION)
    proxies = Controlled.around(model, find_mode(model), stored=False)
    walk = RandomWalk.with_covariance(np.linalg.inv(proxies.posterior_precision()))
    return TallProblem(model, proxies, walk, ProxyStep.of(proxies), time.perf_counter() - start)


@dataclass(frozen=True)
class BoundedResiduals:
    """Second-order control variates with a bound C >= max |rᵢ|, which the concentration test needs.

    The error of the proxy of a datum is at most STEEPEST / 6 |eta_i - eta_i*|^3, by Taylor's theorem.
    """

    proxies: Controlled
    model: Logistic

    @property
    def n_data(self) -> int:
        return self.model.n_data

    def log_prior(self, theta: Floats) -> float:
        return self.proxies.log_prior(theta)

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        return self.proxies.terms(theta, theta_new, indices)

    def range_bound(self, theta: Floats, theta_new: Floats) -> float:
        furthest = [self.model.range_bound(self.proxies.centre, point) for point in (theta, theta_new)]
        return STEEPEST / 6.0 * sum(distance**3 for distance in furthest)


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
