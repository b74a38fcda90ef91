"""Control variates: the test sees only what a Taylor proxy of each datum's log-likelihood misses.

A controlled model is again a `Model`: its terms are the residuals r_i = l_i - [p_i(theta') - p_i(theta)], and the sum
of the proxies, O(D^2) from precomputed moments, moves into the prior. So A is unchanged, kappa shrinks, and every test,
proposal and trial run works on it as on any other model.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from designer.errors import BadInput, NumericalFailure
from designer.schedule import Floats, Ints
from samplers.models import LinearModel

SUBSAMPLE = 20_000  # rows of the first Newton iterations, about
BLOCK = 65_536  # rows handled at once, so that memory stays bounded


@dataclass(frozen=True, eq=False)
class Controlled:
    """A linear model with proxies p_i of first or second order in eta_i around eta_i* = rows_i . centre."""

    model: LinearModel
    centre: Floats
    order: int
    anchor: Floats  # eta_i*, slope and curvature there: columns
    gradient: Floats  # sum_i of the proxies' gradients at the centre
    hessian: Floats  # and of their Hessians

    @classmethod
    def around(cls, model: LinearModel, centre: Floats, order: int = 2) -> Controlled:
        """Expand at `centre`, which should be near the posterior mode (see `find_mode`)."""
        if order not in (1, 2):
            raise BadInput(f"order = {order!r}: must be 1 or 2")
        anchor = np.empty((model.n_data, 3))
        for block in blocks(model.n_data):
            eta = model.rows[block] @ centre
            curvature = model.curvature(eta, block) if order == 2 else np.zeros(eta.size)
            anchor[block] = np.stack([eta, model.slope(eta, block), curvature], axis=1)
        gradient, hessian = moments(model, anchor)
        return cls(model, centre.copy(), order, anchor, gradient, hessian)

    @property
    def n_data(self) -> int:
        return self.model.n_data

    @property
    def dimension(self) -> int:
        return self.centre.size

    def log_prior(self, theta: Floats) -> float:
        """The prior's and the sum of the proxies."""
        d = theta - self.centre
        return self.model.log_prior(theta) + float(self.gradient @ d + 0.5 * d @ self.hessian @ d)

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        rows, (centre, slope, curvature) = self.model.rows[indices], self.anchor[indices].T
        old, new = rows @ theta, rows @ theta_new
        exact = self.model.value(new, indices) - self.model.value(old, indices)
        residual: Floats = exact - (new - old) * (slope + 0.5 * curvature * (new + old - 2.0 * centre))
        return residual

    def posterior_precision(self) -> Floats:
        """Minus the Hessian of the log posterior at the centre, by the proxies: needs order 2."""
        precision: Floats = np.negative(self.hessian + self.model.prior_curvature(self.centre))
        return precision


def find_mode(model: LinearModel, start: Floats | None = None, tolerance: float = 1e-8) -> Floats:
    """The posterior mode: Newton on some rows, evenly spread, then on all of them.

    Steps are halved while they do not raise the log posterior.
    """
    theta = np.zeros(model.rows.shape[1]) if start is None else np.array(start, dtype=np.float64)
    if model.n_data > 2 * SUBSAMPLE:
        with suppress(NumericalFailure):  # some of the rows may have no mode where all have one
            theta = _newton(model, theta, [slice(None, None, model.n_data // SUBSAMPLE)], 1e-3)
    return _newton(model, theta, blocks(model.n_data), tolerance)


def blocks(n: int) -> list[slice]:
    """0 .. n-1 in pieces of BLOCK, as slices: views, not copies."""
    return [slice(start, min(n, start + BLOCK)) for start in range(0, n, BLOCK)]


def moments(model: LinearModel, anchor: Floats) -> tuple[Floats, Floats]:
    """sum_i slope_i x_i and sum_i curvature_i x_i x_i'."""
    dimension = model.rows.shape[1]
    gradient, hessian = np.zeros(dimension), np.zeros((dimension, dimension))
    for block in blocks(anchor.shape[0]):
        rows = model.rows[block]
        gradient += rows.T @ anchor[block, 1]
        hessian += (rows * anchor[block, 2, None]).T @ rows
    return gradient, hessian


def _newton(model: LinearModel, theta: Floats, parts: list[slice], tolerance: float) -> Floats:
    """Newton on some of the rows, their likelihood scaled up to all."""
    scale, information = model.n_data / sum(model.rows[part].shape[0] for part in parts), 0.0
    value = _log_posterior(model, theta, parts, scale)
    for _ in range(100):
        gradient, hessian = model.prior_gradient(theta).copy(), model.prior_curvature(theta).copy()
        for block in parts:
            rows = model.rows[block]
            eta = rows @ theta
            gradient += scale * (rows.T @ model.slope(eta, block))
            hessian += scale * ((rows * model.curvature(eta, block)[:, None]).T @ rows)
        information = max(information, -float(np.trace(hessian)))
        if not -float(np.trace(hessian)) > 1e-7 * information:
            raise NumericalFailure("no mode: the data are separable; a prior would help")
        try:
            step = np.linalg.solve(-hessian, gradient)
        except np.linalg.LinAlgError:
            raise NumericalFailure("no mode: the log posterior is flat somewhere; a prior would help") from None
        length = 1.0
        while length > 1e-6:
            candidate = theta + length * step
            found = _log_posterior(model, candidate, parts, scale)
            if found >= value - 1e-9 * abs(value):
                break
            length *= 0.5
        theta, value = candidate, found
        if length * float(np.sqrt(abs(step @ gradient))) < tolerance:  # in posterior standard deviations
            return theta
    raise NumericalFailure("no mode found in 100 Newton steps")


def _log_posterior(model: LinearModel, theta: Floats, parts: list[slice], scale: float) -> float:
    likelihood = sum(float(model.value(model.rows[block] @ theta, block).sum()) for block in parts)
    return model.log_prior(theta) + scale * likelihood
