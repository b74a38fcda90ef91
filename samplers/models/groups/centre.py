"""Where to expand a model with group effects.

Coefficients, effects and scales together may have no mode: as τ and all effects go to 0, the density of the effects
grows without bound. So the scales are put near the maximum of their marginal posterior, and the others at their mode
given these scales. The quadratic proxies of one pass over the data give both without further passes: effects are then
normal given the scales, and EM steps in the scales are a few products.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import NumericalFailure
from samplers.models.arrays import blocks
from samplers.models.groups.arrow import Arrow

if TYPE_CHECKING:
    from samplers.models.groups.model import Grouped

SUBSAMPLE = 50_000  # rows of the first passes, about
PASSES = 60
EM, SETTLED = 100, 1e-3  # steps in the scales without data, and the change of log τ that ends them


def find_centre(model: Grouped, start: Floats | None = None, tolerance: float = 1e-3) -> Floats:
    """Newton steps in coefficients and effects, EM steps in the scales between them.

    Parameters
    ----------
    model
        With group effects.
    start
        Zeros by default: all scales 1.
    tolerance
        Length of the last Newton step, in posterior standard deviations; what is left is about its square.
    """
    theta = np.zeros(model.dimension) if start is None else np.array(start, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        if model.n_data > 2 * SUBSAMPLE:
            theta = _climb(model, theta, [slice(None, None, model.n_data // SUBSAMPLE)], 0.1)
        return _climb(model, theta, blocks(model.n_data), tolerance)


def _climb(model: Grouped, theta: Floats, parts: list[slice], tolerance: float) -> Floats:
    value, gradient, hessian = all_derivatives(model, theta, parts)
    for _ in range(PASSES):
        try:
            new, length = proxy_mode(model, theta, gradient, hessian)
        except NumericalFailure:  # not concave here
            new, length = proxy_mode(model, theta, gradient, all_derivatives(model, theta, parts, concave=True)[2])
        if length < tolerance:
            return new
        theta, old = _with_scales(model, theta, new), value
        goal = old + model.log_prior(theta)
        share = 1.0
        while True:
            step = theta + share * (new - theta)
            value, gradient, hessian = all_derivatives(model, step, parts)
            if value + model.log_prior(step) >= goal - 1e-9 * abs(goal):
                break
            share *= 0.5
            if share < 1e-6:
                raise NumericalFailure("no mode of coefficients and effects: the log posterior is not finite near it")
        theta = step
    raise NumericalFailure(f"no mode of coefficients and effects found in {PASSES} passes; give coefficients a prior")


def all_derivatives(
    model: Grouped, theta: Floats, parts: list[slice], *, concave: bool = False
) -> tuple[float, Floats, Arrow]:
    """Log-likelihood, gradient and Hessian of these rows; `concave`: as if no log p were convex."""
    value, gradient, hessian = 0.0, np.zeros(theta.size), model.no_curvature()
    for part in parts:
        eta = model.predictor(theta, part)
        value += float(model.model.value(eta, part).sum())
        slope, curvature = model.derivatives_at(eta, part, 2, concave=concave)
        gradient, hessian = gradient + slope, hessian + curvature
    return value, gradient, hessian


def _with_scales(model: Grouped, theta: Floats, scales: Floats) -> Floats:
    """θ with the scales of another state."""
    first = model.layout.first
    return np.concatenate([theta[:first], scales[first:]])


def proxy_mode(model: Grouped, theta: Floats, gradient: Floats, hessian: Arrow) -> tuple[Floats, float]:
    """Scales at the maximum of their marginal under proxies expanded at θ, the others at their mode given those.

    Also the length of the step, in standard deviations.
    """
    layout = model.layout
    scales = theta[layout.first :].copy()
    for _ in range(EM):
        at = np.concatenate([theta[: layout.first], scales])
        factor = (-(hessian + model.prior_curvature(at))).factor()
        step = factor.solve(gradient + model.prior_gradient(at))
        new = _scales_given(model, at + step, factor.variances(), scales)
        moved, scales = float(np.abs(new - scales).max()), new
        if moved < SETTLED:
            break
    length = math.sqrt(float(np.square(factor.whiten(step)).sum()))
    if not math.isfinite(length):
        raise NumericalFailure("no mode of coefficients and effects: sums over the data are not finite")
    return at + step, length


def _scales_given(model: Grouped, theta: Floats, variances: Floats, scales: Floats) -> Floats:
    """EM: log τ that maximise the expected log density of effects with these means and variances, and the prior."""
    squares, found, at = theta**2 + variances, scales.copy(), 0
    for term, start in zip(model.groups, model.layout.starts, strict=True):
        sums = squares[start : start + term.size].reshape(term.n_groups, term.width).sum(axis=0)
        for total in sums:
            for _ in range(5):
                q = math.exp(2.0 * found[at]) / term.scale**2
                pull = q if term.degrees == math.inf else (term.degrees + 1.0) * q / (term.degrees + q)
                found[at] = 0.5 * math.log(total / (term.n_groups - 1.0 + pull))
            at += 1
    return found
