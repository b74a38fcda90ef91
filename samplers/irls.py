"""Iteratively reweighted least squares that reads only as much data as its direction needs (K16 §2).

Each iteration solves A d = g for the update d, with A = sum w_i x_i x_i' and g = sum w_i x_i (z_i - x_i' theta) over a
sample without replacement that grows until a test is confident that d points the way the update of all N data does.

K16 Alg. 1 as printed takes u_n for u_N in its own test. The noise of D coordinates then passes for signal (measured
near the solution, logistic, D = 30, epsilon = 0.05: 95% of updates pass, 44% are more than 90 degrees off): batches do
not grow, and the estimate stays at the noise of N_0 data or runs away. The default keeps the idea and repairs three
things (see `_corrected`): the squared length of the noise is subtracted, variances may differ (LAD's do, by orders of
magnitude), and the update is shortened to its share of signal. ``rule="printed"`` is Alg. 1, misprints corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, ndtri

from designer.errors import BadInput, NumericalFailure, integer, real
from designer.schedule import Floats, Ints
from samplers.subsample import Subsampler

Rule = Literal["descent", "euclidean", "printed"]
Reason = Literal["converged", "iterations", "budget", "cancelled"]
Solve = Callable[[Floats], Floats]  # b -> A^-1 b
Test = tuple[float, float, float]  # statistic, fraction, and the value that sampling noise alone gives d'g on average
Row = tuple[int, int, int, float, float, float, float, float]  # one iteration of a `Trace`
Progress = Callable[[int, int, float], None]

DEPENDENT = 1e-10  # squared length of a scaled column that the others leave unexplained, below which it depends on them
ROUNDING = 1e-13  # an update this small relative to theta is rounding error
ROWS_PER_PARAMETER = 10  # at the first look, at least: fewer rows do not know their own variance
CHECKED_ROWS = 65_536  # rows looked at together for values that are not finite
MAX_ITERATIONS = 10**6


class Working(NamedTuple):
    """Per datum at the current theta: weight w_i^2, score w_i^2 (z_i - eta_i), value of the loss."""

    weight: Floats
    score: Floats
    value: Floats


class Loss(Protocol):
    """What IRLS needs to know of a loss of the linear predictor eta = x' theta."""

    def unit(self, eta: Floats, y: Floats) -> float:
        """The smallest scale that counts in this iteration, from its first data."""

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        """Weights, scores and values."""


@dataclass(frozen=True)
class LAD:
    """Least absolute deviations, sum |y_i - eta_i| (K16 Eqn 14), by weights 1/max(|r_i|, c).

    The floor c is a fraction `floor` of the mean absolute residual, so the answer does not depend on the units of y.
    The fixed point is Huber's estimator with threshold c, whose loss differs from |r| by at most c/2. K16's w_i =
    1/sqrt|r_i| has no floor: one residual of zero ends it.

    Examples
    --------
    >>> LAD(floor=0.5).working(np.zeros(3), np.array([-2.0, 0.0, 0.25]), unit=0.5).weight.tolist()
    [0.5, 2.0, 2.0]
    """

    floor: float = 0.01

    def __post_init__(self) -> None:
        real("floor", self.floor, 0.0, 1.0, open_low=True)

    def unit(self, eta: Floats, y: Floats) -> float:
        """The floor c; any constant when all residuals are zero."""
        return float(self.floor * np.mean(np.abs(y - eta))) or 1.0

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        """Weights and scores of K16 §4.1.1, floored."""
        residual = y - eta
        value = np.abs(residual)
        weight = 1.0 / np.maximum(value, unit)
        return Working(weight, residual * weight, value)


@dataclass(frozen=True)
class Logistic:
    """Logistic regression, y in {0, 1}, by weights max(mu (1 - mu), floor).

    The floor does not move the fixed point (the score stays y - mu); it bounds the step where the data are separable
    and mu (1 - mu) underflows.

    Examples
    --------
    >>> Logistic().working(np.array([0.0, 800.0]), np.array([1.0, 1.0]), unit=1.0).weight.tolist()
    [0.25, 0.0001]
    """

    floor: float = 1e-4

    def __post_init__(self) -> None:
        real("floor", self.floor, 0.0, 0.25, open_low=True)

    def unit(self, eta: Floats, y: Floats) -> float:
        """Probabilities have no units."""
        return 1.0

    def working(self, eta: Floats, y: Floats, unit: float) -> Working:
        """Weights and scores of K16 §4.1.2, floored."""
        mu = expit(eta)
        return Working(np.maximum(mu * (1.0 - mu), self.floor), y - mu, np.logaddexp(0.0, eta) - y * eta)


