"""Group terms of a formula, (1 | g) and (x | g): which group each row is in, and what its effects multiply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real
from samplers.models.arrays import finite_array, frozen

MOST_COLUMNS = 16  # effects of one group
SCALE, DEGREES = 2.5, 3.0  # of the half-t prior of a scale
PLAIN = "intercept"  # the column whose effect bears the group's name alone
INT32 = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Groups:
    """One group term: effects b_g ~ N(0, τ²) of each group g, with a scale τ of its own for each column.

    A row i of group g adds columns_i . b_g to its linear predictor. Effects of one group are independent in the prior,
    and their scales have half-t priors.

    Parameters
    ----------
    index
        Group of each row, 0, 1, ...; every group has a row.
    columns
        What the effects multiply, (N, k); None: ones, for (1 | g).
    name
        Of the term.
    labels
        Of the groups, as text or numbers; 0, 1, ... by default.
    column_names
        Of the columns; "intercept" adds nothing to a name.
    scale, degrees
        Of the half-t prior of each τ; infinite degrees: half-normal.

    Examples
    --------
    >>> agents = Groups([0, 1, 1, 0], name="agent", labels=["Ann", "Bob"])
    >>> agents.n_groups, agents.names, agents.scale_names
    (2, ('agent[Ann]', 'agent[Bob]'), ('log scale agent',))
    """

    index: npt.NDArray[np.int32]
    columns: Floats | None = None
    name: str = "group"
    labels: Sequence[object] | None = None
    column_names: Sequence[str] | None = None
    scale: float = SCALE
    degrees: float = DEGREES

    def __post_init__(self) -> None:
        index = _index(self.name, self.index)
        object.__setattr__(self, "index", index)
        if self.columns is not None:
            columns = finite_array(f"groups {self.name!r}: columns", self.columns, 2)
            if columns.shape[0] != index.size or columns.shape[1] > MOST_COLUMNS:
                most = f"({index.size:,}, k) with k from 1 to {MOST_COLUMNS}"
                raise BadInput(f"groups {self.name!r}: columns have shape {columns.shape}: must be {most}")
            object.__setattr__(self, "columns", frozen(columns))
        labels = range(int(index.max()) + 1) if self.labels is None else self.labels
        object.__setattr__(self, "labels", tuple(str(label) for label in labels))
        self._check_groups(index)
        object.__setattr__(self, "column_names", self._named_columns())
        object.__setattr__(self, "scale", real("scale", self.scale, 0.0, 1e300, open_low=True))
        if self.degrees != math.inf:
            object.__setattr__(self, "degrees", real("degrees", self.degrees, 1.0, 1e6))

    def _check_groups(self, index: npt.NDArray[np.int32]) -> None:
        labels = self._labels
        if len(set(labels)) != len(labels):
            twice = next(label for k, label in enumerate(labels) if label in labels[:k])
            raise BadInput(f"groups {self.name!r}: label {twice!r} stands for two groups; give each its own")
        if index.max() >= len(labels):
            last = f"must be from 0 to {len(labels) - 1:,}, as there are {len(labels):,} labels"
            raise BadInput(f"groups {self.name!r}: row {index.argmax():,} has group {index.max():,}: {last}")
        empty = np.flatnonzero(np.bincount(index, minlength=len(labels)) == 0)
        if empty.size:
            raise BadInput(
                f"groups {self.name!r}: {empty.size:,} of {len(labels):,} groups have no rows, the first is "
                f"{labels[empty[0]]!r}; number only groups with rows"
            )
        if len(labels) < 2:
            raise BadInput(f"groups {self.name!r}: all rows are in one group; leave the term out")

    def _named_columns(self) -> tuple[str, ...]:
        if self.column_names is not None:
            names = tuple(str(name) for name in self.column_names)
            if len(names) != self.width or len(set(names)) != len(names):
                raise BadInput(f"groups {self.name!r}: column_names must be {self.width} different names")
            return names
        if self.columns is None:
            return (PLAIN,)
        ones = np.all(self.columns == 1.0, axis=0)
        return tuple(PLAIN if k == np.argmax(ones) and ones[k] else f"z{k}" for k in range(self.width))

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return self.index.size

    @property
    def n_groups(self) -> int:
        """Number of groups G."""
        return len(self._labels)

    @property
    def width(self) -> int:
        """Number k of effects of each group."""
        return 1 if self.columns is None else self.columns.shape[1]

    @property
    def size(self) -> int:
        """Number of effects, G k."""
        return self.n_groups * self.width

    @property
    def names(self) -> tuple[str, ...]:
        """Of all effects, group by group: "agent[12]", "agent[12].x"."""
        assert self.column_names is not None
        ends = ["" if name == PLAIN else f".{name}" for name in self.column_names]
        return tuple(f"{self.name}[{label}]{end}" for label in self._labels for end in ends)

    @property
    def scale_names(self) -> tuple[str, ...]:
        """Of the log scales: "log scale agent", "log scale agent.x"."""
        assert self.column_names is not None
        ends = ["" if name == PLAIN else f".{name}" for name in self.column_names]
        return tuple(f"log scale {self.name}{end}" for end in ends)

    @property
    def _labels(self) -> tuple[str, ...]:
        assert isinstance(self.labels, tuple)
        return self.labels


def _index(name: str, given: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Groups of the rows as 4 bytes each, or BadInput."""
    values = np.asarray(given)
    if values.ndim != 1 or values.dtype.kind not in "iu" or values.size < 2:
        raise BadInput(f"groups {name!r}: index must be whole numbers, one for each of at least 2 rows")
    if values.min() < 0 or values.max() > INT32:
        place = int(np.argmax((values < 0) | (values > INT32)))
        raise BadInput(f"groups {name!r}: row {place:,} has group {values[place]:,}: must be from 0 to {INT32:,}")
    index: npt.NDArray[np.int32] = frozen(np.ascontiguousarray(values, dtype=np.int32))
    return index
