"""Baselines for `irls`: IRLS on all data in every iteration, and stochastic gradient descent with tuned steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer, real
from samplers.fit import _kernels
from samplers.fit.equations import NormalEquations
from samplers.fit.inputs import check_data, check_offset, check_start
from samplers.fit.loop import MAX_ITERATIONS, advance, negligible, summary
from samplers.fit.losses import LAD, Logistic, Loss, Lp, Poisson, Quantile
from samplers.fit.trace import Fit, FitProgress, Recorder
from samplers.fit.update import direction

BLOCK = 8192  # rows accumulated together
RECORDS = 60  # points of an SGD trace, evenly spaced in log(rows read)


def batch_irls(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    loss: Loss,
    *,
    start: npt.ArrayLike | None = None,
    offset: npt.ArrayLike | None = None,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
    progress: FitProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Fit:
    """IRLS that reads all data in every iteration; for logistic regression this is Newton's method.

    Examples
    --------
    >>> x, y = np.ones((4, 1)), np.array([0.0, 1.0, 1.0, 1.0])
    >>> fit = batch_irls(x, y, Logistic())
    >>> round(float(fit.theta[0]), 6), fit.read == 4 * len(fit.trace.read)
    (1.098612, True)
    """
    rows, response = check_data(x, y, loss)
    theta, known = check_start(start, rows.shape[1]), check_offset(offset, response.size)
    tolerance = real("tolerance", tolerance, 0.0, 1.0)
    recorder, read = Recorder(progress), 0
    for _ in range(integer("max_iterations", max_iterations, 1, MAX_ITERATIONS)):
        if cancelled is not None and cancelled():
            return recorder.fit(theta, read, "cancelled")
        equations = _everything(rows, response, loss, theta, known)
        read += equations.n
        move = direction(equations, equations.n)
        if move is None:
            raise BadInput("x: a column is zero or depends linearly on the others")
        theta = advance(theta, move)
        recorder.add(summary(equations, move, read, 1, equations.n), theta)
        if negligible(move, equations, tolerance):
            return recorder.fit(theta, read, "converged")
    return recorder.fit(theta, read, "iterations")


def _everything(x: Floats, y: Floats, loss: Loss, theta: Floats, offset: Floats | None) -> NormalEquations:
    """The normal equations of all data."""
    equations = NormalEquations(loss, theta, loss.unit(_predictor(x, theta, offset), y))
    for low in range(0, y.size, BLOCK):
        known = None if offset is None else offset[low : low + BLOCK]
        equations.add(np.asarray(x[low : low + BLOCK], dtype=np.float64), y[low : low + BLOCK], known)
    return equations


def _predictor(x: Floats, theta: Floats, offset: Floats | None) -> Floats:
    return x @ theta if offset is None else x @ theta + offset


def mean_loss(x: Floats, y: Floats, loss: Loss, theta: Floats, offset: Floats | None = None) -> float:
    """Mean loss over all rows, for example of test data; infinite if θ has diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(np.mean(loss.working(_predictor(x, theta, offset), y, 1.0).value))
    return found if math.isfinite(found) else math.inf


class Steps(NamedTuple):
    """Step sizes c1 (c2 + t)^-c3 at step t (K16 §4.1)."""

    c1: float
    c2: float
    c3: float


GRID = tuple(
    Steps(c1, c2, c3)
    for c1, c2, c3 in itertools.product((0.001, 0.01, 0.1, 1.0, 10.0), (1.0, 10.0, 1000.0), (0.5, 0.7, 1.0))
)