class NormalEquations:
    """A, g and the sums that give their variance, accumulated by blocks of rows at one theta.

    Rank-k sums and one Cholesky factorisation per look, instead of K16's Sherman-Morrison recursion (Eqn 8): the same
    order of work when a block has D rows or more but in matrix products; no inverse carried along that collects
    rounding errors or needs a regular start. Solving for d = u - theta rather than for u (Eqn 1) keeps the digits that
    u - theta would cancel near the solution.
    """

    def __init__(self, loss: Loss, theta: Floats, unit: float | None = None) -> None:
        d = theta.size
        self.loss, self.theta, self.unit = loss, theta, unit
        self.n = 0
        self.gram = np.zeros((d, d))  # A = sum a_i a_i', a_i = w_i x_i
        self.score = np.zeros(d)  # g = sum a_i zeta_i, zeta_i = b_i - a_i' theta
        self.outer = np.zeros((d, d))  # sum zeta_i^2 a_i a_i'
        self.squares = 0.0  # sum zeta_i^2
        self.value = 0.0
        self.value_squares = 0.0

    def add(self, x: Floats, y: Floats) -> None:
        """Take in more rows."""
        eta = x @ self.theta
        if self.unit is None:
            self.unit = self.loss.unit(eta, y)
        weight, score, value = self.loss.working(eta, y, self.unit)
        scored = x * score[:, None]
        self.n += y.size
        self.gram += (x * weight[:, None]).T @ x
        self.score += scored.sum(axis=0)
        self.outer += scored.T @ scored
        self.squares += float(score @ (score / weight))
        self.value += float(value.sum())
        self.value_squares += float(value @ value)
        if not (np.all(np.isfinite(self.score)) and np.all(np.isfinite(self.gram))):
            raise BadInput("x, y: values that are not finite, or overflow, among the rows read")

    @property
    def objective(self) -> float:
        """Mean loss at theta over the rows so far."""
        return self.value / self.n

    def objective_se(self, n_data: int) -> float:
        """Standard error of `objective` as an estimate of the mean over all data."""
        spread = max(self.value_squares / self.n - self.objective**2, 0.0)
        return math.sqrt(spread / max(self.n - 1, 1) * _left(self.n, n_data))


class Direction(NamedTuple):
    """The update d of a sample and what the test makes of it.

    `statistic` is compared with the normal quantile of 1 - epsilon and `fraction` of the update is to be taken.
    `decrement` is what an update might gain per datum: d'g/2n, or the part of it expected of sampling noise if larger
    (a small sample may balance by luck).
    """

    update: Floats
    statistic: float
    fraction: float
    decrement: float


def direction(equations: NormalEquations, n_data: int, rule: Rule = "descent") -> Direction | None:
    """Solve the normal equations and test the direction; None when the rows do not determine it."""
    factor = None if equations.n <= equations.theta.size else _factor(equations.gram)
    if factor is None:
        return None
    update = factor(equations.score)
    gain = float(update @ equations.score)
    if equations.n >= n_data:
        statistic, fraction, noise = math.inf, 1.0, 0.0
    elif rule == "printed":
        statistic, fraction, noise = _printed(equations, n_data, update, factor)
    else:
        statistic, fraction, noise = _corrected(equations, n_data, update, factor, rule)
    return Direction(update, statistic, fraction, 0.5 * max(gain, noise) / equations.n)


def _factor(gram: Floats) -> Solve | None:
    """b -> A^-1 b by Cholesky on columns scaled to length one; None when they depend on each other."""
    diagonal = np.diag(gram)
    if not np.all(diagonal > 0.0):
        return None
    scale = 1.0 / np.sqrt(diagonal)
    try:
        factor = cho_factor(gram * np.outer(scale, scale), lower=True)
    except np.linalg.LinAlgError:
        return None
    if np.min(np.diag(factor[0])) ** 2 < DEPENDENT:
        return None

    def solve(b: Floats) -> Floats:
        column = scale if b.ndim == 1 else scale[:, None]
        return np.asarray(column * cho_solve(factor, column * b))

    return solve


