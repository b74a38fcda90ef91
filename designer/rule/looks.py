"""The looks of a test, n_1 < n_2 < ... < n_J = N. No other module computes looks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer, real, shown

MAX_N_DATA = 10**15  # whole numbers up to here are exact in floating point, with some room for products
MIN_GROWTH, MAX_GROWTH = 1.05, 1e6
MAX_LISTED = 10**7  # looks in a list


@dataclass(frozen=True, eq=False)
class Schedule:
    """The looks of a test: increasing numbers of data, of which the last is N.

    Make one with `equal`, `geometric` or `explicit`.

    Parameters
    ----------
    n_data
        Number of data N.
    m
        The first look, and the distance between looks if `listed` is None.
    listed
        All looks; None if they are m, 2m, ...

    Examples
    --------
    >>> Schedule.equal(1200, 500).n
    array([ 500, 1000, 1200])
    >>> Schedule.geometric(1000, 100, 1.1).size
    25
    """

    n_data: int
    m: int
    listed: Ints | None = None

    @classmethod
    def equal(cls, n_data: int, m: int) -> Schedule:
        """Looks after m, 2m, ... data; the last mini-batch may be shorter (K14 Alg. 1)."""
        n_data = integer("n_data", n_data, 2, MAX_N_DATA)
        return cls(n_data, integer("m", m, 2, n_data))

    @classmethod
    def geometric(cls, n_data: int, m: int, growth: float) -> Schedule:
        """Each look has `growth` times the data of the look before, rounded up; 1 means equal mini-batches."""
        first, growth = cls.equal(n_data, m), check_growth(growth)
        if growth == 1:
            return first
        looks = [first.m]
        while looks[-1] < first.n_data:
            # without 1e-9, 1.1 * 100 would round up to 111
            looks.append(min(first.n_data, math.ceil(growth * looks[-1] - 1e-9)))
        return cls(first.n_data, first.m, np.array(looks, dtype=np.int64))

    @classmethod
    def explicit(cls, n_data: int, looks: Sequence[int] | Ints) -> Schedule:
        """Any increasing looks; N is appended if it is not the last one."""
        n_data = integer("n_data", n_data, 2, MAX_N_DATA)
        try:
            numbers = np.asarray(looks)
        except ValueError:  # lists of different lengths
            numbers = np.array("")
        if numbers.ndim != 1 or not 1 <= numbers.size <= MAX_LISTED or numbers.dtype.kind not in "iu":
            raise BadInput(f"looks: must be a list of 1 to {MAX_LISTED:,} whole numbers")
        listed = numbers.astype(np.int64)
        if listed[0] < 2 or listed[-1] > n_data or np.any(np.diff(listed) <= 0):
            raise BadInput(f"looks: must increase, from 2 or more to n_data = {n_data:,} or less")
        if listed[-1] < n_data:
            listed = np.append(listed, n_data)
        return cls(n_data, int(listed[0]), listed)

    @property
    def size(self) -> int:
        """J, the number of looks, including the last one at N."""
        return -(-self.n_data // self.m) if self.listed is None else self.listed.size

    @cached_property
    def n(self) -> Ints:
        """All looks, as numbers of data."""
        if self.size > MAX_LISTED:
            raise BadInput(f"{self.size:,} looks are too many to list; at most {MAX_LISTED:,}")
        return self.at(np.arange(self.size))

    @property
    def pi(self) -> Floats:
        """All looks, as shares of the data."""
        return self.n / self.n_data

    @cached_property
    def even(self) -> bool:
        """Whether the looks are spaced evenly enough to merge neighbouring ones (except at the end)."""
        if self.listed is None:
            return True
        step = np.diff(self.listed[:-1]).astype(np.float64)
        return bool(np.all(np.abs(np.diff(step)) <= 0.1 * step[1:] + 1.0)) if step.size > 1 else True

    def at(self, index: Ints) -> Ints:
        """Numbers of data at the looks with these indices; 0 is the first look."""
        if self.listed is None:
            return np.minimum((np.asarray(index, dtype=np.int64) + 1) * self.m, self.n_data)
        return self.listed[index]


def check_growth(growth: float) -> float:
    """The growth factor, if it is 1 or within the allowed range."""
    try:
        number = real("growth", growth, 1.0, MAX_GROWTH)
    except BadInput:
        number = math.nan
    if not (number == 1.0 or number >= MIN_GROWTH):
        allowed = f"must be 1 (equal batches) or lie in [{MIN_GROWTH:g}, {MAX_GROWTH:g}]"
        raise BadInput(f"growth = {shown(growth)}: {allowed}")
    return number
