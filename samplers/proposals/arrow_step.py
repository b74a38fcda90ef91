"""Proxy proposals for models with group effects: normal given the scales, which may move along."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure, real
from samplers.models.arrays import blocks
from samplers.models.control import Controlled
from samplers.models.control.term_bounds import factor_of
from samplers.models.groups import Grouped
from samplers.models.groups.arrow import Arrow, ArrowFactor
from samplers.models.groups.centre import all_derivatives
from samplers.proposals.basic import Proposed

SHARE = 0.5  # of the steps in which the scales move along
WIDE = 1e-6  # of the effects' prior precision: scales a thousand times as large
OPEN = 0.2  # posterior variance of an effect over τ² from which its scale is slow if it only moves given the effects
DRAWS, SEED, LEAST = 12, 17, 0.05  # states from which beta is chosen; their seed; the least beta


@dataclass(frozen=True, eq=False)
class ArrowStep:
    """Steps of coefficients and effects that are reversible for their quadratic proxies given the scales.

    Given the scales τ, proxies and prior make coefficients and effects normal, with a centre c(τ) and a precision
    P(τ) = M M'. The whitened state z = M'(θ - c) becomes z' = sqrt(1 - beta²) z + beta xi, and θ' = c + M'⁻¹ z'. In
    half of the steps the scales move, too: log τ' = log τ + noise, and θ' = c(τ') + M(τ')'⁻¹ z', so that effects follow
    their scale. What proxies and proposal have in common cancels, and the test sees third-order residuals. Make one
    with `of`.

    Parameters
    ----------
    model
        A controlled model with group effects.
    beta
        In (0, 1]: 1 draws coefficients and effects afresh.
    scale_steps
        Standard deviation of the noise of each log scale; 0: scales move only between decisions.

    Examples
    --------
    >>> from samplers import Controlled, Groups, Grouped, Logistic, find_mode
    >>> rng = np.random.default_rng(0)
    >>> model = Logistic.mapped(rng.standard_normal((500, 2)), rng.random(500) < 0.5, prior_precision=1.0)
    >>> grouped = Grouped.of(model, [Groups(rng.integers(0, 5, 500), name="agent")])
    >>> proxied = Controlled.around(grouped, find_mode(grouped))
    >>> ArrowStep.of(proxied).propose(rng, proxied.centre).theta.shape
    (8,)
    """

    model: Controlled
    beta: float
    scale_steps: Floats

    @classmethod
    def of(
        cls, model: Controlled, beta: float | Literal["auto"] = "auto", scale_step: float | Literal["auto"] = "auto"
    ) -> ArrowStep:
        """From the proxies of a controlled model with group effects.

        Parameters
        ----------
        model
            Of order 2.
        beta
            "auto": 1, or less where the log posterior is so far from its proxies that independent draws would be
            rejected too often; a few passes over the data.
        scale_step
            Relative to sqrt(2 / G), twice the standard deviation of log τ given the effects of G groups. "auto": 1 if
            the data leave the effects of a term wide open, 0 if they determine them: the scales then mix by themselves.
        """
        if not isinstance(model.model, Grouped):
            raise BadInput(f"ArrowStep: {type(model.model).__name__} has no group effects; use ProxyStep")
        if model.order != 2:
            raise BadInput("a proxy proposal needs control variates of order 2")
        for name, given in (("beta", beta), ("scale_step", scale_step)):
            if isinstance(given, str) and given != "auto":
                raise BadInput(f'{name} = {given!r}: must be a number or "auto"')
        if isinstance(scale_step, str):
            sizes = [1.0 if open_ > OPEN else 0.0 for open_ in openness(model)]
        else:
            sizes = [real("scale_step", scale_step, 0.0, 1e3)] * len(model.model.groups)
        terms = zip(model.model.groups, sizes, strict=True)
        steps = np.array([size * math.sqrt(2.0 / term.n_groups) for term, size in terms for _ in range(term.width)])
        plain = cls(model, 1.0, steps)
        chosen = plain.best_beta() if isinstance(beta, str) else real("beta", beta, 0.0, 1.0, open_low=True)
        return cls(model, chosen, steps)

    def best_beta(self) -> float:
        """1, or less if independent draws would be rejected too often.

        With log weights of variance v, the log ratio of a step has variance 2 v (1 - ρ³), ρ = sqrt(1 - beta²), since
        what the proxies miss is mostly of third order. At v = 1 half of the independent draws are accepted; beyond, the
        log ratio is kept at that.
        """
        rng, first = np.random.default_rng(SEED), self.grouped.layout.first
        centre, factor = self.given(self.model.centre)
        found = []
        for _ in range(DRAWS):
            white = rng.standard_normal(first)
            theta = centre + factor.colour(white)
            missed = sum(float(self.model.log_likelihood(theta, part).sum()) for part in blocks(self.model.n_data))
            found.append(self.model.log_prior(theta) + missed + 0.5 * float(white @ white))
        variance = float(np.var(found, ddof=1))
        if not variance > 1.0:
            return 1.0
        kept = (1.0 - 1.0 / variance) ** (1.0 / 3.0)
        return max(LEAST, round(math.sqrt(1.0 - kept**2), 2))

    @property
    def words(self) -> str:
        """What it is."""
        moves = "scales move along in half of the steps" if self.scale_steps.any() else "scales move between decisions"
        return f"normal given the scales, beta = {self.beta:g}; {moves}"

    def made_again(self, model: Controlled) -> ArrowStep:
        """The same for other proxies of the same posterior."""
        return ArrowStep(model, self.beta, self.scale_steps)

    @property
    def plain(self) -> bool:
        """Nothing is bent, and tails are normal."""
        return True

    @property
    def grouped(self) -> Grouped:
        """The model with group effects."""
        assert isinstance(self.model.model, Grouped)
        return self.model.model

    @cached_property
    def known(self) -> tuple[Floats, Arrow]:
        """Gradient at the centre and precision, of likelihood and coefficients' prior: without the effects' prior."""
        model, grouped, d = self.model, self.grouped, self.grouped.n_coefficients
        gradient = model.posterior_gradient() - grouped.prior_gradient(model.centre)
        gradient[:d] += grouped.model.prior_gradient(model.centre[:d])
        precision: Any = model.posterior_precision()
        effects = grouped.effect_precisions(model.centre)
        known = precision.with_diagonal(-effects)
        try:
            known.with_diagonal(WIDE * effects).factor()
        except NumericalFailure:  # some log p are convex: positive definite only while the scales are small
            hessian: Any = all_derivatives(grouped, model.centre, blocks(grouped.n_data), concave=True)[2]
            known = (-(hessian + grouped.prior_curvature(model.centre))).with_diagonal(-effects)
        return gradient, known

    def given(self, theta: Floats) -> tuple[Floats, ArrowFactor]:
        """c and M at the scales of θ."""
        gradient, precision = self.known
        prior = self.grouped.effect_precisions(theta)
        factor = precision.with_diagonal(prior).factor()
        first = self.grouped.layout.first
        centre = self.model.centre + factor.solve(gradient - prior * self.model.centre)
        return np.concatenate([centre[:first], theta[first:]]), factor

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A step from θ, and its log ratio."""
        first = self.grouped.layout.first
        centre, factor = self.given(theta)
        white = factor.whiten(theta - centre)
        new_centre, new_factor = centre, factor
        if self.scale_steps.any() and rng.random() < SHARE:
            moved = theta.copy()
            moved[first:] += self.scale_steps * rng.standard_normal(self.scale_steps.size)
            new_centre, new_factor = self.given(moved)
        new_white = math.sqrt(1.0 - self.beta**2) * white + self.beta * rng.standard_normal(first)
        new = new_centre + new_factor.colour(new_white)
        squares = 0.5 * float(white @ white - new_white @ new_white)
        return Proposed(new, squares + new_factor.log_determinant - factor.log_determinant)


def openness(model: Controlled) -> list[float]:
    """Of each term the mean posterior variance of its effects at the centre, over τ²: near 1 if data say nothing."""
    grouped, precision = model.model, model.posterior_precision()
    assert isinstance(grouped, Grouped)
    share = factor_of(precision).variances() * grouped.effect_precisions(model.centre)
    starts = zip(grouped.groups, grouped.layout.starts, strict=True)
    return [float(share[start : start + term.size].mean()) for term, start in starts]