def _left(n: int, n_data: int) -> float:
    """Finite-population factor of a sample without replacement, 1 - (n - 1)/(N - 1) (K16 Eqn 3)."""
    return (n_data - n) / (n_data - 1)


def _printed(equations: NormalEquations, n_data: int, update: Floats, solve: Solve) -> Test:
    """mu / sigma of K16 Eqns 5-7, with omega^2 over n - D.

    The probability in Eqn 4 is that of an inner product < 0, as Eqn 6 has it.
    """
    free = equations.n - update.size
    omega2 = (equations.squares - float(update @ equations.score)) / free  # Eqn 7c: e_n = sum (zeta_i - a_i' d)^2
    omega2 *= _left(equations.n, n_data)
    variance = omega2 * float(update @ solve(update))  # |d|^2 times Eqn 5b
    return _ratio(float(update @ update), variance), 1.0, omega2 * update.size


def _corrected(equations: NormalEquations, n_data: int, update: Floats, solve: Solve, rule: Rule) -> Test:
    """Statistic and fraction of the default rules.

    Write d = d_N + e with e ~ N(0, S), S = A^-1 M A^-1, M the variance of g under resampling, and <., .> for the inner
    product d'Pd. What matters is <d, d_N> > 0. With P = A ("descent") that says d goes downhill on all data, whatever
    the units of the columns; with P = 1 ("euclidean") that the angle is below 90 degrees as K16 has it.
    T = <d, d> - tr(PS) estimates <d, d_N> without bias, and T - <d, d_N> has variance d_N'PSPd_N + 2 tr(PSPS), of
    which d'PSPd + tr(PSPS) is an unbiased estimate. <d, d_N> / <d, d> is also the step along d that is best for d_N,
    so T / <d, d> is the fraction to take. When T is all signal this is K16's test.
    """
    n, g = equations.n, equations.score
    # M from scores at theta, not at u: additive over blocks, and a row that alone determines a coefficient
    # cannot hide its variance behind a residual of zero.
    centred = equations.outer - np.outer(g, g) / n
    noise = centred * (n / (n - update.size) * _left(n, n_data))
    relative = solve(noise)  # A^-1 M = S A
    expected = float(np.trace(relative))
    if rule == "descent":
        length, along = float(update @ g), float(update @ noise @ update)
    else:
        relative = solve(relative.T)  # S
        length, along = float(update @ update), float(update @ relative @ update)
    signal = length - float(np.trace(relative))
    variance = along + float(np.sum(relative * relative.T))
    return _ratio(signal, variance), max(signal / length, 0.0) if length > 0.0 else 0.0, expected


def _ratio(signal: float, variance: float) -> float:
    """signal / sd, for a variance that may be zero or, by rounding, just below."""
    if variance <= 0.0:
        return math.inf if signal > 0.0 else 0.0
    return signal / math.sqrt(variance)


class Trace(NamedTuple):
    """The iterations, column by column.

    `read` counts every visit of a row so far, `n` and `looks` are the iteration's own. `objective` and its standard
    error are estimates at the theta the iteration began with; `theta` is the estimate after it. For `statistic`,
    `fraction` and `decrement` see `Direction`.
    """

    read: Ints
    n: Ints
    looks: Ints
    objective: Floats
    objective_se: Floats
    statistic: Floats
    fraction: Floats
    decrement: Floats
    theta: Floats


class Fit(NamedTuple):
    """The estimate, the rows read (with repetition), why it stopped, and what happened on the way."""

    theta: Floats
    read: int
    reason: Reason
    trace: Trace


