"""Proposals: theta -> theta', and the log of the proposal ratio.

`propose` returns theta' and log q(theta'|theta) - log q(theta|theta'), the proposal's part of the log ratio c; it is 0
for the symmetric ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from designer.errors import BadInput, real
from designer.schedule import Floats
from samplers.control import Controlled


class Proposed(NamedTuple):
    """A candidate, and log q(theta'|theta) - log q(theta|theta')."""

    theta: Floats
    log_q: float


class Proposal(Protocol):
    """Draws candidates."""

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed: ...


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """theta' = theta + L xi: Gaussian, isotropic (`isotropic`) or with any covariance L L'."""

    factor: Floats  # L, lower triangular

    @classmethod
    def isotropic(cls, scale: float, dimension: int) -> RandomWalk:
        """Steps of standard deviation `scale` in every coordinate."""
        return cls(np.eye(dimension) * real("scale", scale, 0.0, 1e300, open_low=True))

    @classmethod
    def with_covariance(cls, covariance: Floats, scale: float | None = None) -> RandomWalk:
        """Steps with `scale`^2 times this covariance; 2.38 / sqrt(D) by default, optimal for Gaussian targets."""
        step = 2.38 / math.sqrt(len(covariance)) if scale is None else real("scale", scale, 0.0, 1e300, open_low=True)
        return cls(_factor(covariance) * step)

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        return Proposed(theta + self.factor @ rng.standard_normal(theta.size), 0.0)


@dataclass(frozen=True, eq=False)
class ProxyStep:
    """theta' = centre + sqrt(1 - beta^2) (theta - centre) + beta L xi: reversible for N(centre, L L').

    With the mode as centre and the inverse Hessian there as covariance, the quadratic parts of posterior and proposal
    cancel: the test of a `Controlled` model sees only third-order residuals. beta = 1 is an independence proposal.
    """

    centre: Floats
    factor: Floats
    precision: Floats
    beta: float

    @classmethod
    def of(cls, model: Controlled, beta: float = 1.0) -> ProxyStep:
        """From the proxies of a second-order controlled model."""
        if model.order != 2:
            raise BadInput("a proxy proposal needs control variates of order 2")
        precision = model.posterior_precision()
        factor = _factor(np.linalg.inv(precision))
        return cls(model.centre, factor, precision, real("beta", beta, 0.0, 1.0, open_low=True))

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        keep = math.sqrt(1.0 - self.beta**2)
        new = self.centre + keep * (theta - self.centre) + self.beta * (self.factor @ rng.standard_normal(theta.size))
        return Proposed(new, self._log_density(new) - self._log_density(theta))

    def _log_density(self, theta: Floats) -> float:
        d = theta - self.centre
        return -0.5 * float(d @ self.precision @ d)


def _factor(covariance: npt.ArrayLike) -> Floats:
    try:
        return np.linalg.cholesky(np.asarray(covariance, dtype=np.float64))
    except np.linalg.LinAlgError:
        raise BadInput("covariance: must be symmetric and positive definite") from None
