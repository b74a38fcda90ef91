"""The best design for a tolerance: the least cost subject to an error no larger (K14 §5.2, supplement D).

The search runs over m, α and growth, and solves for ε (`continuous`); or it evaluates a plain grid, as the paper does
(`grid_search`). `evaluation` scores designs, `careful` holds resampled ones to their tolerance, `answer` makes the
result.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Unpack

from designer.core.errors import BadInput, instance, integer, real, several
from designer.engine.predict import smallest_batch
from designer.pairs.refusals import check_pairs
from designer.pairs.trial_run import TrialRun
from designer.rule.looks import MAX_N_DATA
from designer.search.careful import Again, careful_answer, chosen_again, solved_again
from designer.search.continuous import solve_all
from designer.search.criteria import Cost, Criterion, check_criterion
from designer.search.evaluation import SEARCH_ACCURACY, Evaluator
from designer.search.grid_search import best_on_grid
from designer.search.result import Options, SearchResult
from designer.search.space import Grid, Shape, Space

LEAST_TOLERANCE = 1e-6  # below this the numerical error would matter

__all__ = ["LEAST_TOLERANCE", "SEARCH_ACCURACY", "Options", "SearchResult", "search", "searches"]


def search(
    trial: TrialRun | None, tolerance: float, criterion: Criterion = "average", **options: Unpack[Options]
) -> SearchResult:
    """Find the design of least cost whose error is at most `tolerance` (K14 section 5.2).

    A trial run has only some of the pairs that the chain will meet. The tolerance holds at the upper end of a one-sided
    confidence band of the error over the pairs (`confidence`), not only for the pairs at hand.

    Parameters
    ----------
    trial
        Pairs from a trial run. The worst-case criterion needs none, only `n_data`.
    tolerance
        Largest error by the criterion; at least 1e-6.
    criterion
        average: mean |Δ| over the pairs (Eqn 7). worst-case: E(μ_std = 0) (Eqn 8). quantile: that quantile of
        |Δ|. fixed-m: K14's heuristic, with constant bounds and the largest ε that keeps mean |Δ| within the tolerance.
    **options
        See `designer.search.result.Options`: n_data, space, grid, fixed_m, cost, rule, quantile, skew, confidence,
        stationary, workers, mapper, progress, cancelled.

    Returns
    -------
    SearchResult
        The best design; if none is feasible, the reason.

    Raises
    ------
    BadInput
        If an argument cannot be used, or no design can be made for these pairs: too few, or of the burn-in.
    Cancelled
        If `cancelled` returned True.

    Examples
    --------
    >>> import numpy as np
    >>> trial = TrialRun.at_stationarity(200_000, 0.45, 50, np.random.default_rng(1))
    >>> result = search(trial, tolerance=0.02)
    >>> result.error < result.limit <= 0.02
    True
    """
    return searches(trial, [tolerance], criterion, **options)[0]


def searches(
    trial: TrialRun | None, tolerances: Iterable[float], criterion: Criterion = "average", **options: Unpack[Options]
) -> list[SearchResult]:
    """`search` for several tolerances, which share the first scan."""
    criterion = check_criterion(criterion)
    targets = [real("tolerance", t, LEAST_TOLERANCE, 1.0) for t in several("tolerances", tolerances)]
    _check_kinds(trial, options)
    n_data = _agreed_n_data(trial, options.get("n_data"))
    if trial is not None and options.get("stationary", True):
        check_pairs(trial)
    smallest = smallest_batch(trial, options.get("skew"), by_theory=criterion == "worst-case")
    space = (options.get("space") or Space()).checked(n_data, smallest)
    evaluator, grid = Evaluator(trial, n_data, criterion, space, options), options.get("grid")
    again: Again = solved_again
    if grid is not None:
        again, best = chosen_again, best_on_grid(evaluator, targets, grid.designs(n_data))
    elif criterion == "fixed-m":
        m = min(integer("fixed_m", options.get("fixed_m", 500), 2, MAX_N_DATA), n_data)
        best = solve_all(evaluator, targets, [Shape(n_data, m, 0.5, 1.0)], refined=False)
    else:
        best = solve_all(evaluator, targets, space.shapes(n_data), refined=True)
    with ThreadPoolExecutor(evaluator.workers) as pool:
        return list(pool.map(partial(careful_answer, evaluator, again), targets, best))


def _check_kinds(trial: TrialRun | None, options: Options) -> None:
    """Refuse options that no search has, and objects of the wrong class."""
    if unknown := sorted(set(options) - set(Options.__annotations__)):
        raise BadInput(f"{unknown[0]}: unknown option; allowed: {', '.join(Options.__annotations__)}")
    given: tuple[tuple[str, object, type], ...] = (
        ("trial", trial, TrialRun),
        ("space", options.get("space"), Space),
        ("grid", options.get("grid"), Grid),
        ("cost", options.get("cost"), Cost),
    )
    for name, value, kind in given:
        if value is not None:
            instance(name, value, kind)


def _agreed_n_data(trial: TrialRun | None, n_data: int | None) -> int:
    if n_data is not None:
        n_data = integer("n_data", n_data, 2, MAX_N_DATA)
    if trial is None and n_data is None:
        raise BadInput("n_data: needed when there is no trial run")
    if trial is not None and n_data not in (None, trial.n_data):
        raise BadInput(f"n_data = {n_data:,}: must be the trial run's, {trial.n_data:,}, or be left out")
    return integer("n_data", trial.n_data if trial is not None else n_data, 2, MAX_N_DATA)
