"""Bounds |r_i| <= c_i M(θ, θ') on residuals with group effects, for the exact mini-batch test.

The ball in which they hold is fixed, at the scales of the centre; scales that have moved since only make it more or
less likely that a state is inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.decide.alias import AliasTable, TermBounds
from samplers.models import Rows
from samplers.models.control.term_bounds import (
    BoundedModel,
    ball_radius,
    largest_part,
    lengths,
    rounding_of,
    weights_along,
)
from samplers.models.groups._bound_kernels import grouped_reach
from samplers.models.groups.arrow import ArrowFactor

if TYPE_CHECKING:
    from samplers.models.groups.model import Grouped

AT_ONCE = 2**22  # numbers of rows that are made dense at once


@dataclass(frozen=True, eq=False)
class GroupedBounds:
    """Weights c_i, and all that M(θ, θ') takes; make one with `of`.

    Parameters
    ----------
    weights
        c_i of the data that are sampled, ready to be drawn from.
    centre, factor
        Where the control variates are expanded, and M of the posterior precision there.
    radius, order
        R of each group's ball, and the order of the control variates.
    rounding
        Largest rounding error of a residual.
    """

    weights: AliasTable
    centre: Floats
    factor: ArrowFactor
    radius: float
    order: int
    rounding: float

    @classmethod
    def of(
        cls,
        model: Grouped,
        centre: Floats,
        order: int,
        radius: float | None,
        factor: ArrowFactor,
        rest: Rows = slice(None),
    ) -> GroupedBounds:
        """For control variates around a centre: one pass over the data; `rest` are the rows that are sampled."""
        if not isinstance(model.model, BoundedModel):
            raise BadInput(f"bounds: {type(model.model).__name__} has no second_bound and third_bound")
        _, width, root = factor.wide.shape
        radius = ball_radius(root + width) if radius is None else radius
        weights, largest, size = np.empty(model.n_data), 0.0, max(256, AT_ONCE // root)
        farthest = float(np.linalg.norm(centre)) + radius * math.sqrt(float(factor.variances().sum()))
        for start in range(0, model.n_data, size):
            block = slice(start, min(start + size, model.n_data))
            rows, index, columns = model.arrow_rows(block)
            h = factor.lengths(rows, index, columns)
            eta, long = model.predictor(centre, block), np.hypot(lengths(rows), lengths(columns))
            weights[block] = weights_along(model.model, eta, h, block, radius, order)
            largest = max(largest, largest_part(model.model, eta, h, long, farthest, block, radius))
        return cls(AliasTable.of(weights[rest]), centre, factor, radius, order, rounding_of(largest))

    def whitened(self, theta: Floats) -> Floats:
        """M'(θ - centre)."""
        return self.factor.whiten(theta - self.centre)

    def between(self, theta: Floats, theta_new: Floats) -> TermBounds:
        """The bounds of one comparison."""
        _, width, root = self.factor.wide.shape
        states = self.whitened(theta), self.whitened(theta_new)
        return TermBounds(
            self.weights, float(grouped_reach(*states, root, width, self.radius, self.order)), self.rounding
        )
