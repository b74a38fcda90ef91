"""The trade-off between tolerance and data use: the designs of several criteria over many tolerances (K14 Fig. 6)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Unpack

from designer.engine.step_error import Rule
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import as_plan
from designer.search.criteria import UNKNOWN, Criterion, OverPairs
from designer.search.search import SEARCH_ACCURACY, Options, SearchResult, searches


class FrontierPoint(NamedTuple):
    """One design of the frontier, evaluated on the pairs it was made for and on fresh ones.

    Attributes
    ----------
    criterion, tolerance
        What was asked for.
    design
        The best design. If there is none, this and the numbers below are None.
    train_error, train_usage
        Mean |Δ| and mean data use on the pairs of the search.
    train_limit
        Upper limit of the criterion's error, which is within the tolerance; the error itself for a point estimate.
    test_error, test_usage
        The same on pairs that the search has not seen; None if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 40, np.random.default_rng(1))
    >>> (point,) = frontier(trial, [0.05], criteria=["fixed-m"])
    >>> point.design.m, point.test_error
    (600, None)
    """

    criterion: Criterion
    tolerance: float
    design: Design | None
    train_error: float | None
    train_usage: float | None
    test_error: float | None
    test_usage: float | None
    train_limit: float | None


def frontier(
    trial: TrialRun,
    tolerances: Sequence[float],
    test: TrialRun | None = None,
    criteria: Sequence[Criterion] = ("average", "fixed-m", "worst-case"),
    **options: Unpack[Options],
) -> list[FrontierPoint]:
    """The design of every criterion at every tolerance, on the pairs it was made for and on fresh ones (K14 Fig. 6).

    Parameters
    ----------
    trial
        Pairs to search on.
    tolerances
        The tolerances.
    test
        Pairs of another trial run, to evaluate on.
    criteria
        Criteria, as for `search`.
    **options
        As for `search`; fixed_m is 600 by default, as in K14's experiment.

    Returns
    -------
    list of FrontierPoint
        One for each criterion and tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> trial = TrialRun.at_stationarity(20_000, 0.5, 40, np.random.default_rng(1))
    >>> [point.train_limit <= 0.05 for point in frontier(trial, [0.05])]
    [True, True, True]
    """
    report = options.pop("progress", None) or (lambda done, total: None)
    points: list[FrontierPoint] = []
    for number, criterion in enumerate(criteria):

        def part(done: int, total: int, number: int = number) -> None:
            report(round(1000 * (number + done / total)), 1000 * len(criteria))

        defaults: Options = {"fixed_m": 600, "progress": part}
        results = searches(trial, tolerances, criterion, **(defaults | options))
        rule = options.get("rule", "metropolis")
        with ThreadPoolExecutor(options.get("workers") or os.cpu_count()) as pool:
            points += pool.map(lambda result, rule=rule: _point(result, test, rule, options.get("skew")), results)
    return points


def _point(result: SearchResult, test: TrialRun | None, rule: Rule, skew: bool | None) -> FrontierPoint:
    """A design with its numbers; those on the training pairs come with the search."""
    train = result.best.predicted if result.best is not None else None
    fresh = None
    if result.best is not None and test is not None:
        fresh = OverPairs(test, rule, skew=skew)(as_plan(result.best), SEARCH_ACCURACY)
        fresh = None if fresh is UNKNOWN else fresh
    return FrontierPoint(
        result.criterion,
        result.tolerance,
        result.best,
        None if train is None else train.mean_abs_delta,
        None if train is None else train.mean_usage,
        None if fresh is None else fresh.error,
        None if fresh is None else fresh.usage,
        result.limit,
    )
