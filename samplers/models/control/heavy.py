"""Heavy rows: the few rows that control variates approximate badly are read in every decision, the rest is sampled.

Rows are ranked by c_i, the largest residual of their control variate per unit of posterior distance
(`samplers.models.control.term_bounds`), or, where a model knows no such bound, by their largest residual on some draws
from the normal approximation. Without the H heaviest, κ and the skewness of the residuals fall, so that a test of the
other N - H rows needs fewer of them; a decision then reads H rows and its sample. H is chosen on other draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer
from samplers.models import LinearModel, RowProxies, Rows, SmoothModel
from samplers.models.arrays import as_indices, blocks
from samplers.models.control import _bound_kernels
from samplers.models.control.many_states import residuals_at, row_blocks
from samplers.models.control.support import refuse_row
from samplers.models.control.term_bounds import BoundedModel, ball_radius, block_weights, factor_of

Number: TypeAlias = int | Literal["auto", "bounds"]
Wish: TypeAlias = "Number | npt.ArrayLike | RowSplit"

PAIRS = 32  # of draws from the normal approximation, on which the numbers of heavy rows are compared
RANKED_BY = 24  # other draws, which rank the rows of a model without bounds
LIGHT = 100_000  # other rows that are looked at for that, evenly spread
MOST = 100_000  # heavy rows, at most
SEED = 13
LEVELS = 64.0  # weights are compared in steps of a factor 2^(1 / LEVELS)
SHARE = 5  # at most N / 5 rows are heavy: with more, an exact test is cheaper
SERIES = (1, 2, 5)  # numbers of heavy rows that are tried: 10, 20, 50, 100, ...
LEAST_SAMPLE = 50.0  # rows that a test of the rest reads at least
SAMPLED, CACHE = (4.0, 10.0), 2**25  # cost of a sampled row, read anywhere and evaluated twice, in data below and above
# this many bytes (measured: 3.6 to 4.6, and 10 to 16); a heavy row, read in order and evaluated once, costs 1
NOISE = 0.15  # sd of a one-look test's log ratio at which normal residuals change a decision in 1% of cases, about
HARMLESS = 0.05  # the same for residuals of any distribution
SKEW = 0.1  # skewness of the sample's mean up to which the normal theory holds
ABOUT = 1.2  # costs within this factor are about the same: then more heavy rows, since less is left to chance
GAIN = 0.5  # heavy rows must lower the cost at least to this part of it


@dataclass(frozen=True, eq=False)
class RowSplit:
    """Which rows are heavy, and how the others are numbered: 0 .. N-H-1, in their order as far as possible.

    Datum j of the rest is row j. If that row is heavy, it is one of the other rows from N - H on instead.

    Parameters
    ----------
    n_rows
        N.
    heavy
        Row numbers, sorted.
    reason
        Why these; empty if they were given.

    Examples
    --------
    >>> split = RowSplit(6, np.array([1, 4]))
    >>> split.n_rest, split.rows_of(np.arange(4))
    (4, array([0, 5, 2, 3]))
    """

    n_rows: int
    heavy: Ints
    reason: str = ""

    @property
    def sentence(self) -> str:
        """What every step reads, and why, for people; empty if there are no heavy rows."""
        if not self.heavy.size:
            return ""
        return self.reason or f"always reads {self.heavy.size:,} heavy rows of {self.n_rows:,}"

    @property
    def n_rest(self) -> int:
        """N - H."""
        return self.n_rows - self.heavy.size

    @cached_property
    def holes(self) -> Ints:
        """Heavy rows below N - H, sorted."""
        return self.heavy[: np.searchsorted(self.heavy, self.n_rest)]

    @cached_property
    def fillers(self) -> Ints:
        """The rows that take their places: those from N - H on that are not heavy."""
        beyond = np.ones(self.heavy.size, dtype=np.bool_)
        beyond[self.heavy[self.holes.size :] - self.n_rest] = False
        return self.n_rest + np.flatnonzero(beyond)

    @cached_property
    def shift(self) -> int:
        """Data j with the same j >> shift share a bucket; there are four buckets or more for each hole."""
        return max(0, int(math.log2(self.n_rest / (4.0 * (self.holes.size + 1)))))

    @cached_property
    def buckets(self) -> Ints:
        """Of each bucket the number of holes before it, so that a hole is found without a search."""
        starts = np.arange((self.n_rest >> self.shift) + 2) << self.shift
        return np.searchsorted(self.holes, starts).astype(np.int64)

    def rows_of(self, indices: Rows) -> Rows:
        """Row numbers of these data of the rest."""
        if not self.heavy.size:
            return indices
        rows = as_indices(self.n_rest, indices).copy()
        place = np.searchsorted(self.holes, rows)
        found = np.flatnonzero(place < self.holes.size)
        found = found[self.holes[place[found]] == rows[found]]
        rows[found] = self.fillers[place[found]]
        return rows


def split_rows(
    model: LinearModel | SmoothModel,
    centre: Floats,
    order: int,
    precision: Floats,
    wish: Number | npt.ArrayLike,
    proxies: RowProxies | None = None,
) -> RowSplit:
    """The heavy rows that were asked for: how many, which, or "auto".

    Parameters
    ----------
    model
        A linear model, or one with derivatives of its own.
    centre, order
        Of its control variates.
    precision
        Of the normal approximation of the posterior, (D, D).
    wish
        A number of rows, their numbers, or "auto": as many as lower the predicted cost of a decision by half or more;
        "bounds": the same for the exact mini-batch test, whose cost depends on the bounds of the rest.
    proxies
        The control variates; only a model with bounds can do without.
    """
    if isinstance(wish, str) and wish not in ("auto", "bounds"):
        raise BadInput(f"heavy = {wish!r}: must be a number of rows, 'auto', 'bounds', or the numbers of the rows")
    if not isinstance(wish, (str, int, np.integer)) or isinstance(wish, bool):
        return RowSplit(model.n_data, _row_numbers(model.n_data, wish))
    count = None if isinstance(wish, str) else integer("heavy", wish, 0, model.n_data - 2)
    if count == 0 or (count is None and model.n_data < SHARE * SERIES[0] * 10):
        return RowSplit(model.n_data, np.empty(0, dtype=np.int64))
    bounded = model if isinstance(model, BoundedModel) else None
    if bounded is None and (wish == "bounds" or proxies is None):
        raise BadInput(f"heavy = {wish!r}: {type(model).__name__} has no third_bound to rank its rows; name the rows")
    most = min(model.n_data // SHARE, MOST) if count is None else count
    factor = factor_of(precision)
    if bounded is not None:
        ranking = heaviest(bounded, centre, order, factor, most)
    else:
        assert proxies is not None
        ranking = heaviest_residuals(proxies, model.n_data, centre, factor, most)
    if wish == "bounds":
        assert bounded is not None
        return _chosen_by_bounds(bounded, centre, order, ranking)
    if count is None:
        return _chosen(model, centre, order, factor, ranking.rows, proxies)
    return RowSplit(model.n_data, np.sort(ranking.rows))


def _row_numbers(n_rows: int, given: npt.ArrayLike) -> Ints:
    numbers = np.asarray(given)
    if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
        raise BadInput("heavy: must be a number of rows, 'auto', or the numbers of the rows")
    rows = np.unique(numbers.astype(np.int64))
    if rows.size and not 0 <= rows[0] <= rows[-1] < n_rows:
        raise BadInput(f"heavy: row {rows[0] if rows[0] < 0 else rows[-1]}: must be from 0 to {n_rows - 1:,}")
    if rows.size > n_rows - 2:
        raise BadInput(f"heavy: {rows.size:,} of {n_rows:,} rows: two must be left to sample")
    return rows


class Ranking(NamedTuple):
    """The heaviest rows in falling order, their weights c_i to a few digits, and the sum of all weights."""

    rows: Ints
    weights: Floats
    total: float


def heaviest(model: BoundedModel, centre: Floats, order: int, factor: Floats, count: int) -> Ranking:
    """The rows whose control variates can miss most, in falling order: one pass, and memory for `count` rows.

    Weights are compared to a few digits, ties by row number: rounding, which differs between machines, decides nothing.
    """
    radius = ball_radius(centre.size)

    def weights_of(block: slice) -> Floats:
        x = np.asarray(model.rows[block], dtype=np.float64)
        return block_weights(model, x, block, centre, factor, radius, order)

    return _ranked(((block.start, weights_of(block)) for block in blocks(model.n_data)), count)


def heaviest_residuals(proxies: RowProxies, n_rows: int, centre: Floats, factor: Floats, count: int) -> Ranking:
    """The same without bounds: rows by their largest residual on some draws from the normal approximation."""
    states = centre + (factor @ np.random.default_rng(SEED + 1).standard_normal((RANKED_BY, centre.size)).T).T

    def weights_of(block: slice) -> Floats:
        missed = residuals_at(proxies, states, block) - residuals_at(proxies, centre[None], block)
        weights: Floats = np.abs(missed).max(axis=0)
        if not np.all(np.isfinite(weights)):
            refuse_row(block.start + int(np.argmin(np.isfinite(weights))))
        return weights

    return _ranked(((block.start, weights_of(block)) for block in row_blocks(n_rows, RANKED_BY)), count)


def _ranked(parts: Iterable[tuple[int, Floats]], count: int) -> Ranking:
    """The rows with the largest weights, from weights of consecutive rows and where they begin."""
    rows, levels, least, total = np.empty(0, dtype=np.int64), np.empty(0), -math.inf, 0.0
    for start, weights in parts:
        total += float(weights.sum())
        level = np.round(LEVELS * np.log2(np.maximum(weights, 1e-300)))
        new = np.flatnonzero(level > least)
        rows, levels = np.concatenate([rows, start + new]), np.concatenate([levels, level[new]])
        if rows.size > count:
            first = np.argsort(-levels, kind="stable")[:count]  # stable: the rows before have the smaller numbers
            rows, levels = rows[first], levels[first]
            least = levels[-1]
    falling = np.argsort(-levels, kind="stable")
    return Ranking(rows[falling], 2.0 ** (levels[falling] / LEVELS), total)


# --- how many ---------------------------------------------------------------------------------------------------------


class RestMoments(NamedTuple):
    """κ, skewness and predicted sample of the rest, on average over pairs, by the number of heavy rows."""

    heavy: Ints
    kappa: Floats
    skew: Floats  # the largest |skewness| of a pair
    sample: Floats
    cost: Floats  # of a decision, in evaluations of a row read in order


def _chosen(
    model: LinearModel | SmoothModel,
    centre: Floats,
    order: int,
    factor: Floats,
    ranked: Ints,
    proxies: RowProxies | None,
) -> RowSplit:
    """The first rows of a ranking, as many as make decisions cheapest; none if the gain is small."""
    tried = rest_moments(model, centre, order, factor, ranked, proxies)
    least = tried.cost.min()
    if not least <= GAIN * tried.cost[0]:
        return RowSplit(model.n_data, np.empty(0, dtype=np.int64))
    best = int(np.flatnonzero(tried.cost <= ABOUT * least)[-1])
    count = int(tried.heavy[best])
    reason = (
        f"always reads the {count:,} heaviest of {model.n_data:,} rows: κ falls from {tried.kappa[0]:.2g} to "
        f"{tried.kappa[best]:.2g}, the largest skewness from {tried.skew[0]:.3g} to {tried.skew[best]:.3g}"
    )
    return RowSplit(model.n_data, np.sort(ranked[:count]), reason)


def _chosen_by_bounds(model: LinearModel, centre: Floats, order: int, ranking: Ranking) -> RowSplit:
    """As many rows as make the exact mini-batch test cheapest: it draws C M of the others, C the sum of their c_i."""
    states = np.random.default_rng(SEED).standard_normal((PAIRS, centre.size))
    radius = ball_radius(centre.size)
    reaches = [_bound_kernels.reach(z, new, radius, order) for z, new in pairwise(states)]
    reach = float(np.mean([m for m in reaches if math.isfinite(m)] or [0.0]))
    count = np.array([0, *_tried(ranking.rows.size)])
    left = ranking.total - np.concatenate([[0.0], np.cumsum(ranking.weights)])[count]
    drawn = np.maximum(left, 0.0) * reach
    cost = count + _sampled(model) * drawn
    best = int(np.argmin(cost))
    if not cost[best] <= GAIN * cost[0]:
        return RowSplit(model.n_data, np.empty(0, dtype=np.int64))
    reason = (
        f"always reads the {count[best]:,} heaviest of {model.n_data:,} rows: the exact mini-batch test then draws "
        f"about {drawn[best]:,.0f} of the others, instead of {drawn[0]:,.0f}"
    )
    return RowSplit(model.n_data, np.sort(ranking.rows[: count[best]]), reason)


def _sampled(model: LinearModel | SmoothModel) -> float:
    """What a sampled row costs, in evaluations of a row read in order."""
    return SAMPLED[model.rows.nbytes > CACHE] if isinstance(model, LinearModel) else SAMPLED[0]


def rest_moments(
    model: LinearModel | SmoothModel,
    centre: Floats,
    order: int,
    factor: Floats,
    ranked: Ints,
    proxies: RowProxies | None = None,
) -> RestMoments:
    """What is left for a test when the first rows of a ranking are heavy, for all numbers of them at once.

    The pairs are draws from the normal approximation, which had no part in the ranking: no row is heavy because these
    pairs happen to need it.
    """
    away = factor @ np.random.default_rng(SEED).standard_normal((centre.size, PAIRS))
    count, light = np.array([0, *_tried(ranked.size)]), np.ones(model.n_data, dtype=np.bool_)
    light[ranked] = False
    others = np.flatnonzero(light)
    some = others[:: max(1, others.size // LIGHT)]

    def residuals(rows: Ints) -> Iterator[Floats]:
        if isinstance(model, LinearModel):
            return _residuals(model, centre, order, away, rows)
        assert proxies is not None
        return _proxy_residuals(proxies, centre, away, rows)

    heavy = np.concatenate([np.empty((0, PAIRS)), *residuals(ranked)])
    rest = np.zeros((3, PAIRS))
    for part in residuals(some):
        rest += others.size / some.size * _power_sums(part)
    ends = [*count[1:], ranked.size]
    parts = np.array([_power_sums(heavy[low:high]) for low, high in zip(count, ends, strict=True)])
    sums = rest + np.cumsum(parts[::-1], axis=0)[::-1]  # from the lightest up: nothing cancels
    n = (model.n_data - count)[:, None]
    mean, square, cube = np.moveaxis(sums / n[..., None], 1, 0)
    variance = np.maximum(square - mean**2, 0.0)
    sigma = np.sqrt(variance)
    third = cube - 3.0 * mean * square + 2.0 * mean**3
    skew = np.divide(third, sigma**3, out=np.zeros_like(sigma), where=sigma > 0.0)
    kappa = n * sigma / np.sqrt(n - 1.0)
    sample = _needed(n, kappa, skew).mean(axis=1)
    cost = count + _sampled(model) * sample
    return RestMoments(count, kappa.mean(axis=1), np.abs(skew).max(axis=1), sample, cost)


def _tried(most: int) -> Iterator[int]:
    """10, 20, 50, 100, ... up to `most`."""
    power = 10
    while power <= most:
        yield from (step * power for step in SERIES if step * power <= most)
        power *= 10


def _residuals(model: LinearModel, centre: Floats, order: int, away: Floats, rows: Ints) -> Iterator[Floats]:
    """r_i of each pair for these rows, a block at a time; `away` has the draws minus the centre.

    Each draw makes a pair with the next one, and the last with the first.
    """
    for block in blocks(rows.size):
        some = rows[block]
        x = np.asarray(model.rows[some], dtype=np.float64)
        eta, move = x @ centre, x @ away
        slope = model.slope(eta, some)
        curvature = model.curvature(eta, some) if order == 2 else np.zeros(eta.size)
        for k in range(move.shape[1]):
            d = move[:, k].copy()
            move[:, k] = model.value(eta + d, some) - d * (slope + 0.5 * curvature * d)
        yield np.roll(move, -1, axis=1) - move


def _proxy_residuals(proxies: RowProxies, centre: Floats, away: Floats, rows: Ints) -> Iterator[Floats]:
    """The same for a model without a linear predictor."""
    for block in row_blocks(rows.size, away.shape[1]):
        at_states = residuals_at(proxies, centre + away.T, rows[block]).T
        yield np.roll(at_states, -1, axis=1) - at_states


def _power_sums(values: Floats) -> Floats:
    """Sums of the values, their squares and cubes, for each pair."""
    squares = values * values
    return np.stack([values.sum(axis=0), squares.sum(axis=0), (squares * values).sum(axis=0)])


def _needed(n: Floats, kappa: Floats, skew: Floats) -> Floats:
    """Rows of the rest that a test reads: until its noise κ sqrt((n - m) / m) is small.

    Small is NOISE where the mean of the sample is about normal, and HARMLESS for any distribution.
    """
    normal, always = (n * kappa**2 / (kappa**2 + noise**2) for noise in (NOISE, HARMLESS))
    normal = np.maximum(normal, (skew / SKEW) ** 2)
    return np.minimum(np.maximum(np.minimum(normal, always), LEAST_SAMPLE), n)
