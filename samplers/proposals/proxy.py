"""Proposals from the quadratic proxies of the log posterior, with Student tails and profile corrections if need be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real
from samplers.models import LinearModel
from samplers.models.control import Controlled
from samplers.models.control.scale_mode import prior_only
from samplers.models.groups import Grouped
from samplers.proposals.basic import Proposed, factor_of
from samplers.proposals.profile import Profile

MOST_DEGREES = 1e6


@dataclass(frozen=True, eq=False)
class ProxyStep:
    """θ' = centre + sqrt(1 - beta²) (θ - centre) + beta L xi: reversible for N(centre, L L').

    With the centre and covariance of the posterior's quadratic proxies, proxies and proposal cancel: the test of a
    `Controlled` model sees only third-order residuals. Where the posterior is far from normal, finite `degrees` give
    the steps the tails of Student's t, and a `profile` bends skewed coordinates to their shape; the steps are then
    reversible for that distribution, and the rest of the ratio is part of the log ratio c. Make one with `of`.

    Parameters
    ----------
    centre
        Centre of the distribution that the steps leave invariant.
    factor, precision
        L, and (L L')^-1.
    beta
        In (0, 1]: 1 is an independence proposal, small values are small steps.
    degrees
        Of freedom of Student's t; infinite for normal tails.
    profile
        Bent coordinates, if any.

    Examples
    --------
    >>> from samplers import Controlled, Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> proxied = Controlled.around(model, find_mode(model))
    >>> ProxyStep.of(proxied, beta=0.5).propose(np.random.default_rng(1), proxied.centre).theta.shape
    (2,)
    """

    # Reversible in all cases, so log_q is the difference of one log density q:
    # - Normal. y' = keep y + beta L xi with keep² + beta² = 1: (y, y') is jointly normal and exchangeable.
    # - Student's t is y = z / sqrt(τ), z normal and τ ~ Gamma(ν/2, rate ν/2), independent. Draw τ given y: then (z, τ)
    #   has its joint law. Move z as above, and τ by the beta-gamma process (Lewis, McKenzie and Hugus 1989): τ = X + Y
    #   with X = B τ, B ~ Beta(keep² ν/2, beta² ν/2), so X and Y are independent gammas, and τ' = X + Z with Z a copy of
    #   Y: (τ, τ') is exchangeable. Hence ((z, τ), (z', τ')) is, and so is (y, y'). At beta = 1 nothing is kept:
    #   independent draws of the multivariate t.
    # - A profile maps y to θ one to one, so θ -> y -> y' -> θ' is reversible for the image of the distribution of y.

    centre: Floats
    factor: Floats
    precision: Floats
    beta: float
    degrees: float = math.inf
    profile: Profile | None = None

    @classmethod
    def of(cls, model: Controlled, beta: float = 1.0, degrees: float = math.inf, profile: bool = False) -> ProxyStep:
        """From the proxies of a second-order controlled model; they need not be expanded at the mode.

        With `profile`, two more passes over the data find the coordinates whose posterior is skewed, and its shape.
        """
        if model.order != 2:
            raise BadInput("a proxy proposal needs control variates of order 2")
        if isinstance(model.model, Grouped):
            raise BadInput(
                "scales of group effects are sampled, so there is no single normal approximation: no Laplace verdict, "
                "and ArrowStep instead of ProxyStep"
            )
        if profile and not isinstance(model.model, LinearModel):
            raise BadInput(f"profile: {type(model.model).__name__} has no linear predictor; leave it out")
        if degrees != math.inf:
            degrees = real("degrees", degrees, 1.0, MOST_DEGREES)
        if prior_only(model.model).size:
            raise BadInput("ProxyStep: some parameters are in the prior alone; use ConditionalStep")
        precision = model.posterior_precision()
        covariance: Floats = np.linalg.inv(precision).astype(np.float64)
        factor = factor_of(covariance)
        mode = model.centre + np.linalg.solve(precision, model.posterior_gradient())  # of the quadratic proxies
        bent = Profile.of(model, mode, covariance) if profile else None
        return cls(mode, factor, precision, real("beta", beta, 0.0, 1.0, open_low=True), degrees, bent)

    def made_again(self, model: Controlled) -> ProxyStep:
        """The same for other proxies of the same posterior."""
        return ProxyStep.of(model, self.beta, self.degrees, self.profile is not None)

    @property
    def plain(self) -> bool:
        """Whether the steps are normal and no coordinate is bent."""
        return self.degrees == math.inf and self.profile is None

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A step from θ, and its log ratio."""
        keep = math.sqrt(1.0 - self.beta**2)
        if self.plain:
            noise = self.factor @ rng.standard_normal(theta.size)
            new = self.centre + keep * (theta - self.centre) + self.beta * noise
            return Proposed(new, -0.5 * (self._square(new) - self._square(theta)))
        y, old_slope = (theta, 0.0) if self.profile is None else self.profile.unbend(self.centre, theta)
        old_square = self._square(y)
        noise = self.factor @ rng.standard_normal(theta.size)
        scale, new_scale = self._scales(rng, old_square)
        new = self.centre + keep * scale * (y - self.centre) + self.beta * new_scale * noise
        density = self._log_height(self._square(new)) - self._log_height(old_square)
        if self.profile is None:
            return Proposed(new, density)
        new, new_slope = self.profile.bend(self.centre, new)
        return Proposed(new, density - new_slope + old_slope)

    def log_density(self, theta: Floats) -> float:
        """Log density at θ of the distribution that the steps leave invariant."""
        y, log_slope = (theta, 0.0) if self.profile is None else self.profile.unbend(self.centre, theta)
        half, log_factor = 0.5 * theta.size, float(np.log(np.diag(self.factor)).sum())
        if self.degrees == math.inf:
            constant = -half * math.log(2.0 * math.pi)
        else:
            shape = 0.5 * self.degrees
            constant = math.lgamma(shape + half) - math.lgamma(shape) - half * math.log(2.0 * math.pi * shape)
        return self._log_height(self._square(y)) + constant - log_factor - log_slope

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Independent draws from that distribution, (size, D)."""
        independent = ProxyStep(self.centre, self.factor, self.precision, 1.0, self.degrees, self.profile)
        return np.array([independent.propose(rng, self.centre).theta for _ in range(size)])

    def _square(self, y: Floats) -> float:
        d = y - self.centre
        return float(d @ self.precision @ d)

    def _log_height(self, square: float) -> float:
        """Log density of y, up to a constant."""
        if self.degrees == math.inf:
            return -0.5 * square
        return -0.5 * (self.degrees + self.centre.size) * math.log1p(square / self.degrees)

    def _scales(self, rng: np.random.Generator, square: float) -> tuple[float, float]:
        """sqrt(τ / τ'), which multiplies what is kept of y, and 1 / sqrt(τ'), which multiplies the noise."""
        if self.degrees == math.inf:
            return 1.0, 1.0
        shape, new_share = 0.5 * self.degrees, self.beta**2
        if new_share == 1.0:
            return 0.0, math.sqrt(shape / rng.standard_gamma(shape))
        tau = 2.0 * rng.standard_gamma(0.5 * (self.degrees + self.centre.size)) / (self.degrees + square)
        kept = tau * rng.beta(shape * (1.0 - new_share), shape * new_share)
        new_tau = kept + rng.standard_gamma(shape * new_share) / shape
        return math.sqrt(tau / new_tau), math.sqrt(1.0 / new_tau)
