"""What a trial run keeps of the data themselves: for each pair a short list of weighted values that stands for all lᵢ.

The lᵢ that lie farthest out are kept one by one. The others are counted in narrow bins, of which the mean and the count
are kept. So rare large values are there, as often as in the data; and the list has exactly the pair's μ, σ and
skewness. `designer.engine.resampled` draws mini-batches from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer
from designer.pairs import limits
from designer.pairs.limits import LARGEST

FARTHEST = 500  # values kept one by one
BINS = 500  # values that stand for the others, about
ROUNDING = 1e-9  # of the mean distance from the centre
MATCHED = 1e-6  # error allowed in the mean and the standard deviation, in standard deviations
MATCHED_SKEW = 1e-3  # error allowed in the skewness, relative to it or to 1
MOST_CHANGE = 0.05  # of a value, relative to its bin's distance from the centre, to match the moments


class Weighted(NamedTuple):
    """Values, and how many of the N data each stands for."""

    values: Floats
    weights: Ints


class Keeper:
    """One pass over the lᵢ of a pair, a block at a time, in any number of blocks.

    Examples
    --------
    >>> l = np.random.default_rng(0).standard_normal(100_000)
    >>> keeper = Keeper()
    >>> for block in np.split(l, 10):
    ...     keeper.add(block)
    >>> kept = keeper.kept(l.mean(), l.std(), float(np.mean((l - l.mean()) ** 3)) / l.std() ** 3)
    >>> int(kept.weights.sum()), int(np.sum(kept.weights == 1)) >= 500
    (100000, True)
    """

    def __init__(self) -> None:
        self.centre, self.scale = 0.0, 0.0
        self.far = np.empty(0)  # lᵢ - centre of the values farthest out so far
        self.least = -1.0  # the smallest distance among them, once there are FARTHEST
        self.counts: Ints | None = None
        self.sums = np.empty(0)

    def add(self, values: Floats) -> None:
        """The next block."""
        if self.counts is None:
            self.centre = float(np.median(values))
            self.counts, self.sums = np.zeros(2**16, dtype=np.int64), np.zeros(2**16)
            self.scale = float(np.abs(values - self.centre).mean())
        away = values - self.centre
        away[np.abs(away) <= ROUNDING * self.scale] = 0.0  # or rounding would decide about its sign, and so its bin
        beyond = np.abs(away) > self.least
        far, near = np.concatenate([self.far, away[beyond]]), away[~beyond]
        if far.size > FARTHEST:
            order = np.argpartition(np.abs(far), far.size - FARTHEST)
            near = np.concatenate([near, far[order[:-FARTHEST]]])
            far = far[order[-FARTHEST:]]
            self.least = float(np.abs(far).min())
        self.far = far
        # the first 16 bits of a double are its sign, its exponent and 4 bits of its fraction: bins 3% to 6% wide
        key = (near.view(np.uint64) >> np.uint64(48)).astype(np.int64)
        self.counts += np.bincount(key, minlength=2**16)
        self.sums += np.bincount(key, near, minlength=2**16)

    def kept(self, mu: float, sigma: float, skew: float) -> Weighted | None:
        """The values to keep, with exactly these moments; None if bins cannot represent the lᵢ that well."""
        if self.counts is None:
            return None
        weights, sums = _merged(self.counts, self.sums)
        far = np.sort(self.far)  # in an order that neither blocks nor rounding decide: resampling counts along it
        near = _matched(far, sums / weights, weights, mu - self.centre, sigma, skew)
        if near is None:
            return None
        values = self.centre + np.concatenate([far, near])
        return Weighted(values, np.concatenate([np.ones(far.size, dtype=np.int64), weights]))


def _merged(counts: npt.NDArray[Any], sums: Floats) -> tuple[Ints, Floats]:
    """Counts and sums of the bins that are not empty; of more than BINS, the innermost are made one on each side."""
    used = np.flatnonzero(counts)
    counts, sums = counts[used], sums[used]
    if used.size > BINS:
        inner = np.argsort(np.abs(sums / counts), kind="stable")[: used.size - BINS]
        group = np.arange(used.size)
        for side in (sums[inner] < 0.0, sums[inner] >= 0.0):
            if side.any():
                group[inner[side]] = inner[side][0]
        group = np.unique(group, return_inverse=True)[1].astype(np.int64)
        counts, sums = np.bincount(group, counts).astype(np.int64), np.bincount(group, sums).astype(np.float64)
    return counts, sums


def _matched(far: Floats, near: Floats, weights: Ints, mean: float, sigma: float, skew: float) -> Floats | None:
    """The bins' values, moved a little so that with `far` they have these moments; None if that takes too much.

    A quadratic map of the values: its constant keeps the mean, its slope the variance lost within bins, and its
    curvature the skewness.
    """
    n_data, total = far.size + float(weights.sum()), float(weights.sum())
    far, near = (far - mean) / sigma, (near - mean) / sigma
    if total == 0.0:
        return near
    rest_mean = -float(far.sum()) / total
    rest_square = (n_data - float(far @ far)) / total - rest_mean**2  # variance of the others
    rest_cube = (n_data * skew - float(np.sum(far**3))) / total
    y = near - float(weights @ near) / total
    v = float(weights @ y**2) / total
    if v <= 1e-12:  # nothing to move: all the others are (nearly) equal
        moved = rest_mean + y
    else:
        z = y * y - v - y * (float(weights @ y**3) / total / v)  # orthogonal to 1 and y
        spread, q, least, moved = float(weights @ z**2) / total, 0.0, np.inf, near
        for _ in range(20):
            slope = np.sqrt(max(0.0, rest_square - q * q * spread) / v)
            trial = rest_mean + slope * y + q * z
            lack = rest_cube - float(weights @ trial**3) / total
            if abs(lack) < least:  # of two values a curvature can change little: then the first one is the best
                least, moved = abs(lack), trial
            if spread <= 1e-24 or abs(lack) * total <= 1e-9 * n_data * max(1.0, abs(skew)):
                break
            q += lack / (3.0 * float(weights @ (trial**2 * z)) / total)
        if not least * total <= 0.5 * MATCHED_SKEW * n_data * max(1.0, abs(skew)):
            return None
    ok = np.all(np.abs(moved - near) <= MOST_CHANGE * (np.abs(near) + np.sqrt(max(v, 0.0)) + 1e-9))
    return mean + sigma * moved if ok else None


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Residuals:
    """Weighted values for each pair of a trial run; a pair may have none.

    Parameters
    ----------
    values, weights
        All values, and how many data each stands for, pair after pair.
    starts
        Where the values of each pair start, and where the last ones end.

    Examples
    --------
    >>> residuals = Residuals.of([np.array([0.5, -0.25, 1.0, -0.25])])
    >>> residuals.pair(0).weights.sum()
    np.int64(4)
    """

    values: Floats
    weights: Ints
    starts: Ints

    def __init__(self, values: npt.ArrayLike, weights: npt.ArrayLike, starts: npt.ArrayLike) -> None:
        fields = {
            "values": _numbers("values", values, "f", np.float64),
            "weights": _numbers("weights", weights, "iu", np.int64),
            "starts": _numbers("starts", starts, "iu", np.int64),
        }
        value, weight, start = fields.values()
        if value.size != weight.size or start.size == 0:
            raise BadInput(f"residuals: {value.size:,} values, {weight.size:,} weights and {start.size:,} starts")
        integer("number of residuals", value.size, 0, limits.MAX_RESIDUALS)
        if start[0] != 0 or start[-1] != value.size or np.any(np.diff(start) < 0):
            raise BadInput(f"residuals: starts must rise from 0 to {value.size:,}")
        if not np.all(np.abs(value) <= LARGEST):
            raise BadInput(f"residuals: values must be finite and must not exceed {LARGEST:g} in size")
        if not np.all(weight >= 1):
            raise BadInput("residuals: weights must be at least 1")
        for name, field in fields.items():
            object.__setattr__(self, name, field)

    @classmethod
    def joined(cls, parts: Iterable[Weighted | None]) -> Residuals:
        """Of pairs with these values; None for a pair without."""
        nothing = Weighted(np.empty(0), np.empty(0, dtype=np.int64))
        kept = [part or nothing for part in parts]
        starts = np.cumsum([0, *(part.values.size for part in kept)])
        values, weights = (np.concatenate(column) for column in zip(nothing, *kept, strict=True))
        return cls(values, weights, starts)

    @classmethod
    def of(cls, populations: Sequence[npt.ArrayLike]) -> Residuals:
        """Of pairs whose lᵢ are all known: one array for each."""
        parts = []
        for given in populations:
            values = np.asarray(given, dtype=np.float64)
            keeper = Keeper()
            keeper.add(values)
            mean, sigma = float(values.mean()), float(values.std())
            skew = float(np.mean(((values - mean) / sigma) ** 3)) if sigma > 0.0 else 0.0
            parts.append(keeper.kept(mean, sigma, skew) if sigma > 0.0 else None)
        return cls.joined(parts)

    def __len__(self) -> int:
        return self.starts.size - 1

    def pair(self, index: int) -> Weighted:
        """The values of one pair."""
        part = slice(*self.starts[index : index + 2])
        return Weighted(self.values[part], self.weights[part])

    @cached_property
    def sizes(self) -> Ints:
        """Number of values of each pair; 0 where none were kept."""
        return np.diff(self.starts)

    @cached_property
    def kurtosis(self) -> Floats:
        """Fourth moment of each pair's values in standard deviations (3 for normal ones); NaN where none were kept."""
        owner, weights = np.repeat(np.arange(len(self)), self.sizes), self.weights.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            total, first = (np.bincount(owner, weights * self.values**k, len(self)) for k in (0, 1))
            away = self.values - (first / total)[owner]
            square = np.bincount(owner, weights * away**2, len(self)) / total
            fourth = np.bincount(owner, weights * (away / np.sqrt(square)[owner]) ** 4, len(self)) / total
        return np.where(self.sizes > 0, fourth, np.nan)

    def take(self, indices: npt.ArrayLike) -> Residuals:
        """Of the pairs with these indices, or where a mask is true."""
        chosen = np.arange(len(self))[np.atleast_1d(indices)]
        return Residuals.joined(self.pair(int(k)) for k in chosen)

    def check(self, n_data: int, mu: Floats, sigma: Floats, skew: Floats | None) -> None:
        """Refuse values that do not have these moments."""
        if len(self) != mu.size:
            raise BadInput(f"residuals are of {len(self):,} pairs, mu of {mu.size:,}")
        owner = np.repeat(np.arange(len(self)), self.sizes)
        with np.errstate(over="ignore", invalid="ignore"):
            away = (self.values - mu[owner]) / sigma[owner]
            total, first, second, third = (
                np.bincount(owner, self.weights * away**k / n_data, len(self)) for k in range(4)
            )
            rounding = MATCHED + 1e-13 * np.abs(mu) / sigma
            wrong = np.stack(
                [
                    ~(np.abs(total - 1.0) <= 1e-15 + 1e-15 * self.sizes),
                    ~(np.abs(first) <= rounding),
                    ~(np.abs(second - 1.0) <= 2.0 * rounding),
                    np.zeros(mu.size, dtype=bool)
                    if skew is None
                    else ~(np.abs(third - skew) <= MATCHED_SKEW * np.maximum(1.0, np.abs(skew))),
                ]
            )
        wrong &= self.sizes > 0
        if wrong.any():
            k = int(np.flatnonzero(wrong.any(axis=0))[0])
            what = ("number of data", "mean", "standard deviation", "skewness")[int(np.argmax(wrong[:, k]))]
            raise BadInput(f"residuals of pair {k}: their {what} is not that of the pair")

    def __reduce__(self) -> tuple[Any, ...]:
        return Residuals, (self.values, self.weights, self.starts)


def _numbers(name: str, given: npt.ArrayLike, kinds: str, dtype: Any) -> npt.NDArray[Any]:
    """A read-only copy of a list of numbers."""
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in kinds):
        raise BadInput(f"residuals: {name} must be a list of numbers, not {array.dtype} of shape {array.shape}")
    copy = array.astype(dtype)
    copy.setflags(write=False)
    return copy
