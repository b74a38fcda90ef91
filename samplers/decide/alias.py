"""Drawing data in proportion to their weights, and the bounds of a comparison's terms that are made of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from samplers.decide import _minibatch_kernels as kernels

ROUNDING = 1e-12  # of a term, where nothing better is known


class DrawnRows(NamedTuple):
    """Rows drawn with replacement, the weight of each, and a uniform number for each.

    Examples
    --------
    >>> AliasTable.of([0.0, 2.0]).draw(np.random.default_rng(1), 3).weights
    array([2., 2., 2.])
    """

    indices: Ints
    weights: Floats
    keeps: Floats


@dataclass(frozen=True, eq=False)
class AliasTable:
    """N data with weights c_i, drawn in proportion to them in constant time (Walker 1977); 32 bytes per datum.

    Make one with `of`.

    Parameters
    ----------
    table
        As `samplers.decide._minibatch_kernels.fill_table` fills it.
    total
        C, the sum of the weights.

    Examples
    --------
    >>> table = AliasTable.of([1.0, 3.0])
    >>> table.total, (table.draw(np.random.default_rng(1), 4000).indices == 1).mean().round(2)
    (4.0, np.float64(0.75))
    """

    table: Floats
    total: float

    @classmethod
    def of(cls, weights: npt.ArrayLike) -> AliasTable:
        """From weights, 0 or above; if all are 0, nothing is ever drawn."""
        c = np.ascontiguousarray(weights, dtype=np.float64)
        if c.ndim != 1 or c.size == 0:
            raise BadInput(f"weights: has shape {c.shape}; must be a list of numbers")
        if not (np.all(c >= 0.0) and math.isfinite(c.sum())):
            place = int(np.argmin((c >= 0.0) & np.isfinite(c)))
            raise BadInput(f"weights: that of datum {place:,} is {c[place]}; must be finite and not negative")
        table, total = np.zeros((c.size, 4)), math.fsum(c)
        if total > 0.0:
            kernels.fill_table(c, total, table)
        return cls(table, total)

    def __len__(self) -> int:
        return int(self.table.shape[0])

    @property
    def weights(self) -> Floats:
        """c_i of all data."""
        return self.table[:, kernels.WEIGHT]

    def draw(self, rng: np.random.Generator, count: int) -> DrawnRows:
        """This many rows, with replacement."""
        drawn = DrawnRows(np.empty(count, dtype=np.int64), np.empty(count), np.empty(count))
        kernels.draw_rows(rng, self.table, *drawn)
        return drawn


class TermBounds(NamedTuple):
    """Bounds on the terms of one comparison: |lᵢ| <= c_i M for every datum.

    A model that knows such bounds has a method bounds(theta, theta_new) that returns them; M must be the same for
    (θ, θ') and (θ', θ), and the weights the same for all pairs.

    Attributes
    ----------
    weights
        The c_i and their sum C, an `AliasTable`.
    reach
        M(θ, θ'); infinite where no bound is known.
    rounding
        An excess up to this size is a rounding error.

    Examples
    --------
    >>> TermBounds(AliasTable.of([1.0, 3.0]), reach=0.5).mean_rows
    2.0
    """

    weights: AliasTable
    reach: float
    rounding: float = ROUNDING

    @property
    def mean_rows(self) -> float:
        """C M: how many rows the test draws on average."""
        return self.weights.total * self.reach if self.weights.total > 0.0 else 0.0

    def times(self, scale: float) -> TermBounds:
        """Those of terms that are multiplied by `scale`."""
        return self._replace(reach=scale * self.reach, rounding=scale * self.rounding)
