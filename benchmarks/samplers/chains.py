"""The problem on which all samplers are measured, and the measurement of our chains."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from designer import Design
from designer.core.arrays import Floats
from samplers.chains.chain import Chain
from samplers.chains.draws import Draws
from samplers.chains.parallel import streams
from samplers.decide.comparison import AcceptTest
from samplers.decide.sequential import SequentialTest
from samplers.models import Model
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import Proposal, ProxyStep, RandomWalk

DIMENSION, PRIOR_PRECISION = 50, 10.0
BATCH, EPSILON, LOOSER = 100, 0.01, 0.05  # m, and the two ε of the sequential tests here


class LogisticProblem(NamedTuple):
    """Logistic regression on synthetic data, with its mode, Laplace approximation, proposals and test."""

    model: Logistic
    mode: Floats
    controlled: Controlled
    covariance: Floats
    setup: float  # seconds for mode and proxies

    @property
    def sd(self) -> Floats:
        """Standard deviations of the Laplace approximation."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def walk(self) -> RandomWalk:
        return RandomWalk.with_covariance(self.covariance)

    @property
    def proxy(self) -> ProxyStep:
        return ProxyStep.of(self.controlled)

    @property
    def in_float32(self) -> Logistic:
        """The same regression with rows in single precision; sums are still in float64."""
        ones = np.ones(self.model.n_data, dtype=np.bool_)  # the rows are signed
        return Logistic.mapped(self.model.rows.astype(np.float32), ones, PRIOR_PRECISION)

    def sequential(self, epsilon: float = EPSILON) -> SequentialTest:
        return SequentialTest.from_design(Design(self.model.n_data, BATCH, epsilon))


class TimedChain(NamedTuple):
    """A chain that ran for some seconds; `ess` is the smallest bulk ESS over the coordinates."""

    theta: Floats
    seconds: float
    ess: float
    acceptance: float
    used: float

    @property
    def steps_per_s(self) -> float:
        return len(self.theta) / self.seconds

    @property
    def ess_per_s(self) -> float:
        return self.ess / self.seconds


def make_problem(n_data: int, dimension: int = DIMENSION) -> LogisticProblem:
    """Standard normal covariates; every call makes the same data.

    The coefficients are of size 0.3 for the usual dimension; for others, the linear predictor has the same variance.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_data, dimension))
    uniform = rng.random(n_data)  # before the coefficients: the stored reference is for these data
    coefficients = rng.normal(0.0, 0.3 * np.sqrt(DIMENSION / dimension), dimension)
    y = uniform < 1.0 / (1.0 + np.exp(-x @ coefficients))
    start = time.perf_counter()
    model = Logistic.from_data(x, y, prior_precision=PRIOR_PRECISION)
    mode = find_mode(model)
    controlled = Controlled.around(model, mode)
    setup = time.perf_counter() - start
    return LogisticProblem(model, mode, controlled, np.linalg.inv(controlled.posterior_precision()), setup)


def measure(
    problem: LogisticProblem, model: Model, proposal: Proposal, test: AcceptTest, seconds: float, *, seed: int = 1
) -> TimedChain:
    """Measure one chain from the mode on one core, after compilation."""
    chain = Chain(model, proposal, test, problem.mode, streams(seed, 1)[0])
    chain.advance(2)  # compile
    parts, start = [], time.perf_counter()
    while time.perf_counter() - start < seconds:
        parts.append(chain.advance(64))
    elapsed = time.perf_counter() - start
    draws = Draws.joined(parts)
    used, acceptance = float(draws.n_used.mean()), float(draws.accepted.mean())
    return TimedChain(draws.theta, elapsed, float(ess(draws.theta).min()), acceptance, used)


def ess(theta: Floats) -> Floats:
    """Bulk effective sample size of each coordinate of one chain."""
    from arviz_stats.base import array_stats

    return np.array([float(array_stats.ess(column[None, :], chain_axis=0, draw_axis=1)) for column in theta.T])
