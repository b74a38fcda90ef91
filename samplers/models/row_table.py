"""Numbers of each row of a generalised linear model: y, offset, weight, trials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from designer.core.arrays import Floats
from samplers.models import Rows
from samplers.models.arrays import frozen

Names = tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class RowTable:
    """Numbers of each row: y, and where there are any, offset, weight and trials, one after the other in memory.

    Parameters
    ----------
    table
        (N, k).
    offset, weight, extra
        Their columns, -1 if there are none; y is column 0.
    """

    table: Floats
    offset: int = -1
    weight: int = -1
    extra: int = -1

    @classmethod
    def of(
        cls, y: Floats, offset: Floats | None = None, weight: Floats | None = None, extra: Floats | None = None
    ) -> RowTable:
        """From one array each."""
        columns, places = [y], []
        for some in (offset, weight, extra):
            places.append(-1 if some is None else len(columns))
            columns += [] if some is None else [some]
        return cls(frozen(np.stack(columns, axis=1)), *places)

    def column(self, place: int, indices: Rows, default: float) -> Floats:
        """A column of these rows, or the default."""
        rows = self.table[indices]
        return np.full(rows.shape[0], default) if place < 0 else np.ascontiguousarray(rows[:, place])

    def of_family(self, indices: Rows) -> tuple[Floats, Floats, Floats]:
        """y, extra and weight of these rows."""
        return (
            self.column(0, indices, 0.0),
            self.column(self.extra, indices, 0.0),
            self.column(self.weight, indices, 1.0),
        )

    def add_offset(self, eta: Floats, indices: Rows) -> Floats:
        """η with the offset."""
        return eta if self.offset < 0 else eta + self.table[indices][:, self.offset]
