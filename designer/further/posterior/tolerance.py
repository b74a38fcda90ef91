"""The tolerance that keeps the posterior accurate enough, and how its standard deviations grow with ε."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from designer.core.errors import BadInput, NumericalFailure, real
from designer.core.progress import Cancelled, Progress, raise_if
from designer.engine.step_error import Rule
from designer.further.posterior.error import PosteriorError, posterior_error
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.search.space import usual_batch

ENDS, BISECTIONS = 12, 14  # evaluations that look for an ε that is small enough, and that narrow it down


class PosteriorTolerance(NamedTuple):
    """The largest mean |Δ| that keeps the posterior's standard deviations within a limit, and the test that has it.

    Attributes
    ----------
    tolerance
        Mean |Δ|: the tolerance to ask `search` for.
    design
        The test.
    error
        What the test does to the posterior, a `PosteriorError`.
    most_ratio
        The limit: the largest ratio of standard deviations that was asked for.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.234, pairs=50, rng=np.random.default_rng(0))
    >>> allowed = tolerance_for(trial, sd_inflation=0.1)
    >>> allowed.most_ratio, allowed.design.m
    (1.1, 500)
    """

    tolerance: float
    design: Design
    error: PosteriorError
    most_ratio: float

    @property
    def unbounded(self) -> bool:
        """Whether even the largest ε, 0.5, keeps the limit: the tolerance is then what that ε has, not what is allowed.

        Examples
        --------
        >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.95, pairs=50, rng=np.random.default_rng(0))
        >>> tolerance_for(trial, sd_inflation=1.0, m=6_000).unbounded
        True
        """
        return self.design.epsilon == 0.5


def tolerance_for(
    trial: TrialRun,
    sd_inflation: float,
    m: int | None = None,
    rule: Rule = "metropolis",
    *,
    alpha: float = 0.5,
    dimension: int | None = None,
    skewness: float = 0.0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> PosteriorTolerance:
    """The tolerance that keeps the posterior's standard deviations within a factor 1 + `sd_inflation`.

    Among tests with batches of `m`, takes the largest ε that does so; its mean |Δ| on the trial run's pairs is the
    tolerance to ask `search` for. Another m has nearly the same tolerance.

    Parameters
    ----------
    trial
        Pairs of a random walk.
    sd_inflation
        0.05 for standard deviations at most 5% too large.
    m, alpha
        Parameters of the tests; m is 500 by default, less for small N.
    rule, dimension, skewness
        As for `posterior_error`.
    progress, cancelled
        `progress` is called with (done, total), where the total is the most that may be needed. `cancelled` is called
        before each evaluation; if it returns True, `Cancelled` is raised.

    Returns
    -------
    PosteriorTolerance
        The tolerance, the test, and its effect on the posterior.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.234, pairs=100, rng=np.random.default_rng(0))
    >>> allowed = tolerance_for(trial, sd_inflation=0.05)
    >>> round(allowed.error.sd_ratio, 3), round(allowed.tolerance, 3)
    (1.05, 0.014)
    """
    most, m = real("sd_inflation", sd_inflation, 1e-6, 10.0), usual_batch(trial.n_data) if m is None else m
    known: dict[float, PosteriorError] = {}
    tried: list[float] = []

    def excess(log_epsilon: float) -> float:
        raise_if(cancelled)
        tried.append(log_epsilon)
        if progress is not None:
            progress(len(tried), ENDS + BISECTIONS)
        test = _test(trial, m, log_epsilon, alpha)
        try:
            known[log_epsilon] = posterior_error(test, trial, rule, dimension=dimension, skewness=skewness)
        except NumericalFailure:  # too hot to be computed
            return math.inf
        return known[log_epsilon].sd_ratio - 1.0 - most

    low, high = math.log(1e-9), math.log(0.5)
    for end in np.linspace(high, low, ENDS).tolist():  # from the largest down: the inflation need not be monotone in ε
        if excess(end) <= 0.0:
            low = end
            break
        high = end
    else:
        raise BadInput(
            f"sd_inflation = {sd_inflation:g}: no ε of at least 1e-9 meets it with m = {m:,}; allow more, or larger m"
        )
    if low < high:
        low = _last_below(excess, low, high)
    return PosteriorTolerance(known[low].mean_abs_delta, _test(trial, m, low, alpha), known[low], 1.0 + most)


def inflation_curve(
    trial: TrialRun,
    m: int,
    rule: Rule = "metropolis",
    *,
    alpha: float = 0.5,
    growth: float = 1.0,
    dimension: int | None = None,
    points: int = 12,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[list[float], list[PosteriorError]]:
    """`posterior_error` over ε, for a plot; without those that heat the posterior beyond what is computed."""
    epsilons, errors = [], []
    for number, epsilon in enumerate(np.geomspace(1e-3, 0.5, points).tolist(), start=1):
        if cancelled is not None and cancelled():
            raise Cancelled
        with suppress(NumericalFailure):
            test = Design(trial.n_data, m, epsilon, alpha, growth)
            errors.append(posterior_error(test, trial, rule, dimension=dimension))
            epsilons.append(epsilon)
        if progress is not None:
            progress(number, points)
    return epsilons, errors


def _test(trial: TrialRun, m: int, log_epsilon: float, alpha: float) -> Design:
    return Design(trial.n_data, m, min(math.exp(log_epsilon), 0.5), alpha)


def _last_below(excess: Callable[[float], float], low: float, high: float, steps: int = BISECTIONS) -> float:
    """By bisection: a point where `excess` is not positive, close to one where it is."""
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if excess(middle) <= 0.0:
            low = middle
        else:
            high = middle
    return low
