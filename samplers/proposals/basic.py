"""What a proposal is, and the random walk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real


class Proposed(NamedTuple):
    """A candidate.

    Attributes
    ----------
    theta
        θ'.
    log_q
        log q(θ'|θ) - log q(θ|θ'), the proposal's part of c; 0 if symmetric.

    Examples
    --------
    >>> RandomWalk.isotropic(0.1, 2).propose(np.random.default_rng(1), np.zeros(2)).log_q
    0.0
    """

    theta: Floats
    log_q: float


class Proposal(Protocol):
    """Draws candidates. Your own proposal needs only this method.

    Examples
    --------
    >>> class Shift:
    ...     def propose(self, rng, theta):
    ...         return Proposed(theta + rng.uniform(-0.1, 0.1, theta.size), 0.0)
    >>> proposal: Proposal = Shift()
    >>> proposal.propose(np.random.default_rng(1), np.zeros(3)).theta.shape
    (3,)
    """

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A candidate for the next state."""


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """θ' = θ + L xi: Gaussian steps.

    Make one with `isotropic` or `with_covariance`.

    Parameters
    ----------
    factor
        L, lower triangular: steps have covariance L L'.

    Examples
    --------
    >>> RandomWalk.with_covariance(np.diag([1.0, 4.0]), scale=0.5).factor
    array([[0.5, 0. ],
           [0. , 1. ]])
    """

    factor: Floats  # L, lower triangular

    @classmethod
    def isotropic(cls, scale: float, dimension: int) -> RandomWalk:
        """Steps of standard deviation `scale` in every coordinate."""
        return cls(np.eye(dimension) * real("scale", scale, 0.0, 1e300, open_low=True))

    @classmethod
    def with_covariance(cls, covariance: npt.ArrayLike, scale: float | None = None) -> RandomWalk:
        """Steps with `scale`^2 times this covariance; 2.38 / sqrt(D) by default, optimal for Gaussian targets."""
        factor = factor_of(covariance)
        optimal = 2.38 / math.sqrt(factor.shape[0])
        return cls(factor * (optimal if scale is None else real("scale", scale, 0.0, 1e300, open_low=True)))

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A step from θ."""
        return Proposed(theta + self.factor @ rng.standard_normal(theta.size), 0.0)


def factor_of(covariance: npt.ArrayLike) -> Floats:
    """L, lower triangular, with L L' = covariance, or BadInput."""
    try:
        matrix = np.asarray(covariance, dtype=np.float64)
        factor: Floats = np.linalg.cholesky(matrix).astype(np.float64)
    except (np.linalg.LinAlgError, ValueError):
        raise BadInput("covariance: must be a symmetric and positive definite matrix") from None
    if not np.all(np.isfinite(factor)) or not np.allclose(matrix, matrix.T, rtol=1e-6):
        raise BadInput("covariance: must be a symmetric and positive definite matrix")
    return factor
