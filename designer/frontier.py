"""What each tolerance costs: the designs of several criteria over a range of tolerances (K14 Fig. 6, as data)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Unpack

from designer.acceptance import Rule, acceptance
from designer.criteria import Criterion
from designer.records import Design, TrialRun
from designer.search import ACCURACY, Options, SearchResult, searches


class FrontierPoint(NamedTuple):
    """One design of the frontier, with mean |Delta| and mean data use on the training and on the test pairs.

    Without a design (infeasible) or without test pairs the numbers are None.
    """

    criterion: Criterion
    tolerance: float
    design: Design | None
    train_error: float | None
    train_usage: float | None
    test_error: float | None
    test_usage: float | None


def frontier(
    trial: TrialRun,
    tolerances: Sequence[float],
    test: TrialRun | None = None,
    criteria: Sequence[Criterion] = ("average", "fixed-m", "worst-case"),
    **options: Unpack[Options],
) -> list[FrontierPoint]:
    """The design of every criterion at every tolerance, measured on the pairs it was made for and on fresh ones.

    `options` are those of `search`; fixed_m is 600 here by default, as in K14's experiment.

    Examples
    --------
    >>> import numpy as np
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 40, np.random.default_rng(1))
    >>> [point.train_error <= 0.05 for point in frontier(trial, [0.05])]
    [True, True, True]
    """
    report = options.pop("progress", None) or (lambda done, total: None)
    points = []
    for number, criterion in enumerate(criteria):

        def part(done: int, total: int, number: int = number) -> None:
            report(round(1000 * (number + done / total)), 1000 * len(criteria))

        defaults: Options = {"fixed_m": 600, "progress": part}
        found = searches(trial, tolerances, criterion, **(defaults | options))
        rule = options.get("rule", "metropolis")
        points += [_point(criterion, result, trial, test, rule) for result in found]
    return points


def _point(
    criterion: Criterion, found: SearchResult, trial: TrialRun, test: TrialRun | None, rule: Rule
) -> FrontierPoint:
    def measured(pairs: TrialRun | None) -> tuple[float | None, float | None]:
        if found.best is None or pairs is None:
            return None, None
        step = acceptance(found.best, pairs, rule, ACCURACY)
        return step.mean_abs_delta, step.mean_usage

    return FrontierPoint(criterion, found.tolerance, found.best, *measured(trial), *measured(test))
