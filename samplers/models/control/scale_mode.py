"""Where to expand a model with parameters that only the prior contains, such as the scales of group effects.

All parameters together may have no mode: as a scale and its effects go to 0, the prior density of the effects grows
without bound. So the scales are put at the maximum of their marginal posterior by Laplace's method, and the others at
their mode given these scales. The quadratic proxies of one pass over the data give the marginal without further passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from designer.core.arrays import Floats, Ints
from designer.core.errors import NumericalFailure
from samplers.models import Rows, SmoothModel
from samplers.models.arrays import blocks
from samplers.models.control.many_states import sums_at
from samplers.models.control.smooth_mode import first_state, smooth_mode

ROUNDS = 20
SETTLED = 0.01  # change of the scales, on their own scale, that ends the search
REACH = 3.0  # times 1 + |θ|: as far as a scale moves in a round, since proxies hold near where they were made
NEWTON = 3  # steps of the others, given new scales and proxies
IMPOSSIBLE = 1e30


class Given:
    """A smooth model as a function of some of its parameters, the others fixed."""

    def __init__(self, model: SmoothModel, theta: Floats, free: Ints) -> None:
        self.model, self.theta, self.free = model, theta, free
        self.n_data, self.dimension, self.start = model.n_data, free.size, theta[free]

    def whole(self, part: Floats) -> Floats:
        """θ with these values of the free parameters."""
        theta = self.theta.copy()
        theta[self.free] = part
        return theta

    def log_prior(self, part: Floats) -> float:
        return self.model.log_prior(self.whole(part))

    def terms(self, part: Floats, new: Floats, indices: Ints) -> Floats:
        return self.model.terms(self.whole(part), self.whole(new), indices)

    def log_likelihood(self, part: Floats, indices: Rows) -> Floats:
        return self.model.log_likelihood(self.whole(part), indices)

    def log_likelihood_many(self, parts: Floats, indices: Rows) -> Floats:
        return np.stack([self.log_likelihood(part, indices) for part in parts])

    def sums_many(self, parts: Floats, indices: Rows) -> tuple[Floats, Floats]:
        sums, gradients = sums_at(self.model, np.stack([self.whole(part) for part in parts]), indices)
        return sums, gradients[:, self.free]

    def derivatives(self, part: Floats, indices: Rows, order: int) -> tuple[Floats, Floats]:
        gradient, hessian = self.model.derivatives(self.whole(part), indices, order)
        return gradient[self.free], hessian[np.ix_(self.free, self.free)]

    def row_proxies(self, centre: Floats, order: int) -> None:
        raise NotImplementedError

    def prior_gradient(self, part: Floats) -> Floats:
        return self.model.prior_gradient(self.whole(part))[self.free]

    def prior_curvature(self, part: Floats) -> Floats:
        return self.model.prior_curvature(self.whole(part))[np.ix_(self.free, self.free)]


def prior_only(model: object) -> Ints:
    """Numbers of the parameters that only the prior contains; none for most models."""
    return np.asarray(getattr(model, "prior_only", ()), dtype=np.int64)


def scale_mode(
    model: SmoothModel, start: Floats | None = None, tolerance: float = 1e-6, names: Sequence[str] | None = None
) -> Floats:
    """The scales near their marginal maximum, and the other parameters at their mode given these."""
    theta, alone = first_state(model, start), prior_only(model)
    free = np.setdiff1d(np.arange(theta.size), alone)
    called = names if names is not None else getattr(model, "names", None)
    free_names = None if called is None else [called[k] for k in free]
    for _ in range(ROUNDS):
        given: SmoothModel = Given(model, theta, free)  # type: ignore[assignment]
        theta = theta.copy()
        theta[free] = smooth_mode(given, theta[free], tolerance, free_names)
        gradient, hessian = np.zeros(theta.size), np.zeros((theta.size, theta.size))
        for block in blocks(model.n_data):
            slope, curvature = model.derivatives(theta, block, 2)
            gradient, hessian = gradient + slope, hessian + curvature
        scales = _best_scales(model, theta, gradient, hessian, alone, free)
        moved, theta = float(np.abs(scales - theta[alone]).max()), _with(theta, alone, scales)
        if moved < SETTLED:
            given = Given(model, theta, free)  # type: ignore[assignment]
            theta[free] = smooth_mode(given, theta[free], tolerance, free_names)
            return theta
    moving = "scales" if called is None else ", ".join(called[k] for k in alone[:3])
    raise NumericalFailure(f"no centre: {moving} did not settle in {ROUNDS} rounds; give them a prior that holds them")


def concave(precision: Floats) -> Floats:
    """The precision, its negative eigenvalues set to 0."""
    values, vectors = np.linalg.eigh(precision)
    if values[0] >= 0.0:
        return precision
    positive: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return positive


def _with(theta: Floats, places: Ints, values: Floats) -> Floats:
    new = theta.copy()
    new[places] = values
    return new


def _best_scales(
    model: SmoothModel, theta: Floats, gradient: Floats, hessian: Floats, alone: Ints, free: Ints
) -> Floats:
    """The maximum of the scales' marginal, with the likelihood as its quadratic proxy at θ: no data are read."""
    block = np.ix_(free, free)
    hessian = hessian.copy()
    hessian[block] = -concave(-hessian[block])  # far from the mode it need not be

    def marginal(scales: Floats) -> float:
        """Minus log of the Laplace approximation of the integral over all others."""
        at = _with(theta, alone, scales)
        with np.errstate(all="ignore"):
            for _ in range(NEWTON):
                precision = -(hessian + model.prior_curvature(at))[block]
                slope = (gradient + hessian @ (at - theta) + model.prior_gradient(at))[free]
                try:
                    factor = np.linalg.cholesky(precision)
                except np.linalg.LinAlgError:
                    return IMPOSSIBLE
                at = _with(at, free, at[free] + np.linalg.solve(precision, slope))
            d = at - theta
            value = model.log_prior(at) + float(gradient @ d + 0.5 * d @ hessian @ d)
            value -= float(np.log(np.diag(factor)).sum())
        return -value if math.isfinite(value) else IMPOSSIBLE

    begin = theta[alone]
    bounds = [(value - REACH * (1.0 + abs(value)), value + REACH * (1.0 + abs(value))) for value in begin]
    found = minimize(marginal, begin, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-9, "maxiter": 50})
    scales: Floats = np.asarray(found.x, dtype=np.float64)
    return scales if found.fun <= marginal(begin) else begin
