"""The result of a fit and the record of its iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints

Reason = Literal["converged", "iterations", "budget", "cancelled"]
Iteration = tuple[int, int, int, float, float, float, float, float]  # one iteration of a `Trace`
FitProgress = Callable[[int, int, float], None]  # called with (rows read, rows of the iteration, objective)


class Look(NamedTuple):
    """One look of the test at the direction of an iteration.

    Attributes
    ----------
    iteration
        Of the fit, from 1.
    n
        Rows of the iteration so far.
    read
        Rows read so far by the whole fit.
    statistic, bound
        The direction is taken once the statistic exceeds the bound; infinite when all data were read.
    left
        Upper limit of what an update by all data gains, as a fraction of the objective.
    objective
        Estimated mean loss at the start of the iteration.

    Examples
    --------
    >>> from samplers.fit import LAD, irls
    >>> rng, looks = np.random.default_rng(1), []
    >>> x = rng.normal(size=(1000, 2))
    >>> fit = irls(rng, x, x @ [1.0, 2.0] + rng.normal(size=1000), LAD(), watch=looks.append)
    >>> len(looks) == int(fit.trace.looks.sum()), looks[0].iteration, looks[-1].read == fit.read
    (True, 1, True)
    """

    iteration: int
    n: int
    read: int
    statistic: float
    bound: float
    left: float
    objective: float


Watch = Callable[[Look], None]  # called after every look


class Trace(NamedTuple):
    """The iterations of a fit, column by column.

    Attributes
    ----------
    read
        Rows read so far, with repetition.
    n, looks
        Rows and looks of the iteration.
    objective, objective_se
        Estimated mean loss at the θ at the start of the iteration, and its standard error.
    statistic, fraction, decrement
        See `samplers.fit.update.Direction`.
    theta
        The estimate after the iteration.

    Examples
    --------
    >>> from samplers.fit import LAD, irls
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(1000, 2))
    >>> trace = irls(rng, x, x @ [1.0, 2.0] + rng.normal(size=1000), LAD()).trace
    >>> trace.theta.shape == (trace.n.size, 2), bool(np.all(np.diff(trace.read) > 0))
    (True, True)
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
    """The estimate, and how it was reached.

    Attributes
    ----------
    theta
        The estimate.
    read
        Rows read, with repetition.
    reason
        Why it stopped: "converged", "iterations", "budget" or "cancelled".
    trace
        The iterations, a `Trace`.

    Examples
    --------
    >>> from samplers.fit import LAD, irls
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(1000, 2))
    >>> irls(rng, x, x @ [1.0, 2.0] + rng.normal(size=1000), LAD(), max_iterations=2).reason
    'iterations'
    """

    theta: Floats
    read: int
    reason: Reason
    trace: Trace


class Recorder:
    """Collects iterations into a `Trace` and reports each to the caller."""

    def __init__(self, progress: FitProgress | None = None) -> None:
        self.progress = progress
        self.rows: list[Iteration] = []
        self.path: list[Floats] = []

    def add(self, row: Iteration, theta: Floats) -> None:
        """Record an iteration and the estimate after it."""
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
