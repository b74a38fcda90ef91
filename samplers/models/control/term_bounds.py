"""Bounds on what control variates miss: |r_i| <= c_i M(θ, θ'), for models that are linear in a predictor.

The parameters are whitened by the posterior covariance L L': h_i = |L' x_i|, a = |L⁻¹(θ - centre)|. Within the ball
a, a' <= R the predictor η_i stays within h_i R of its value η_i* at the centre, so a bound K_i on a derivative of
log p_i over that interval is enough (Prado, Nemeth and Sherlock, arXiv 2407.19602, use a bound over all η). The local
bound can be much smaller, and it exists where no global one does.

By Taylor's theorem a residual's derivative at a distance t is a mean of the second or third derivative over [0, t],
with weights in proportion to 1 or t - s. So K_i is a mean too, of bounds over eight shells of the interval.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.decide.alias import ROUNDING
from samplers.models import LinearModel, Rows, SmoothModel
from samplers.models.arrays import blocks, value_and_slope
from samplers.models.control.expansion import derivatives

SHELLS = np.linspace(0.125, 1.0, 8)  # of the radius
SHARES = {  # of each shell in the mean of 2 (1 - s) K(s R h), or of K(s R h), over s in [0, 1]
    2: (1.125 - SHELLS) ** 2 - (1.0 - SHELLS) ** 2,
    1: np.full(8, 0.125),
}
ROUNDINGS = 16.0  # of the products x_i . θ that a residual is made of, and then some
BEYOND = 5.0  # R - sqrt(D): |L⁻¹(θ - centre)| is about sqrt(D) with a standard deviation below 1


@runtime_checkable
class BoundedModel(LinearModel, Protocol):
    """A linear model that can bound the derivatives of log p in η.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> model = Logistic.from_data([[1.0], [2.0]], [1, 0])
    >>> isinstance(model, BoundedModel)
    True
    >>> model.second_bound(np.array([-1.0, 0.0]), np.array([1.0, 0.0]), np.arange(2))
    array([0.25, 0.25])
    """

    def second_bound(self, low: Floats, high: Floats, indices: Rows) -> Floats:
        """Largest |second derivative of log p_i in η| over [low_i, high_i], for the given data."""

    def third_bound(self, low: Floats, high: Floats, indices: Rows) -> Floats:
        """Largest |third derivative| there."""


def ball_radius(dimension: int) -> float:
    """R = sqrt(D) + 5: a posterior near its normal approximation leaves this ball once in millions of draws."""
    return math.sqrt(dimension) + BEYOND


def posterior_factor(model: LinearModel, centre: Floats) -> Floats:
    """L, lower triangular: L L' is the inverse of minus the Hessian of the log posterior at the centre, in one pass.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> posterior_factor(Logistic.from_data([[2.0], [2.0]], [1, 0]), np.zeros(1)).round(4)  # curvature 2 * 4 / 4
    array([[0.7071]])
    """
    factor: Floats = factor_of(precision_at(model, centre))
    return factor


def precision_at(model: LinearModel | SmoothModel, centre: Floats) -> Floats:
    """Minus the Hessian of the log posterior, in one pass."""
    precision = -model.prior_curvature(centre)
    for block in blocks(model.n_data):
        precision = precision - derivatives(model, centre, block, 2)[1]
    return precision


def factor_of(precision: Any) -> Any:
    """L, lower triangular, with (L L')⁻¹ = precision; a precision that is no array brings its own."""
    if hasattr(precision, "factor"):
        return precision.factor()
    try:
        np.linalg.cholesky(precision)
        factor: Floats = np.linalg.cholesky(np.linalg.inv(precision))
    except np.linalg.LinAlgError:
        raise BadInput("bounds: the log posterior is flat in some direction at the centre; add a prior") from None
    return factor


def term_weights(model: LinearModel, centre: Floats, factor: Floats, radius: float, order: int = 2) -> Floats:
    """c_i = K_i h_i³ for control variates of order 2, and K_i h_i² for order 1: one pass, a block at a time.

    The residual's derivative in η_i, at a distance t from η_i*, is at most K_i t² / 2, or K_i t for order 1.

    Parameters
    ----------
    model
        A linear model with bounds on its derivatives.
    centre
        Where the control variates are expanded.
    factor
        L of the posterior covariance L L', lower triangular (`posterior_factor`).
    radius
        R of the ball |L⁻¹(θ - centre)| <= R in which the bounds hold.
    order
        2: third derivatives; 1: second.

    Returns
    -------
    array
        N numbers, 0 or above.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> model = Logistic.from_data([[1.0], [2.0]], [1, 0], prior_precision=3.0)
    >>> term_weights(model, np.zeros(1), np.eye(1), radius=2.0, order=1)  # 1 / 4 times h² = 1 and 4
    array([0.25, 1.  ])
    """
    weights = np.empty(model.n_data)
    for block in blocks(model.n_data):
        rows = np.asarray(model.rows[block], dtype=np.float64)
        weights[block] = block_weights(model, rows, block, centre, factor, radius, order)
    return weights


def block_weights(
    model: LinearModel, rows: Floats, block: slice, centre: Floats, factor: Floats, radius: float, order: int
) -> Floats:
    """The same for some of the data, given their rows."""
    if not isinstance(model, BoundedModel):
        raise BadInput(f"bounds: {type(model).__name__} has no second_bound and third_bound")
    return weights_along(model, rows @ centre, lengths(rows @ factor), block, radius, order)


def lengths(rows: Floats) -> Floats:
    """Of each row."""
    found: Floats = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return found


def weights_along(model: BoundedModel, eta: Floats, h: Floats, block: slice, radius: float, order: int) -> Floats:
    """c_i of consecutive data from η_i* and h_i, the standard deviation of η_i."""
    bound = model.third_bound if order == 2 else model.second_bound
    largest = np.zeros(h.size)
    for share, shell in zip(SHARES[order], SHELLS, strict=True):
        largest += share * bound(eta - shell * radius * h, eta + shell * radius * h, block)
    weights: Floats = largest * h ** (order + 1)
    if not np.all(weights >= 0.0) or not math.isfinite(weights.sum()):
        place = int(np.argmin((weights >= 0.0) & np.isfinite(weights)))
        found = f"that of datum {block.start + place:,} is {weights[place]}"
        raise BadInput(f"bounds: {found}; must be finite and not negative")
    return weights


def largest_part(
    model: LinearModel, eta: Floats, h: Floats, long: Floats, farthest: float, block: slice, radius: float
) -> float:
    """Largest number from which a residual of these data is made: its rounding error is a few eps of it.

    A residual is a difference of log p at two η, each with an error of eps |x_i| |θ|, less its expansion. So the parts
    are |log p|, and the slope times |x_i| |θ|, for states in the ball. Huge counts or row weights make both huge.

    Parameters
    ----------
    eta, h
        η_i* and its standard deviation.
    long
        |x_i|.
    farthest
        Largest |θ| in the ball.
    """
    largest = 0.0
    for side in (-1.0, 0.0, 1.0):
        value, slope = value_and_slope(model, eta + side * radius * h, block)
        parts = np.maximum(np.abs(value), np.maximum(np.abs(slope), 1.0) * long * farthest)
        largest = max(largest, float(parts.max()))
    return largest


def rounding_of(largest: float) -> float:
    """How far a residual may exceed its bound by rounding alone, from the largest part of any."""
    return max(ROUNDING, ROUNDINGS * float(np.finfo(float).eps) * largest)


def third_order_weights(model: LinearModel, centre: Floats, factor: Floats, radius: float) -> Floats:
    """c_i = K_i h_i³: what the second-order control variates of each datum can miss, in posterior standard deviations.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> model = Logistic.from_data([[1.0], [2.0]], [1, 0], prior_precision=3.0)
    >>> third_order_weights(model, np.zeros(1), np.eye(1), radius=2.0).argmax()  # the heavier row
    np.int64(1)
    """
    return term_weights(model, centre, factor, radius)
