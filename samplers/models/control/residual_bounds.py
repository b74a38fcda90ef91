"""Bounds |r_i| <= c_i M(θ, θ') on the residuals of control variates, for the exact mini-batch test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from designer.core.arrays import Floats
from samplers.decide.alias import AliasTable, TermBounds
from samplers.models import LinearModel, Rows
from samplers.models.arrays import blocks
from samplers.models.control import _bound_kernels
from samplers.models.control.term_bounds import (
    ball_radius,
    block_weights,
    largest_part,
    lengths,
    posterior_factor,
    rounding_of,
)


@dataclass(frozen=True, eq=False)
class ResidualBounds:
    """Weights c_i, and all that M(θ, θ') takes; make one with `of`.

    M is the largest |s'³ - s³| / 6 for s = u . z, s' = u . z', over unit vectors u, with the whitened states z and z'
    within the ball |z|, |z'| <= R (for order 1, of the squares: see `_bound_kernels`). It is below the simpler
    min(max(a, a')² e / 2, (a³ + a'³) / 6) with a = |z|, a' = |z'|, e = |z' - z|: half as large for independent
    proposals, since no row points at both states.

    Parameters
    ----------
    weights
        c_i of the data that are sampled, ready to be drawn from.
    centre, whitening
        Where the control variates are expanded, and L⁻¹.
    radius, order
        R, and the order of the control variates.
    rounding
        Largest rounding error of a residual.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> model = Logistic.from_data([[1.0], [2.0], [-1.0]], [1, 0, 1], prior_precision=1.0)
    >>> bounds = ResidualBounds.of(model, np.zeros(1))
    >>> bounds.between(np.zeros(1), np.zeros(1)).mean_rows, bounds.between(np.zeros(1), np.array([99.0])).mean_rows
    (0.0, inf)
    """

    weights: AliasTable
    centre: Floats
    whitening: Floats
    radius: float
    order: int
    rounding: float

    @classmethod
    def of(
        cls,
        model: LinearModel,
        centre: Floats,
        order: int = 2,
        radius: float | None = None,
        factor: Floats | None = None,
        rest: Rows = slice(None),
    ) -> ResidualBounds:
        """For control variates of a model around a centre: one pass over the data, and one for the factor if not given.

        R is √D + 5 by default. `rest` are the rows that are sampled, in the order of their numbers; all by default.
        """
        factor = posterior_factor(model, centre) if factor is None else factor
        radius = ball_radius(centre.size) if radius is None else radius
        weights, largest = np.empty(model.n_data), 0.0
        farthest = float(np.linalg.norm(centre) + radius * np.linalg.norm(factor, 2))
        for block in blocks(model.n_data):
            rows = np.asarray(model.rows[block], dtype=np.float64)
            weights[block] = block_weights(model, rows, block, centre, factor, radius, order)
            largest = max(
                largest,
                largest_part(model, rows @ centre, lengths(rows @ factor), lengths(rows), farthest, block, radius),
            )
        whitening = np.ascontiguousarray(np.tril(np.linalg.inv(factor)))
        return cls(AliasTable.of(weights[rest]), centre, whitening, radius, order, rounding_of(largest))

    def whitened(self, theta: Floats) -> Floats:
        """L⁻¹(θ - centre)."""
        white = np.empty(theta.size)
        _bound_kernels.whiten(self.whitening, self.centre, theta, np.empty(theta.size), white)
        return white

    def between(self, theta: Floats, theta_new: Floats) -> TermBounds:
        """The bounds of one comparison."""
        reach = _bound_kernels.reach(self.whitened(theta), self.whitened(theta_new), self.radius, self.order)
        return TermBounds(self.weights, float(reach), self.rounding)
