"""Rows of several sets of data, as of observed and of censored times, counted one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samplers.models.adapters.row_program import RowProgram


class RowUnion:
    """The programs of several sets as one: a row is computed by the program of its own set.

    All programs run for each row that is asked for, and one result is kept: what a row costs is the sum of them. Where
    a row is not of a set, the set's first row stands in for it.

    Parameters
    ----------
    jax
        The package.
    programs
        One for each set.

    Attributes
    ----------
    n_rows
        Of all sets together.
    data
        Arrays with that many rows; the first says to which set a row belongs.
    used
        Numbers of the parameters that the result depends on.
    """

    def __init__(self, jax: Any, programs: Sequence[RowProgram]) -> None:
        self._jax, self._programs = jax, programs
        sizes = [program.n_rows for program in programs]
        self.n_rows = sum(sizes)
        self.used = set[int]().union(*(program.used for program in programs))
        self.data: list[Any] = [np.repeat(np.arange(len(sizes)), sizes)]
        for program, before in zip(programs, np.cumsum([0, *sizes]), strict=False):
            own = np.zeros(self.n_rows, dtype=np.int64)
            own[before : before + program.n_rows] = np.arange(program.n_rows)
            self.data += [array[own] for array in program.data]

    def __call__(self, leaves: Sequence[Any], rows: Sequence[Any]) -> Any:
        """The terms of these rows; `rows` are some rows of `data`."""
        which, first, total = rows[0], 1, 0.0
        for number, program in enumerate(self._programs):
            after = first + len(program.data)
            total = self._jax.numpy.where(which == number, program(leaves, rows[first:after]), total)
            first = after
        return total
