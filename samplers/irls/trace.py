"""The record of a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.schedule import Floats, Ints

Reason = Literal["converged", "iterations", "budget", "cancelled"]
Row = tuple[int, int, int, float, float, float, float, float]  # one iteration of a `Trace`
Progress = Callable[[int, int, float], None]


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