class Recorder:
    """Collects iterations into a `Trace` and tells the caller about each."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress
        self.rows: list[Row] = []
        self.path: list[Floats] = []

    def add(self, row: Row, theta: Floats) -> None:
        """Note an iteration and the estimate after it."""
        self.rows.append(row)
        self.path.append(theta.copy())
        if self.progress is not None:
            self.progress(row[0], row[1], row[3])

    def fit(self, theta: Floats, read: int, reason: Reason) -> Fit:
        """The result."""
        kinds: list[Any] = [np.int64] * 3 + [np.float64] * 5
        columns = [np.array([row[k] for row in self.rows], dtype=kind) for k, kind in enumerate(kinds)]
        path = np.array(self.path).reshape(-1, theta.size)
        return Fit(theta, read, reason, Trace._make([*columns, path]))


def irls(
    rng: np.random.Generator,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    loss: Loss,
    *,
    epsilon: float = 0.01,
    rule: Rule = "descent",
    first: int | None = None,
    increment: int | None = None,
    start: npt.ArrayLike | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 200,
    max_read: int | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Fit:
    """Minimise a mean loss, reading in each iteration as much data as its direction needs (K16 Alg. 1).

    Parameters
    ----------
    x, y
        Rows of predictors (add a column of ones for an intercept) and responses; arrays may be memory-mapped.
    loss
        `LAD()` or `Logistic()`.
    epsilon
        Probability, at each look, of confidence in a direction that is more than 90 degrees off.
    rule
        "descent": angle in the metric of the normal equations, so within 90 degrees means downhill on all data.
        "euclidean": the same test of the plain angle. "printed": K16's own, see the module.
    first, increment
        Rows at the first look and between looks (K16: N_0 and N_inc); N/1000, the first at least 10 rows per
        parameter. Except under "printed" an iteration begins with half the rows of the last, and one that
        has read half of all data reads all of them: the exact update costs at most twice as much.
    start
        Initial theta; zeros by default.
    tolerance
        Stop when the update, noise included, can gain less than this fraction of the objective.
    max_iterations, max_read
        Stop after so many iterations; begin no iteration after reading so many rows.
    progress, cancelled
        Called with (read, n, objective) after each iteration; asked at every look, and what is known is returned when
        it says True.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(100_000, 3))
    >>> y = x @ [1.0, 2.0, 3.0] + rng.normal(size=100_000)
    >>> fit = irls(rng, x, y, LAD(), tolerance=1e-3)
    >>> fit.reason, bool(np.all(np.abs(fit.theta - [1.0, 2.0, 3.0]) < 0.1)), fit.read < 100_000
    ('converged', True, True)
    """
    rows, response = check_data(x, y, loss)
    theta = check_start(start, rows.shape[1])
    tolerance = real("tolerance", tolerance, 0.0, 1.0)
    budget = math.inf if max_read is None else integer("max_read", max_read, 1, 2**62)
    if rule not in get_args(Rule):
        raise BadInput(f"rule = {rule!r}: must be one of {', '.join(get_args(Rule))}")
    bound = -float(ndtri(real("epsilon", epsilon, 0.0, 0.5, open_low=True)))
    looks = _first_looks(rows.shape[0], theta.size, first, increment)
    reader = _Reader(rng, rows, response, Subsampler(rows.shape[0]), *looks, bound, rule, tolerance, cancelled)
    recorder = Recorder(progress)
    read, n = 0, 0
    for _ in range(integer("max_iterations", max_iterations, 1, MAX_ITERATIONS)):
        if read >= budget:
            return recorder.fit(theta, read, "budget")
        equations = NormalEquations(loss, theta)
        move, looked = reader.grow(equations, last=n)
        n = equations.n
        read += n
        if move is None:
            return recorder.fit(theta, read, "cancelled")
        theta = advance(theta, move)
        recorder.add(summary(equations, move, read, looked, rows.shape[0]), theta)
        if negligible(move, equations, tolerance):
            return recorder.fit(theta, read, "converged")
    return recorder.fit(theta, read, "iterations")


def _first_looks(n_data: int, d: int, first: int | None, increment: int | None) -> tuple[int, int]:
    """Rows at the first look and between looks (K16's N_0 and N_inc), given or by default."""
    thousandth = -(-n_data // 1000)
    enough = min(max(thousandth, ROWS_PER_PARAMETER * d), n_data)
    begin = enough if first is None else integer("first", first, 1, n_data)
    return begin, thousandth if increment is None else integer("increment", increment, 1, n_data)


class _Reader(NamedTuple):
    """Reads rows until the direction is certain enough, or too small to matter."""

    rng: np.random.Generator
    x: Floats
    y: Floats
    sample: Subsampler
    first: int
    increment: int
    bound: float
    rule: Rule
    tolerance: float
    cancelled: Callable[[], bool] | None

    def grow(self, equations: NormalEquations, last: int) -> tuple[Direction | None, int]:
        """One iteration after one that needed `last` rows: its direction (None if cancelled) and number of looks."""
        target, looks = self.first if self.rule == "printed" else max(self.first, last // 2), 0
        self.sample.reset()
        while self.cancelled is None or not self.cancelled():
            new = np.sort(self.sample.extend(self.rng, target))  # in order of memory
            equations.add(np.asarray(self.x[new], dtype=np.float64), self.y[new])
            move = direction(equations, self.y.size, self.rule)
            if move is not None:
                looks += 1
                if move.statistic > self.bound or negligible(move, equations, self.tolerance):
                    return move, looks
            elif equations.n >= self.y.size:
                raise BadInput("x: a column is zero or depends linearly on the others")
            exact = self.rule != "printed" and 2 * equations.n >= self.y.size
            target = self.y.size if exact else equations.n + self.increment
        return None, looks


def negligible(move: Direction, equations: NormalEquations, tolerance: float) -> bool:
    """Whether the update can gain too little to go on: the stopping rule of every Newton-like method here.

    Sampling noise counts as possible gain (see `Direction`), so a small sample cannot stop the iterations by luck.
    """
    rounding = 0.0 < np.linalg.norm(move.update) <= ROUNDING * np.linalg.norm(equations.theta)
    return bool(rounding) or move.decrement <= tolerance * equations.objective


def advance(theta: Floats, move: Direction) -> Floats:
    """theta plus the fraction of the update that is signal."""
    moved: Floats = theta + move.fraction * move.update
    if not np.all(np.isfinite(moved)):
        raise NumericalFailure("IRLS diverged: theta is not finite; begin nearer to the solution or raise the floor")
    return moved


def summary(equations: NormalEquations, move: Direction, read: int, looks: int, n_data: int) -> Row:
    """An iteration's row of the trace."""
    estimate = equations.objective, equations.objective_se(n_data)
    return (read, equations.n, looks, *estimate, move.statistic, move.fraction, move.decrement)


def check_data(x: npt.ArrayLike, y: npt.ArrayLike, loss: Loss) -> tuple[Floats, Floats]:
    """Predictors as given and responses as floats, or BadInput. Memory-mapped rows are checked as they are read."""
    rows: Any = x if isinstance(x, np.ndarray) else _array("x", x)
    response: Floats = np.asarray(_array("y", y), dtype=np.float64)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise BadInput(f"x: must be a two-dimensional array of real numbers, not {rows.dtype} of shape {rows.shape}")
    n, d = rows.shape
    if response.shape != (n,):
        raise BadInput(f"y: has shape {response.shape}, but x has {n:,} rows")
    if d < 1 or n <= d:
        raise BadInput(f"x: {n:,} rows cannot determine {d:,} parameters; more rows than columns are needed")
    if not np.all(np.isfinite(response)):
        raise BadInput("y: has values that are not finite")
    if not isinstance(rows, np.memmap):
        for low in range(0, n, CHECKED_ROWS):
            if not np.all(np.isfinite(rows[low : low + CHECKED_ROWS])):
                raise BadInput(f"x: has values that are not finite in or after row {low:,}")
    if isinstance(loss, Logistic) and not np.all((response == 0.0) | (response == 1.0)):
        raise BadInput("y: the responses of a logistic regression must be 0 or 1")
    return rows, response


def _array(name: str, values: npt.ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name}: must be an array of real numbers") from error


def check_start(start: npt.ArrayLike | None, d: int) -> Floats:
    """Initial theta, or BadInput."""
    theta = np.zeros(d) if start is None else _array("start", start).copy()
    if theta.shape != (d,) or not np.all(np.isfinite(theta)):
        raise BadInput(f"start: must be {d} finite numbers, one per column of x")
    return theta
