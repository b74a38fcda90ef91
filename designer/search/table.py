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
        What was measured of them: error by the criterion, share of the data, number of looks, and what that costs.
    feasible
        Whether the error is within the tolerance.
    accuracy
        Numerical accuracy of the evaluation: the first look around is rough.

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
    feasible: npt.NDArray[np.bool_]
    accuracy: Floats

    def __len__(self) -> int:
        return int(self.m.size)


class EvaluatedDesign(NamedTuple):
    """One evaluation, as it goes into the table."""

    shape: Shape
    epsilon: float
    score: DesignScore
    accuracy: float


def tabulated(rows: Iterable[EvaluatedDesign], target: float, cost_of: Callable[[EvaluatedDesign], float]) -> Evaluated:
    """Each design once, at its best accuracy, in order; `feasible` are those with an error of at most `target`."""
    best: dict[tuple[Shape, float], EvaluatedDesign] = {}
    for row in rows:
        key = row.shape, row.epsilon
        if key not in best or row.accuracy < best[key].accuracy:
            best[key] = row
    ordered = sorted(best.values(), key=lambda row: (row.shape, row.epsilon))
    floats = np.array(
        [(r.epsilon, r.shape.alpha, r.shape.growth, *r.score, cost_of(r)) for r in ordered], dtype=np.float64
    )
    epsilon, alpha, growth, error, usage, looks, cost = floats.T
    m = np.array([row.shape.m for row in ordered], dtype=np.int64)
    accuracy = np.array([row.accuracy for row in ordered])
    return Evaluated(m, epsilon, alpha, growth, error, usage, looks, cost, error <= target, accuracy)
