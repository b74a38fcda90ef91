"""The iterations: read until the direction is certain, step, and stop when there is nothing left to gain."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure, integer, real
from designer.rule.boundary import check_epsilon
from designer.rule.looks import check_growth
from samplers.decide.subsample import Subsampler
from samplers.fit.equations import NormalEquations
from samplers.fit.inputs import check_data, check_offset, check_start
from samplers.fit.losses import Loss
from samplers.fit.trace import Fit, FitProgress, Iteration, Look, Recorder, Watch
from samplers.fit.update import Direction, Rule, direction

ROUNDING = 1e-13  # an update this small relative to θ is rounding error
ROWS_PER_PARAMETER = 10  # at least, at the first look: fewer rows cannot estimate their own variance
MAX_ITERATIONS = 10**6


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
    growth: float = 1.0,
    start: npt.ArrayLike | None = None,
    offset: npt.ArrayLike | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 200,
    max_read: int | None = None,
    progress: FitProgress | None = None,
    watch: Watch | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Fit:
    """Minimise a mean loss, reading in each iteration as much data as its direction needs (K16 Alg. 1).

    Parameters
    ----------
    rng
        Random numbers, for the order in which rows are read.
    x, y
        Rows of predictors (add a column of ones for an intercept) and responses; arrays may be memory-mapped.
    loss
        `LAD()`, `Quantile(tau)`, `Lp(p)`, `Logistic()` or `Poisson()`.
    epsilon
        Probability, at each look, of accepting a direction that is more than 90 degrees off.
    rule
        "descent": angle in the metric of the normal equations, so within 90 degrees means downhill on all data.
        "euclidean": the same test of the plain angle. "printed": K16's own test, see `samplers.fit`.
    first, increment
        Rows at the first look and between looks (K16: N₀ and N_inc); by default N/1000, the first at least 10 rows per
        parameter. Except under "printed", an iteration begins with half the rows of the last one. An iteration that
        has read half of all data reads all of them (the exact update costs at most twice as much), and so do all that
        follow: from there on it is IRLS on all data, which converges.
    growth
        Above 1, each look of an iteration has at least this many times the rows of the previous one: the increasing
        intervals of K16 section 2.1. Fewer looks mean fewer chances of error, but more rows in hard tests.
    start
        Initial θ; zeros by default.
    offset
        A known part of the predictor, one number per row.
    tolerance
        "converged" means that an update by all data gains less than this fraction of the objective. If the last
        iteration read all data, this is exact. Otherwise two samples in a row, the second as large as the first and
        with one look, put the limit of `Direction.decrement` below it; this is wrong with probability at most ε. An
        uncertain update is then not taken. For LAD, whose least squares are steeper than the loss, five to seven
        times the gain of one update remain (floor 0.01).
    max_iterations, max_read
        Stop after this many iterations; begin no iteration after reading this many rows.
    progress, watch, cancelled
        `progress` is called with (read, n, objective) after each iteration, `watch` with a `Look` after each look.
        `cancelled` is called at every look; if it returns True, the estimate so far is returned.

    Returns
    -------
    Fit
        The estimate, why it stopped, and its trace.

    Examples
    --------
    >>> from samplers.fit import LAD
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
    bound = -float(ndtri(check_epsilon(epsilon)))
    looks = *_first_looks(rows.shape[0], theta.size, first, increment), check_growth(growth)
    data, sample, span = (
        (rows, response, check_offset(offset, response.size)),
        Subsampler(rows.shape[0]),
        _span(response),
    )
    reader = _Reader(rng, *data, sample, *looks, bound, rule, tolerance, cancelled)
    recorder = Recorder(progress)
    read, n, settled = 0, 0, False
    for number in range(1, integer("max_iterations", max_iterations, 1, MAX_ITERATIONS) + 1):
        if read >= budget:
            return recorder.fit(theta, read, "budget")
        equations = NormalEquations(loss, theta, span=span)
        move, looked = reader.grow(equations, reader.begin(n, settled), _teller(watch, number, read, bound))
        n = equations.n
        read += n
        if move is None:
            return recorder.fit(theta, read, "cancelled")
        theta = advance(theta, move)
        recorder.add(summary(equations, move, read, looked, rows.shape[0]), theta)
        confirmed, settled = settled and looked == 1, negligible(move, equations, tolerance)
        if settled and (move.exact or confirmed):
            return recorder.fit(theta, read, "converged")
    return recorder.fit(theta, read, "iterations")


