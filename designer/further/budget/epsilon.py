"""The ε for a time budget: the one with the least sum of squared bias and variance (for schedules see `phases`).

All risks are relative to the posterior variance of the estimated quantity: a risk of 0.01 is that of 100 independent
draws. docs/time_budget.md derives what is computed here (K14 sections 3 and 7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure, integer, real
from designer.core.progress import Cancelled, Progress
from designer.engine.step_error import Rule, check_rule
from designer.further.posterior.acceptance_table import mean_acceptance
from designer.further.posterior.temperature import MOST_PARAMETERS, effective_temperature
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.search.criteria import Cost
from designer.search.space import usual_batch

EPSILONS = tuple(float(f"{value:.3g}") for value in np.geomspace(0.001, 0.4, 24))
POINTS = 101  # of A: the temperature is needed to a few digits only


class Quantity(NamedTuple):
    """What is estimated from the chain.

    Parameters
    ----------
    autocorrelation
        Steps of the exact chain that are worth one independent draw.
    sensitivity
        Bias per unit of temperature, in posterior standard deviations: the shift of the mean when the posterior is
        taken to the power 1 / T, divided by T - 1. See `sensitivity`; about half the skewness for a parameter's mean,
        0.71 for its square.
    degree
        Draws at temperature T vary T^degree times as much: 1 for parameters, 2 for their squares.

    Examples
    --------
    >>> Quantity(autocorrelation=500.0, sensitivity=0.3).degree
    1.0
    """

    autocorrelation: float
    sensitivity: float
    degree: float = 1.0

    def checked(self) -> Quantity:
        """The same quantity, validated."""
        return Quantity(
            real("autocorrelation", self.autocorrelation, 1e-3, 1e12),
            real("sensitivity", self.sensitivity, -1e6, 1e6),
            real("degree", self.degree, 0.0, 10.0),
        )


class Option(NamedTuple):
    """A test to choose for a time budget.

    Attributes
    ----------
    design
        None for exact decisions.
    bias
        Bias in posterior standard deviations, which does not shrink with time.
    spread
        spread² / seconds is the variance.
    seconds
        Seconds per step.
    temperature
        Temperature at which the chain samples the posterior.
    usage, acceptance
        Data use per step, and acceptance rate.

    Examples
    --------
    >>> option = Option(None, bias=0.1, spread=0.5, seconds=0.1, temperature=1.5, usage=0.1, acceptance=0.3)
    >>> round(option.risk(seconds=25.0), 6)
    0.02
    """

    design: Design | None
    bias: float
    spread: float
    seconds: float
    temperature: float
    usage: float
    acceptance: float

    @property
    def epsilon(self) -> float:
        """The ε of the test; 0 if exact."""
        return 0.0 if self.design is None else self.design.epsilon

    @property
    def name(self) -> str:
        """A short description."""
        return "exact" if self.design is None else f"m = {self.design.m:,}, ε = {self.design.epsilon:g}"

    @property
    def squared_bias(self) -> float:
        """The part of the risk that does not shrink with time."""
        return self.bias**2

    def variance(self, seconds: float) -> float:
        """Variance after this time."""
        return self.spread**2 / seconds

    def risk(self, seconds: float) -> float:
        """Squared bias plus variance after this time."""
        return self.squared_bias + self.variance(seconds)

    def worth(self, seconds: float) -> float:
        """The number of independent exact draws with the same risk."""
        return 1.0 / max(self.risk(seconds), 1e-300)


def time_options(
    trial: TrialRun,
    cost: Cost,
    quantity: Quantity,
    rule: Rule = "metropolis",
    *,
    m: Sequence[int] | None = None,
    epsilons: Sequence[float] = EPSILONS,
    exact_seconds: float | None = None,
    dimension: int | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[Option, ...]:
    """Bias, variance and time of the exact test and of sequential ones.

    Parameters
    ----------
    trial
        Pairs of the exact chain.
    cost
        Seconds of a step: fixed, per datum and per look.
    quantity
        Its autocorrelation and sensitivity.
    rule
        "metropolis" or "barker".
    m, epsilons
        The tests: every combination. m is 500 by default, less for small N.
    exact_seconds
        Seconds of an exact step. By default the cost of all data with one likelihood each, since the exact chain keeps
        those of its state; a test on a subsample evaluates two. Infinite: no exact chain.
    dimension
        Number of parameters, at least 2; None for many.
    progress, cancelled
        `progress` is called with (done, total). `cancelled` is called between evaluations; if it returns True,
        `Cancelled` is raised.

    Returns
    -------
    tuple of Option
        For `time_schedule` and `anytime_schedule`.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, acceptance=0.9, pairs=30, rng=np.random.default_rng(1))
    >>> cost, mean = Cost(fixed=1e-6, per_datum=1e-8), Quantity(autocorrelation=500.0, sensitivity=0.3)
    >>> [option.epsilon for option in time_options(trial, cost, mean, m=[200], epsilons=[0.01, 0.2])]
    [0.0, 0.01, 0.2]
    """
    cost, quantity, rule = cost.checked(), quantity.checked(), check_rule(rule)
    whole = cost.exact(trial.n_data) if exact_seconds is None else exact_seconds
    rate = mean_acceptance(trial, rule)
    options = []
    if math.isfinite(whole):
        whole = real("exact_seconds", whole, 0.0, 1e300, open_low=True)
        spread = math.sqrt(quantity.autocorrelation * whole)
        options.append(Option(None, 0.0, spread, whole, 1.0, 1.0, rate))
    if dimension is not None:
        integer("dimension", dimension, 2, MOST_PARAMETERS)
    sizes = [usual_batch(trial.n_data)] if m is None else m
    batches = sorted({integer("m", size, 2, trial.n_data) for size in sizes})
    tests = [Design(trial.n_data, size, epsilon) for size in batches for epsilon in epsilons]
    for number, test in enumerate(tests, start=1):
        if cancelled is not None and cancelled():
            raise Cancelled
        one = _option(test, trial, cost, quantity, rule, rate, dimension)
        options += [] if one is None else [one]
        if progress is not None:
            progress(number, len(tests))
    return tuple(options)


def _option(
    test: Design,
    trial: TrialRun,
    cost: Cost,
    quantity: Quantity,
    rule: Rule,
    rate: float,
    dimension: int | None,
) -> Option | None:
    """A sequential test as an option; None if it heats the posterior beyond what can be computed.

    Draws at temperature T have T^degree times the variance, and a walk that accepts at another rate needs T rate /
    rate' as many steps for an independent one: it diffuses at a speed proportional to its rate, over sqrt(T) times the
    width.
    """
    try:
        hot = effective_temperature(test, trial, rule, dimension=dimension, points=POINTS)
    except NumericalFailure:
        return None
    seconds = cost.of(trial.n_data, hot.steps.mean_usage, float(hot.steps.looks.mean()))
    steps = quantity.autocorrelation * hot.temperature * rate / hot.rate
    spread = math.sqrt(hot.temperature**quantity.degree * steps * seconds)
    bias = abs(quantity.sensitivity) * (hot.temperature - 1.0)
    return Option(test, bias, spread, seconds, hot.temperature, hot.steps.mean_usage, hot.rate)


def best_option(known: Sequence[Option], seconds: float) -> Option:
    """The option with the least risk after this time."""
    seconds = check_time(seconds)
    return min(check_known(known), key=lambda option: option.risk(seconds))


def best_epsilon(
    trial: TrialRun,
    seconds: float,
    cost: Cost,
    quantity: Quantity,
    rule: Rule = "metropolis",
    *,
    m: Sequence[int] | None = None,
    exact_seconds: float | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Option:
    """The ε and m with the least risk = bias² + variance at the end of the time; exact if that is best.

    Parameters
    ----------
    trial, cost, quantity, rule, m, exact_seconds, progress, cancelled
        As for `time_options`, which is called twice.
    seconds
        The time to spend.

    Returns
    -------
    Option
        The test, and what it does.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, acceptance=0.9, pairs=30, rng=np.random.default_rng(1))
    >>> cost, mean = Cost(fixed=1e-6, per_datum=1e-8), Quantity(autocorrelation=500.0, sensitivity=0.3)
    >>> [best_epsilon(trial, seconds, cost, mean, m=[200]).epsilon > 0 for seconds in (0.5, 1e6)]
    [True, False]
    """
    seconds = check_time(seconds)  # refuse a bad time before the work
    reports: dict[str, Any] = {"progress": progress, "cancelled": cancelled}
    known = time_options(trial, cost, quantity, rule, m=m, exact_seconds=exact_seconds, **reports)
    best = best_option(known, seconds)
    if best.design is None:
        return best
    place = EPSILONS.index(best.epsilon)
    finer = np.geomspace(EPSILONS[max(place - 1, 0)], EPSILONS[min(place + 1, len(EPSILONS) - 1)], 9)
    options: dict[str, Any] = {"m": [best.design.m], "epsilons": finer.tolist(), "exact_seconds": math.inf}
    more = time_options(trial, cost, quantity, rule, **options, **reports)
    return best_option([best, *more], seconds)


def sensitivity(values: Floats, log_posterior: Floats) -> float:
    """Sensitivity of quantities to the temperature, from draws of an exact chain and their log posterior.

    d/dT of E_T f at T = 1 is Cov(f, -log posterior); root mean square over the quantities, over that of their sds. The
    covariances of the first and of the second half of the draws are multiplied, so that their noise, of variance D / 2
    over the effective draws for D parameters, averages out and is not mistaken for sensitivity.

    Parameters
    ----------
    values
        Draws, or draws x quantities, in the order of the chain.
    log_posterior
        Log posterior of each draw, up to a constant.

    Returns
    -------
    float
        For `Quantity`.

    Examples
    --------
    >>> theta = np.random.default_rng(1).standard_normal(100_000)
    >>> round(sensitivity(theta**2, -0.5 * theta**2), 2)
    0.71
    """
    columns = values[:, None] if values.ndim == 1 else values
    if columns.ndim != 2 or len(columns) < 4 or log_posterior.shape != columns.shape[:1]:
        raise BadInput("sensitivity: needs at least four draws, and the log posterior of each")
    away = columns - columns.mean(axis=0)
    if not np.any(away):
        raise BadInput("sensitivity: the draws are all the same")
    half = len(columns) // 2
    one, other = (_covariances(columns[part], log_posterior[part]) for part in (slice(half), slice(half, None)))
    return math.sqrt(max(float(np.mean(one * other)), 0.0) / float(np.mean(away**2)))


def _covariances(columns: Floats, values: Floats) -> Floats:
    """Covariance of each column with the values."""
    covariances: Floats = ((columns - columns.mean(axis=0)) * (values - values.mean())[:, None]).mean(axis=0)
    return covariances


def check_time(seconds: float) -> float:
    """A time in seconds, or BadInput."""
    return real("seconds", seconds, 0.0, 1e15, open_low=True)


def check_known(known: Sequence[Option]) -> Sequence[Option]:
    """The options, or BadInput if there are none."""
    if not known:
        raise BadInput("no test to choose from: each heats the posterior beyond what can be computed")
    return known
