"""The table of everything that a search has evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.search.criteria import DesignScore
from designer.search.space import Shape


class Evaluated(NamedTuple):
    """Every design that a search evaluated, as columns.

    Attributes
    ----------
    m, epsilon, alpha, growth
        The designs.
    error, usage, looks, cost
        Their expected error by the criterion, data use, number of looks, and cost per step.
    limit
        Upper limit of the error; the error itself for a point estimate.
    feasible
        Whether the limit is within the tolerance.
    accuracy
        Numerical accuracy of the evaluation; the first scan is rough.

    Examples
    --------
    >>> from designer import search
    >>> table = search(None, 0.1, "worst-case", n_data=10_000).evaluated
    >>> len(table) == table.m.size, bool(table.feasible.any())
    (True, True)
    """

    m: Ints
    epsilon: Floats
    alpha: Floats
    growth: Floats
    error: Floats
    usage: Floats
    looks: Floats
    cost: Floats
    limit: Floats
    feasible: npt.NDArray[np.bool_]
    accuracy: Floats

    def __len__(self) -> int:
        return int(self.m.size)


class EvaluatedDesign(NamedTuple):
    """One row of the table: a design and its score, to some accuracy."""

    shape: Shape
    epsilon: float
    score: DesignScore
    accuracy: float


def tabulated(rows: Iterable[EvaluatedDesign], target: float, cost_of: Callable[[EvaluatedDesign], float]) -> Evaluated:
    """Each design once, at its best accuracy, sorted; `feasible` if the limit is at most `target`."""
    best: dict[tuple[Shape, float], EvaluatedDesign] = {}
    for row in rows:
        key = row.shape, row.epsilon
        if key not in best or row.accuracy < best[key].accuracy:
            best[key] = row
    ordered = sorted(best.values(), key=lambda row: (row.shape, row.epsilon))
    floats = np.array(
        [(r.epsilon, r.shape.alpha, r.shape.growth, *r.score, cost_of(r)) for r in ordered], dtype=np.float64
    )
    epsilon, alpha, growth, error, usage, looks, limit, cost = floats.T
    m = np.array([row.shape.m for row in ordered], dtype=np.int64)
    accuracy = np.array([row.accuracy for row in ordered])
    return Evaluated(m, epsilon, alpha, growth, error, usage, looks, cost, limit, limit <= target, accuracy)
