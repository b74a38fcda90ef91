"""Proxy proposals for models with parameters that only the prior contains: normal given these."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, real
from samplers.models.control import Controlled
from samplers.models.control.scale_mode import concave, prior_only
from samplers.proposals.basic import Proposed

SHARE = 0.5  # of the steps in which the scales move along
LONGEST = 1.0  # of a scale's step


@dataclass(frozen=True, eq=False)
class ConditionalStep:
    """Steps of the parameters in the likelihood that are reversible for their quadratic proxies given the others.

    The others, such as the scales of group effects, enter the prior alone. Given them, proxies and prior make the
    parameters in the likelihood about normal, with a centre c and a precision L L' that are computed anew at each
    state. The whitened state z = L'(θ - c) becomes z' = sqrt(1 - beta²) z + beta xi. In half of the steps the scales
    take a step of a random walk, and the others follow with the centre and precision at the new scales. Make one with
    `of`.

    Parameters
    ----------
    model
        A controlled model of order 2 with `prior_only` parameters.
    beta
        In (0, 1]: 1 draws the parameters in the likelihood afresh.
    scale_steps
        Standard deviation of each scale's step; 0: they move only between decisions (`refresh`).

    Examples
    --------
    >>> from samplers import Controlled, find_mode, from_jax
    >>> import jax.numpy as jnp
    >>> rng = np.random.default_rng(0)
    >>> def log_prior(theta):
    ...     z = theta["b"] * jnp.exp(-theta["log scale"])
    ...     return jnp.sum(-0.5 * z**2 - theta["log scale"]) - 0.5 * theta["log scale"] ** 2
    >>> data = {"y": rng.standard_normal(300), "g": np.arange(300) % 5}
    >>> start = {"b": np.zeros(5), "log scale": 0.0}
    >>> model = from_jax(lambda theta, row: -0.5 * (row["y"] - theta["b"][row["g"]]) ** 2, log_prior, data, start)
    >>> proxied = Controlled.around(model, find_mode(model))
    >>> ConditionalStep.of(proxied).propose(rng, proxied.centre).theta.shape
    (6,)
    """

    model: Controlled
    beta: float
    scale_steps: Floats

    @classmethod
    def of(cls, model: Controlled, beta: float = 1.0, scale_step: float = 1.0) -> ConditionalStep:
        """From the proxies of a controlled model; `scale_step` is relative to twice the scales' sd given the others."""
        if not prior_only(model.model).size:
            raise BadInput("ConditionalStep: every parameter is in the likelihood; use ProxyStep")
        if model.order != 2:
            raise BadInput("a proxy proposal needs control variates of order 2")
        size, alone = real("scale_step", scale_step, 0.0, 1e3), prior_only(model.model)
        curved = np.maximum(-np.diag(model.model.prior_curvature(model.centre))[alone], 1e-12)
        steps = size * np.minimum(2.0 / np.sqrt(curved), LONGEST) / math.sqrt(alone.size)
        return cls(model, real("beta", beta, 0.0, 1.0, open_low=True), steps)

    def made_again(self, model: Controlled) -> ConditionalStep:
        """The same for other proxies of the same posterior."""
        return ConditionalStep(model, self.beta, self.scale_steps)

    @property
    def plain(self) -> bool:
        """Nothing is bent, and tails are normal."""
        return True

    @cached_property
    def alone(self) -> Ints:
        """Numbers of the parameters that only the prior contains."""
        return prior_only(self.model.model)

    @cached_property
    def free(self) -> Ints:
        """Numbers of the others."""
        return np.setdiff1d(np.arange(self.model.dimension), self.alone)

    @cached_property
    def known(self) -> tuple[Floats, Floats]:
        """Gradient at the centre and precision of the likelihood of all rows."""
        model, centre = self.model, self.model.centre
        gradient = model.posterior_gradient() - model.model.prior_gradient(centre)
        precision = model.posterior_precision() + model.model.prior_curvature(centre)
        return gradient[self.free], concave(precision[np.ix_(self.free, self.free)])

    def given(self, theta: Floats) -> tuple[Floats, Floats]:
        """c, and L, at the scales of θ."""
        gradient, precision = self.known
        at = self.model.centre.copy()
        at[self.alone] = theta[self.alone]
        prior: Floats = -self.model.model.prior_curvature(at)[np.ix_(self.free, self.free)]

        try:
            factor = _cholesky(precision + prior)
        except np.linalg.LinAlgError:  # the prior is not concave there
            prior = concave(prior)
            factor = _cholesky(precision + prior + 1e-9 * np.diag(np.diag(precision + prior)))
        slope = gradient + self.model.model.prior_gradient(at)[self.free]
        centre: Floats = at[self.free] + np.linalg.solve(factor.T, np.linalg.solve(factor, slope))
        return centre, factor

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A step from θ, and its log ratio."""
        centre, factor = self.given(theta)
        white = factor.T @ (theta[self.free] - centre)
        new, new_centre, new_factor = theta.copy(), centre, factor
        if self.scale_steps.any() and rng.random() < SHARE:
            new[self.alone] += self.scale_steps * rng.standard_normal(self.alone.size)
            new_centre, new_factor = self.given(new)
        new_white = math.sqrt(1.0 - self.beta**2) * white + self.beta * rng.standard_normal(self.free.size)
        new[self.free] = new_centre + np.linalg.solve(new_factor.T, new_white)
        squares = 0.5 * float(white @ white - new_white @ new_white)
        return Proposed(new, squares + _log_determinant(new_factor) - _log_determinant(factor))


def _log_determinant(factor: Floats) -> float:
    return float(np.log(np.diag(factor)).sum())


def _cholesky(precision: Floats) -> Floats:
    return np.linalg.cholesky(precision).astype(np.float64, copy=False)
