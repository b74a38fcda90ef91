"""Other ways to the same coefficients, for comparison: IRLS on all rows, and stochastic gradients with tuned steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.progress import ShareProgress, raise_if
from samplers.data import memory
from samplers.fit.baselines import GRID, batch_irls, mean_loss, sgd, tune_sgd
from samplers.fit.losses import Logistic, Loss, Poisson
from samplers.fit.trace import Reason

RivalName: TypeAlias = Literal["batch", "sgd"]
Data: TypeAlias = tuple[Floats, Floats, Floats | None]  # rows, responses, offset
TITLES = {"sequential": "sequential tests", "batch": "IRLS on all rows", "sgd": "SGD, tuned"}
JUDGED = 2_000_000  # most rows on which the losses of all methods are compared
TUNED = 100_000  # rows on which step sizes are tuned, a tenth of them held out
PASSES = 5  # of stochastic gradients, after tuning
WAY = 0.999  # of the way from the start to the best loss


class Rival(NamedTuple):
    """One method on the same rows.

    Attributes
    ----------
    name
        "sequential", "batch" or "sgd".
    coefficients
        Where it ended.
    read, tuning_read
        Rows read, and rows read before to tune it.
    reason, seconds
        Why it stopped, and how long it took.
    path_read, path
        Rows read and coefficients along the way.
    losses
        Mean loss along the way, on the same rows for all methods.
    arrived
        Rows read until 99.9% of the way from the start to the least loss of any method was covered for good; None if
        it was not.

    Examples
    --------
    >>> nothing = np.zeros(1)
    >>> Rival("batch", nothing, 1000, 0, "converged", 0.1, np.array([1000]), nothing[None]).title
    'IRLS on all rows'
    """

    name: str
    coefficients: Floats
    read: int
    tuning_read: int
    reason: Reason
    seconds: float
    path_read: Ints
    path: Floats
    losses: Floats = np.zeros(0)
    arrived: int | None = None

    @property
    def title(self) -> str:
        """The method in words."""
        return TITLES[self.name]


def with_rivals(
    rng: np.random.Generator,
    data: Data,
    loss: Loss,
    ours: Rival,
    names: Sequence[RivalName],
    *,
    start: Floats | None,
    tolerance: float,
    max_iterations: int,
    tell: ShareProgress,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[Rival, ...]:
    """Our fit and those of the other methods, judged on the same rows."""
    found = [ours]
    if "batch" in names:
        found.append(_batch(data, loss, start, tolerance, max_iterations, tell, cancelled))
    if "sgd" in names:
        found.append(_sgd(rng, data, loss, tell, cancelled))
    tell(0.95, "comparing losses")
    return _judged(rng, data, loss, start, found)


def _batch(
    data: Data,
    loss: Loss,
    start: Floats | None,
    tolerance: float,
    max_iterations: int,
    tell: ShareProgress,
    cancelled: Callable[[], bool] | None,
) -> Rival:
    rows, y, offset = data
    begin = time.perf_counter()
    fit = batch_irls(
        rows,
        y,
        loss,
        start=start,
        offset=offset,
        tolerance=tolerance,
        max_iterations=max_iterations,
        progress=lambda read, n, objective: tell(0.1, f"IRLS on all rows: {read:,} read"),
        cancelled=cancelled,
    )
    seconds = time.perf_counter() - begin
    return Rival("batch", fit.theta, fit.read, 0, fit.reason, seconds, fit.trace.read, fit.trace.theta)


def _sgd(
    rng: np.random.Generator,
    data: Data,
    loss: Loss,
    tell: ShareProgress,
    cancelled: Callable[[], bool] | None,
) -> Rival:
    """Stochastic gradients on columns and responses in comparable units, without which no step size suits all."""
    rows, y, offset = data
    memory.refuse("against = 'sgd' copies the rows, which takes", 8 * rows.size)
    scaled = _Scaled.of(rows, y, offset, loss)
    x, response = scaled.data(rows, y)
    known = None if offset is None else scaled.offset(offset)
    order = rng.permutation(y.size)[: TUNED + TUNED // 9]
    held, rest = np.split(order, [max(order.size // 10, 1)])
    offsets = None if known is None else (known[rest], known[held])
    tried = [0]

    def each() -> None:
        raise_if(cancelled)
        tried[0] += 1
        tell(0.2 + 0.6 * tried[0] / len(GRID), f"SGD: step sizes {tried[0]} of {len(GRID)}")

    begin = time.perf_counter()
    tuned = tune_sgd(
        rng, x[rest], response[rest], loss, (x[held], response[held]), offsets=offsets, tell=each, grid=GRID
    )
    fit = sgd(rng, x, response, loss, tuned.best, read=PASSES * y.size, offset=known, cancelled=cancelled)
    seconds = time.perf_counter() - begin
    path = scaled.back(fit.trace.theta)
    last = scaled.back(fit.theta[None])[0]
    return Rival("sgd", last, fit.read, tuned.read, fit.reason, seconds, fit.trace.read, path)


class _Scaled(NamedTuple):
    """Columns with mean 0 and standard deviation 1 (if a constant one can absorb the means), responses likewise."""

    centre: Floats
    scale: Floats
    constant: int | None
    y_centre: float
    y_scale: float

    @classmethod
    def of(cls, rows: Floats, y: Floats, offset: Floats | None, loss: Loss) -> _Scaled:
        mean, sd = np.asarray(rows.mean(axis=0)), np.asarray(rows.std(axis=0))
        flat = np.flatnonzero((sd <= 1e-12 * np.abs(mean)) & (mean != 0.0))
        constant = int(flat[0]) if flat.size else None
        centre = np.where(sd > 0.0, mean, 0.0) if constant is not None else np.zeros(mean.size)
        if constant is not None:
            centre[constant] = 0.0
        scale = np.sqrt(np.maximum(sd**2 + (mean - centre) ** 2, 0.0))
        if isinstance(loss, (Logistic, Poisson)):
            return cls(centre, scale, constant, 0.0, 1.0)
        plain = y if offset is None else y - offset
        middle = float(np.median(plain)) if constant is not None else 0.0
        return cls(centre, scale, constant, middle, float(np.mean(np.abs(plain - middle))) or 1.0)

    def data(self, rows: Floats, y: Floats) -> tuple[Floats, Floats]:
        return np.ascontiguousarray((rows - self.centre) / self.scale), (y - self.y_centre) / self.y_scale

    def offset(self, offset: Floats) -> Floats:
        return offset / self.y_scale

    def back(self, theta: Floats) -> Floats:
        """Coefficients of the columns as they were."""
        with np.errstate(over="ignore", invalid="ignore"):
            found: Floats = theta * self.y_scale / self.scale
            if self.constant is not None:
                shift = self.y_centre - found @ self.centre
                found[:, self.constant] += shift / self.scale[self.constant]
        return found


def _judged(
    rng: np.random.Generator, data: Data, loss: Loss, start: Floats | None, found: Sequence[Rival]
) -> tuple[Rival, ...]:
    """Losses along the way, on all rows or on a sample of them."""
    rows, y, offset = data
    some = np.arange(y.size) if y.size <= JUDGED else np.sort(rng.permutation(y.size)[:JUDGED])
    x, response, known = np.asarray(rows[some]), y[some], None if offset is None else offset[some]

    def judge(theta: Floats) -> float:
        return mean_loss(x, response, loss, theta, known)

    judged = [one._replace(losses=np.array([judge(theta) for theta in one.path])) for one in found]
    best = min(float(one.losses.min()) for one in judged)
    first = judge(np.zeros(x.shape[1]) if start is None else start)
    goal = best + (1.0 - WAY) * max(first - best, 0.0)
    return tuple(one._replace(arrived=_arrived(one, goal)) for one in judged)


def _arrived(one: Rival, goal: float) -> int | None:
    """Rows read when the loss was below the goal for good."""
    above = np.flatnonzero(one.losses > goal)
    place = int(above[-1]) + 1 if above.size else 0
    return int(one.path_read[place]) if place < one.losses.size else None