def _span(y: Floats) -> tuple[float, float]:
    """The least and the largest response."""
    return float(y.min()), float(y.max())


def _teller(
    watch: Watch | None, iteration: int, read: int, bound: float
) -> Callable[[NormalEquations, Direction], None]:
    """Tells the watcher of the looks of an iteration."""

    def tell(equations: NormalEquations, move: Direction) -> None:
        if watch is not None:
            objective = equations.objective
            left = move.decrement / objective if objective > 0.0 else 0.0
            watch(Look(iteration, equations.n, read + equations.n, move.statistic, bound, left, objective))

    return tell


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
    offset: Floats | None
    sample: Subsampler
    first: int
    increment: int
    growth: float
    bound: float
    rule: Rule
    tolerance: float
    cancelled: Callable[[], bool] | None

    def begin(self, last: int, settled: bool) -> int:
        """Rows at the first look of an iteration, after one that read `last` rows and may have gained nothing."""
        if settled or (self.rule != "printed" and last == self.y.size):
            return last
        return self.first if self.rule == "printed" else max(self.first, last // 2)

    def next_look(self, n: int) -> int:
        """Rows at the look after one at n rows."""
        return max(n + self.increment, math.ceil(self.growth * n - 1e-9))

    def grow(
        self, equations: NormalEquations, target: int, tell: Callable[[NormalEquations, Direction], None]
    ) -> tuple[Direction | None, int]:
        """One iteration with `target` rows at its first look: its direction (None if cancelled) and number of looks."""
        looks = 0
        self.sample.reset()
        while self.cancelled is None or not self.cancelled():
            new = np.sort(self.sample.extend(self.rng, target))  # in order of memory
            known = None if self.offset is None else self.offset[new]
            equations.add(np.asarray(self.x[new], dtype=np.float64), self.y[new], known)
            move = direction(equations, self.y.size, self.rule, self.bound)
            if move is not None:
                looks += 1
                tell(equations, move)
                if move.statistic > self.bound:
                    return move, looks
                if negligible(move, equations, self.tolerance):
                    return move._replace(fraction=0.0), looks
            elif equations.n >= self.y.size:
                raise BadInput("x: a column is zero or depends linearly on the others")
            exact = self.rule != "printed" and 2 * equations.n >= self.y.size
            target = self.y.size if exact else self.next_look(equations.n)
        return None, looks


def negligible(move: Direction, equations: NormalEquations, tolerance: float) -> bool:
    """Whether an update by all data gains too little to continue: the stopping rule of all Newton-like methods here.

    That a sample's own update is small means nothing; the limit of `Direction.decrement` counts.
    """
    rounding = move.exact and bool(np.linalg.norm(move.update) <= ROUNDING * np.linalg.norm(equations.theta))
    return rounding or move.decrement <= tolerance * equations.objective


def advance(theta: Floats, move: Direction) -> Floats:
    """θ plus the fraction of the update that is signal."""
    moved: Floats = theta + move.fraction * move.update
    if not np.all(np.isfinite(moved)):
        raise NumericalFailure("IRLS diverged: θ is not finite; start nearer to the solution or raise the floor")
    return moved


def summary(equations: NormalEquations, move: Direction, read: int, looks: int, n_data: int) -> Iteration:
    """An iteration's row of the trace."""
    estimate = equations.objective, equations.objective_se(n_data)
    return (read, equations.n, looks, *estimate, move.statistic, move.fraction, move.decrement)
