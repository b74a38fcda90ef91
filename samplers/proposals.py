"""Proposals: θ -> θ', and the log of the proposal ratio.

`propose` returns θ' and log q(θ'|θ) - log q(θ|θ'), the proposal's part of the log ratio c; it is 0
for the symmetric ones.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer, real
from samplers.decide.subsample import Subsampler
from samplers.models import _kernels
from samplers.models.arrays import check_size
from samplers.models.control import Controlled

__all__ = ["GradientModel", "Langevin", "Proposal", "Proposed", "ProxyStep", "RandomWalk", "StiefelWalk"]


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
        factor = _factor(covariance)
        optimal = 2.38 / math.sqrt(factor.shape[0])
        return cls(factor * (optimal if scale is None else real("scale", scale, 0.0, 1e300, open_low=True)))

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A step from θ."""
        return Proposed(theta + self.factor @ rng.standard_normal(theta.size), 0.0)


@dataclass(frozen=True, eq=False)
class ProxyStep:
    """θ' = centre + sqrt(1 - beta²) (θ - centre) + beta L xi: reversible for N(centre, L L').

    With the centre and covariance of the posterior's quadratic proxies, proxies and proposal cancel: the test of a
    `Controlled` model sees only third-order residuals. Make one with `of`.

    Parameters
    ----------
    centre
        Mean of the normal distribution that the steps leave invariant.
    factor, precision
        L, and (L L')^-1.
    beta
        In (0, 1]: 1 is an independence proposal, small values are small steps.

    Examples
    --------
    >>> from samplers import Controlled, Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> proxied = Controlled.around(model, find_mode(model))
    >>> ProxyStep.of(proxied, beta=0.5).propose(np.random.default_rng(1), proxied.centre).theta.shape
    (2,)
    """

    centre: Floats
    factor: Floats
    precision: Floats
    beta: float

    @classmethod
    def of(cls, model: Controlled, beta: float = 1.0) -> ProxyStep:
        """From the proxies of a second-order controlled model; they need not be expanded at the mode."""
        if model.order != 2:
            raise BadInput("a proxy proposal needs control variates of order 2")
        precision = model.posterior_precision()
        factor = _factor(np.linalg.inv(precision))
        slope = model.gradient + model.model.prior_gradient(model.centre)
        mode = model.centre + np.linalg.solve(precision, slope)  # the mode of the quadratic proxies
        return cls(mode, factor, precision, real("beta", beta, 0.0, 1.0, open_low=True))

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A step from θ, and its log ratio."""
        keep = math.sqrt(1.0 - self.beta**2)
        new = self.centre + keep * (theta - self.centre) + self.beta * (self.factor @ rng.standard_normal(theta.size))
        return Proposed(new, self._log_density(new) - self._log_density(theta))

    def _log_density(self, theta: Floats) -> float:
        d = theta - self.centre
        return -0.5 * float(d @ self.precision @ d)


@dataclass(frozen=True)
class StiefelWalk:
    """W' = W exp(scale A) on the orthonormal D x D matrices, A skew-symmetric with standard normal entries (K14 6.2).

    θ is W, flattened. The determinant never changes its sign; for ICA, where signs and order of the rows do not
    matter, the matrices of either sign hold the whole posterior.

    Parameters
    ----------
    scale
        Typical angle of the rotation in each coordinate plane, in radians.
    size
        D.

    Examples
    --------
    >>> walk = StiefelWalk(0.1, 3)
    >>> w = walk.propose(np.random.default_rng(1), np.eye(3).ravel()).theta.reshape(3, 3)
    >>> np.allclose(w @ w.T, np.eye(3), atol=1e-15)
    True
    """

    # Symmetric, so log_q = 0. R = exp(sA) has R^-1 = exp(-sA), and -A has the law of A: R and R^-1 have the same law.
    # For any f, and W from the uniform (Haar) measure, which does not change under W -> V = W R, independently of R,
    #     E f(W, W R) = E f(V R^-1, V) = E f(V R, V) = E f(W R, W):
    # moves from W to W' and back are equally likely, with densities taken in the uniform measure, the prior of ICA.
    # It does not matter that R stands on the right: W A W' has the law of A, so W R = (W R W') W has that of R W.

    scale: float
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", real("scale", self.scale, 0.0, 10.0, open_low=True))
        object.__setattr__(self, "size", integer("size", self.size, 2, 1000))

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A rotation of θ by random angles."""
        check_size(theta, self.size**2)
        new = np.empty((self.size, self.size))
        xi = rng.standard_normal(self.size * (self.size - 1) // 2)
        off = _kernels.rotate(xi, self.scale, theta.reshape(new.shape), new)
        if not off <= _kernels.ORTHONORMAL:
            raise BadInput(f"theta: must be an orthonormal matrix; its products of columns are off by {off:.3g}")
        return Proposed(new.ravel(), 0.0)


class GradientModel(Protocol):
    """What `Langevin` needs from a model: gradients of the log-likelihood, summed over some data, and of the log prior.

    Examples
    --------
    >>> from samplers.models.lasso import Lasso
    >>> model: GradientModel = Lasso.from_data([1.0, 2.0], [0.5, 1.5], precision=3.0, penalty=1.0)
    >>> model.gradient(np.array([0.5]), np.array([0, 1]))
    array([3.])
    """

    @property
    def n_data(self) -> int:
        """Number of data N."""

    def gradient(self, theta: Floats, indices: Ints) -> Floats:
        """Gradient of the log-likelihood, summed over these data."""

    def prior_gradient(self, theta: Floats) -> Floats:
        """Gradient of the log prior."""


@dataclass(frozen=True, eq=False)
class Langevin:
    """θ' ~ N(θ + step / 2 g(θ), step), g the posterior's gradient estimated from a mini-batch (K16 Eqn 21).

    The mini-batch is drawn first, whatever θ is, and both directions of the ratio use it: each mini-batch's kernel
    is in detailed balance by itself, and so is their mixture (K14 section 6.4). The `batch` data are read for θ and
    θ', and are not counted in a test's n_used; the results of a run report them as `gradient_batch`.

    Parameters
    ----------
    model
        A model with `gradient` and `prior_gradient`.
    step
        Variance of the noise.
    batch
        Data in a mini-batch.

    Examples
    --------
    >>> from samplers.models.lasso import Lasso, draw_line
    >>> model = Lasso.from_data(*draw_line(np.random.default_rng(1)))
    >>> proposed = Langevin(model, step=5e-6, batch=500).propose(np.random.default_rng(2), np.array([0.01]))
    >>> proposed.theta.shape
    (1,)
    """

    model: GradientModel
    step: float
    batch: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", real("step", self.step, 0.0, 1e300, open_low=True))
        object.__setattr__(self, "batch", integer("batch", self.batch, 1, self.model.n_data))

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A step along the estimated gradient, and its log ratio."""
        indices = _mini_batch(rng, self.model.n_data, self.batch)
        xi = rng.standard_normal(theta.size)
        new = theta + self._drift(theta, indices) + math.sqrt(self.step) * xi
        back = (theta - new - self._drift(new, indices)) / math.sqrt(self.step)
        return Proposed(new, 0.5 * float(back @ back - xi @ xi))

    def _drift(self, theta: Floats, indices: Ints) -> Floats:
        scale = self.model.n_data / self.batch
        return 0.5 * self.step * (scale * self.model.gradient(theta, indices) + self.model.prior_gradient(theta))


_kept = threading.local()  # the permutation of each thread: proposals stay immutable and may be shared


def _mini_batch(rng: np.random.Generator, n_data: int, size: int) -> Ints:
    """A mini-batch without replacement, from the same random numbers as the compiled `draw`."""
    sample: Subsampler | None = getattr(_kept, "sample", None)
    _kept.sample = None  # discarded if interrupted in the middle of a draw
    if sample is None or sample.n != n_data:
        sample = Subsampler(n_data)
    indices = sample.extend(rng, size)
    sample.reset()
    _kept.sample = sample
    return indices


def _factor(covariance: npt.ArrayLike) -> Floats:
    try:
        matrix = np.asarray(covariance, dtype=np.float64)
        factor: Floats = np.linalg.cholesky(matrix).astype(np.float64)
    except (np.linalg.LinAlgError, ValueError):
        raise BadInput("covariance: must be a symmetric and positive definite matrix") from None
    if not np.all(np.isfinite(factor)) or not np.allclose(matrix, matrix.T, rtol=1e-6):
        raise BadInput("covariance: must be a symmetric and positive definite matrix")
    return factor
