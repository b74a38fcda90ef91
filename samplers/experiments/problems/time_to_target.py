"""E9 on held-out rows: how much data and time until the test error is close to its best value?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.experiments.framework.report import Cell, ResultTable, Series
from samplers.experiments.framework.running import Values

WHOLE = "all data"
TEST, WRONG = "test", "wrong"  # columns of a trace: mean loss and share of mistakes on test rows
NEAR = {TEST: 0.01, WRONG: 0.05}  # share of the way from θ = 0 that remains at a target
COSTS = "read", "elapsed"

Methods = Mapping[str, Values]  # the part of each method on one data set


def runs_of(part: Values, keys: Sequence[str]) -> list[dict[str, Floats]]:
    """The traces of the single runs that a part contains."""
    return [{key: part[key][part["run"] == number] for key in keys} for number in np.unique(part["run"])]


def cost_to_reach(run: Mapping[str, Floats], error: str, limit: float, cost: str) -> float:
    """The cost of a run when an error reached its limit and stayed below; infinite if it never did."""
    above = np.flatnonzero(~(run[error] <= limit))
    first = above[-1] + 1 if above.size else 0
    return float(run[cost][first]) if first < run[error].size else math.inf


def middle(values: Sequence[float], scale: float = 1.0) -> float:
    """The lower median, divided by `scale`; NaN if it is infinite.

    Examples
    --------
    >>> middle([3.0, 1.0, math.inf, 2.0], 2.0)
    1.0
    """
    median = float(np.sort(values)[(len(values) - 1) // 2]) / scale
    return median if math.isfinite(median) else math.nan


class Target(NamedTuple):
    """An error on test rows to reach: its column, its name, and its values at θ = 0, at best, and as target."""

    error: str
    name: str
    start: float
    best: float
    limit: float


def targets(methods: Methods) -> list[Target]:
    """Targets for the loss and, for a classifier, for the error rate.

    The optimum is where IRLS on all data ends. A target is above it by a small share (NEAR) of the way from θ = 0.
    """
    whole = methods[WHOLE]
    names = {TEST: "mean absolute error"} if whole["lad"] else {TEST: "mean log loss", WRONG: "error rate"}
    every = []
    for error, name in names.items():
        start, best = float(whole[f"start_{error}"]), float(whole[error][-1])
        every.append(Target(error, name, start, best, best + NEAR[error] * (start - best)))
    return every


class ToTarget(NamedTuple):
    """Passes over the data and seconds until a method reached a target, as medians of its runs (NaN: most did not)."""

    passes: float
    seconds: float


def to_target(part: Values, target: Target) -> ToTarget:
    """Passes and seconds of one method."""
    runs, n_data = runs_of(part, [target.error, *COSTS]), float(part["n_data"])
    read, elapsed = ([cost_to_reach(run, target.error, target.limit, cost) for run in runs] for cost in COSTS)
    return ToTarget(middle(read, n_data), middle(elapsed))


def target_table(by_data: Mapping[str, Methods]) -> ResultTable:
    """Data and time to every target for every method; for SGD also with the passes of its tuning."""
    columns = [
        "data", "test error", "at θ = 0", "at the optimum", "target", "method", "passes to the target",
        "seconds to the target", "passes with tuning",
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for name, methods in by_data.items():
        for target in targets(methods):
            for method, part in methods.items():
                took = to_target(part, target)
                tuning = float(part.get("tuning_read", 0.0)) / float(part["n_data"])
                rows.append([name, *target[1:], method, *took, took.passes + tuning])
    return ResultTable("Data and time to a given error on held-out rows (median of the runs)", columns, rows)


def target_sentence(methods: Methods) -> str:
    """The cost of reaching the first target, in words."""
    target = targets(methods)[0]

    def cost(method: str) -> str:
        took = to_target(methods[method], target)
        return "did not reach it" if math.isnan(took.passes) else f"{took.passes:.2g} passes and {took.seconds:.2g} s"

    each = ", ".join(f"{method} {cost(method)}" for method in methods)
    return f"To reach a {target.name} of {target.limit:.4g} on held-out rows: {each}."


def less_data(methods: Methods, method: str) -> bool:
    """Whether a method reached the first target with less data than IRLS on all data."""
    target = targets(methods)[0]
    return to_target(methods[method], target).passes < to_target(methods[WHOLE], target).passes


def target_line(methods: Methods, series: Sequence[Series]) -> Series:
    """The first target as a line over the span of other series."""
    ends = [min(float(min(one.x)) for one in series), max(float(max(one.x)) for one in series)]
    limit = targets(methods)[0].limit
    return Series("target", ends, [limit, limit])
