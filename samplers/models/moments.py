"""The moments of all lᵢ of a comparison, which make a pair: in one pass over the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.pairs.residuals import Keeper
from samplers.data.scaling import unit
from samplers.decide.comparison import Comparison, evaluate
from samplers.models.arrays import blocks


def moments(comparison: Comparison, keeper: Keeper | None = None) -> tuple[float, float, float]:
    """Mean, population standard deviation and skewness of all lᵢ: one pass, a block at a time, which `keeper` sees."""
    scale, sums = 0.0, Sums.none()
    for block in blocks(comparison.n):
        values = evaluate(comparison, np.arange(block.start, block.stop))
        if keeper is not None:
            keeper.add(values)
        scale = scale or float(unit(values))
        sums = sums.joined(Sums.of(values / scale))
    mean, sigma, skew = (float(value) for value in sums.moments())
    return scale * mean, scale * sigma, skew


class Sums(NamedTuple):
    """Of some numbers: how many, their mean, and the sums of squares and cubes of what they differ from it.

    Of one row of numbers, or of many rows at once: then all but `n` are arrays with one entry per row.
    """

    n: int
    mean: Floats
    squares: Floats
    cubes: Floats

    @classmethod
    def none(cls) -> Sums:
        """Of no numbers."""
        return cls(0, np.zeros(()), np.zeros(()), np.zeros(()))

    @classmethod
    def of(cls, values: Floats) -> Sums:
        """Of the numbers along the last axis."""
        mean = values.mean(axis=-1)
        away = values - mean[..., None]
        square = away * away
        return cls(values.shape[-1], mean, square.sum(axis=-1), (square * away).sum(axis=-1))

    def joined(self, other: Sums) -> Sums:
        """Of these and others (Pébay 2008)."""
        n, d = self.n + other.n, other.mean - self.mean
        both = self.n * other.n / n
        cubes = d**3 * both * (self.n - other.n) / n + 3.0 * d * (self.n * other.squares - other.n * self.squares) / n
        squares = self.squares + other.squares + d * d * both
        return Sums(n, self.mean + d * other.n / n, squares, self.cubes + other.cubes + cubes)

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """Mean, population standard deviation and skewness (0 where all numbers are equal)."""
        sigma = np.sqrt(self.squares / self.n)
        cubed = np.where(sigma > 0.0, sigma, 1.0) ** 3
        return self.mean, sigma, np.where(sigma > 0.0, self.cubes / self.n / cubed, 0.0)
