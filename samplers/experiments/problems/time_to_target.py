"""E9's question put to held-out rows: how much data, and how much time, until the test error is as good as it gets?"""

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
NEAR = {TEST: 0.01, WRONG: 0.05}  # share of the way from theta = 0 that a target leaves
COSTS = "read", "elapsed"

Found = Mapping[str, Values]  # the part of each method on one data set


def runs_of(part: Values, keys: Sequence[str]) -> list[dict[str, Floats]]:
    """The traces of the runs that a part holds one below the other."""
    return [{key: part[key][part["run"] == number] for key in keys} for number in np.unique(part["run"])]


def arrived(run: Mapping[str, Floats], error: str, limit: float, cost: str) -> float:
    """What a run had cost when an error came to its limit or below to stay; infinite if it never did."""
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
    found = float(np.sort(values)[(len(values) - 1) // 2]) / scale
    return found if math.isfinite(found) else math.nan


class Target(NamedTuple):
    """An error on test rows that methods are to reach: its column, its name, and its value at 0, at best and wanted."""

    error: str
    name: str
    start: float
    best: float
    limit: float


def targets(found: Found) -> list[Target]:
    """The loss, and for a classifier the error rate, of the optimum for all training rows, nearly.

    The optimum is where IRLS on all data ends. A target is a small share (NEAR) of the way from theta = 0 above it.
    """
    whole = found[WHOLE]
    names = {TEST: "mean absolute error"} if whole["lad"] else {TEST: "mean log loss", WRONG: "error rate"}
    made = []
    for error, name in names.items():
        start, best = float(whole[f"start_{error}"]), float(whole[error][-1])
        made.append(Target(error, name, start, best, best + NEAR[error] * (start - best)))
    return made


class ToTarget(NamedTuple):
    """Passes over the data and seconds until a method arrived, medians of its runs (NaN: most did not)."""

    passes: float
    seconds: float


def to_target(part: Values, target: Target) -> ToTarget:
    """Of one method."""
    runs, n_data = runs_of(part, [target.error, *COSTS]), float(part["n_data"])
    read, elapsed = ([arrived(run, target.error, target.limit, cost) for run in runs] for cost in COSTS)
    return ToTarget(middle(read, n_data), middle(elapsed))


def target_table(by_data: Mapping[str, Found]) -> ResultTable:
    """Data and time to every target for every method; for SGD also with the passes that its tuning took."""
    columns = [
        "data", "test error", "at θ = 0", "at the optimum", "target", "method", "passes to the target",
        "seconds to the target", "passes with tuning",
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for name, found in by_data.items():
        for target in targets(found):
            for method, part in found.items():
                took = to_target(part, target)
                tuning = float(part.get("tuning_read", 0.0)) / float(part["n_data"])
                rows.append([name, *target[1:], method, *took, took.passes + tuning])
    return ResultTable("Data and time to a given error on held-out rows (median of the runs)", columns, rows)


def target_sentence(found: Found) -> str:
    """What the methods needed to reach the first target, in words."""
    target = targets(found)[0]

    def cost(method: str) -> str:
        took = to_target(found[method], target)
        return "did not get there" if math.isnan(took.passes) else f"{took.passes:.2g} passes and {took.seconds:.2g} s"

    each = ", ".join(f"{method} {cost(method)}" for method in found)
    return f"To a {target.name} of {target.limit:.4g} on held-out rows: {each}."


def less_data(found: Found, method: str) -> bool:
    """Whether a method reached the first target on less data than IRLS on all of them."""
    target = targets(found)[0]
    return to_target(found[method], target).passes < to_target(found[WHOLE], target).passes


def wanted(found: Found, series: Sequence[Series]) -> Series:
    """The first target as a line over the span of other series."""
    ends = [min(float(min(one.x)) for one in series), max(float(max(one.x)) for one in series)]
    limit = targets(found)[0].limit
    return Series("target", ends, [limit, limit])