def sgd(
    rng: np.random.Generator,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    loss: Loss,
    steps: Steps,
    *,
    read: int | None = None,
    start: npt.ArrayLike | None = None,
    offset: npt.ArrayLike | None = None,
    progress: FitProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Fit:
    """Stochastic (sub)gradient descent, one row per step, each pass in a new random order.

    Parameters
    ----------
    steps
        Step sizes; see `tune_sgd`.
    read
        Rows to read; one pass by default. There is no other stopping rule, so `reason` is "budget" or "cancelled". In
        the trace, `objective` is the mean loss of the rows since the last record, each before its own step.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(20_000, 2))
    >>> fit = sgd(rng, x, x @ [1.0, -1.0] + rng.normal(size=20_000), LAD(), Steps(1.0, 10.0, 0.7))
    >>> bool(np.all(np.abs(fit.theta - [1.0, -1.0]) < 0.1)), fit.read
    (True, 20000)
    """
    kind, shape = _coded(loss)
    rows, response = check_data(x, y, loss)
    theta, known = check_start(start, rows.shape[1]), check_offset(offset, response.size)
    shift = np.zeros(0) if known is None else known
    total = integer("read", response.size if read is None else read, 1, 2**62)
    sizes = [real(name, value, 0.0, math.inf) for name, value in steps._asdict().items()]
    recorder, done, order = Recorder(progress), 0, _no_rows()
    for stop in _stops(total, response.size):
        if cancelled is not None and cancelled():
            return recorder.fit(theta, done, "cancelled")
        place = done % response.size
        if place == 0:
            order = rng.permutation(response.size)
        part = order[place : place + stop - done]
        lost = _kernels.sgd(np.asarray(rows), response, shift, part, theta, kind, shape, done, *sizes)
        done = stop
        recorder.add((done, part.size, 0, lost / part.size, math.nan, math.nan, math.nan, math.nan), theta)
    return recorder.fit(theta, done, "budget")


def _coded(loss: Loss) -> tuple[int, float]:
    """The code of a loss in the kernel, and its tau or p; BadInput for a loss that the kernel does not know."""
    match loss:
        case LAD():
            return _kernels.ABSOLUTE, 1.0
        case Logistic():
            return _kernels.LOGISTIC, 0.0
        case Quantile(tau=tau):
            return _kernels.QUANTILE, tau
        case Lp(p=p):
            return _kernels.POWER, p
        case Poisson():
            return _kernels.POISSON, 0.0
    raise BadInput(f"loss = {loss!r}: stochastic gradients are available for the losses of samplers.fit only")


def _no_rows() -> Ints:
    return np.empty(0, dtype=np.int64)


def _stops(total: int, n_data: int) -> list[int]:
    """When to record: evenly in log(rows), at the end of each pass, and at the end."""
    spread = np.geomspace(min(10, total), total, RECORDS).astype(np.int64)
    return sorted({*spread.tolist(), *range(n_data, total, n_data), total})


class Tuned(NamedTuple):
    """The best step sizes, the loss of each candidate on held-out rows (in the order of `tried`), and the rows read."""

    best: Steps
    tried: tuple[Steps, ...]
    losses: Floats
    read: int


def tune_sgd(
    rng: np.random.Generator,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    loss: Loss,
    held_out: tuple[npt.ArrayLike, npt.ArrayLike],
    *,
    grid: Iterable[Steps] = GRID,
    read: int | None = None,
    start: npt.ArrayLike | None = None,
    offsets: tuple[Floats, Floats] | None = None,
    tell: Callable[[], None] | None = None,
) -> Tuned:
    """Try every step size of a grid and keep the one with the least loss on held-out rows, as K16 §4.1 did.

    All see the rows in the same order. Each reads `read` rows (one pass by default), a cost that comparisons with a
    tuned baseline ignore. `offsets` are those of the rows and of the held-out rows; `tell` is called before each
    candidate.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(4_000, 2))
    >>> y = x @ [1.0, -1.0] + rng.normal(size=4_000)
    >>> tuned = tune_sgd(rng, x[:3000], y[:3000], LAD(), (x[3000:], y[3000:]))
    >>> len(tuned.tried), tuned.read, bool(tuned.losses.min() < 0.85)
    (45, 135000, True)
    """
    tried = tuple(grid)
    if not tried:
        raise BadInput("grid: at least one step size is needed")
    test_x, test_y = check_data(*held_out, loss)
    seed = int(rng.integers(2**63))
    known, known_test = (None, None) if offsets is None else offsets
    fits = []
    for steps in tried:
        if tell is not None:
            tell()
        fits.append(sgd(np.random.default_rng(seed), x, y, loss, steps, read=read, start=start, offset=known))
    losses = np.array([mean_loss(test_x, test_y, loss, fit.theta, known_test) for fit in fits])
    return Tuned(tried[int(np.argmin(losses))], tried, losses, sum(fit.read for fit in fits))
