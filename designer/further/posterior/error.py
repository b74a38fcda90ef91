"""What a test does to the posterior: the distribution that a random walk with errors Delta(A, kappa) really samples.

The target is Gaussian (or has one skewed coordinate), the walk accepts as often as the trial run did, and kappa has the
trial run's distribution. In many dimensions the answer is a temperature (docs/posterior.md): the walk samples the
posterior to the power 1 / T, with the T at which the mean of A times the acceptance probability vanishes. In one
dimension it is the stationary distribution of the transition kernel on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure, integer, real
from designer.core.progress import Cancelled
from designer.engine.bounds import stationary_bound
from designer.engine.step_error import Acceptance, Rule, acceptance, check_rule, check_same_data, exact_probability
from designer.further.posterior.acceptance_table import (
    KAPPAS,
    POINTS,
    SPACING,
    mean_acceptance,
    quantile_levels,
    spanning,
    tabulate,
)
from designer.further.posterior.stationary_1d import UNSURE, ErringWalk, never_met, settle
from designer.further.posterior.target_density import Target
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan
from designer.search.space import usual_batch

MOST_PARAMETERS = 10**9
HOTTEST = 100.0  # temperature beyond which there is no answer
SDS = 12.0  # on either side, of the marginals that are compared


class PosteriorError(NamedTuple):
    """How the posterior that a test samples differs from the exact one, in one coordinate.

    Attributes
    ----------
    bias
        Of the mean, in posterior standard deviations.
    sd_ratio
        Standard deviation that is sampled, over the exact one.
    total_variation
        Distance of the coordinate's marginals.
    temperature
        T, if the posterior is sampled to the power 1 / T; None in one dimension, where it is no power of the target.
    acceptance
        Rate of the chain with errors.
    mean_abs_delta
        Over the trial run's pairs.
    contraction, theorem_1_bound
        The eta of K14 Theorem 1 on the middle 99.9% of the target, and the bound that follows.
    estimate
        A bound on the numerical error of sd_ratio: not what a few pairs leave open, and not that of taking the chain's
        distribution for a power of the target.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.234, pairs=100, rng=np.random.default_rng(0))
    >>> found = posterior_error(Design(12_214, 500, 0.05), trial)
    >>> round(found.temperature, 1), found.total_variation < found.theorem_1_bound
    (1.6, True)
    """

    bias: float
    sd_ratio: float
    total_variation: float
    temperature: float | None
    acceptance: float
    mean_abs_delta: float
    contraction: float
    theorem_1_bound: float
    estimate: float


class Wish(NamedTuple):
    """The largest mean |Delta| that keeps the posterior within a wish, and the test that has it.

    Attributes
    ----------
    tolerance
        Mean |Delta|: what to ask `search` for.
    design
        The test.
    error
        What it does to the posterior, a `PosteriorError`.
    most_ratio
        Of standard deviations, as wished.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.234, pairs=50, rng=np.random.default_rng(0))
    >>> wish = tolerance_for(trial, sd_inflation=0.1)
    >>> wish.most_ratio, wish.design.m
    (1.1, 500)
    """

    tolerance: float
    design: Design
    error: PosteriorError
    most_ratio: float  # of standard deviations, as wished


def posterior_error(
    design: Design | Plan,
    trial: TrialRun,
    rule: Rule = "metropolis",
    *,
    dimension: int | None = None,
    skewness: float = 0.0,
) -> PosteriorError:
    """The posterior that a random walk samples when a test decides, beside the exact one.

    Parameters
    ----------
    design
        The test.
    trial
        Its pairs give the walk's acceptance rate and the distribution of kappa.
    rule
        "metropolis" or "barker".
    dimension
        Number of parameters d; None for the limit of many. From two on the chain's distribution is taken to be the
        target at some temperature (which makes sd_ratio low by .01 to .03 at d = 5, docs/posterior.md); for one it is
        computed, whatever its form.
    skewness
        Of the coordinate that is looked at. A symmetric one has no bias in its mean: the test's errors heat the
        posterior, and only a lopsided one moves when heated.

    Returns
    -------
    PosteriorError
        Bias, ratio of standard deviations, total variation and more.

    Raises
    ------
    NumericalFailure
        If the posterior is heated beyond what is computed (T = 100).

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.234, pairs=100, rng=np.random.default_rng(0))
    >>> found = posterior_error(Design(12_214, 500, 0.05), trial)
    >>> round(found.sd_ratio, 2), round(found.bias, 2)
    (1.27, 0.0)
    """
    plan, target = as_plan(design), Target.with_skewness(skewness)
    check_same_data(plan, trial)
    if check_dimension(dimension) == 1:
        return _in_one(plan, trial, check_rule(rule), target)
    return _in_many(plan, trial, check_rule(rule), target, dimension)


def tolerance_for(
    trial: TrialRun,
    sd_inflation: float,
    m: int | None = None,
    rule: Rule = "metropolis",
    *,
    alpha: float = 0.5,
    dimension: int | None = None,
    skewness: float = 0.0,
) -> Wish:
    """Which Delta* keeps the posterior's standard deviations within a factor 1 + `sd_inflation`.

    The largest epsilon of the tests with batches of `m` that does so, and its mean |Delta| on the trial run's pairs:
    the tolerance to ask `search` for. Another m has nearly the same tolerance.

    Parameters
    ----------
    trial
        Pairs of a random walk.
    sd_inflation
        0.05 for standard deviations at most 5% too large.
    m, alpha
        Of the tests; m is 500 by default, less for small N.
    rule, dimension, skewness
        As for `posterior_error`.

    Returns
    -------
    Wish
        The tolerance, the test and what it does.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.234, pairs=100, rng=np.random.default_rng(0))
    >>> wish = tolerance_for(trial, sd_inflation=0.05)
    >>> round(wish.error.sd_ratio, 3), round(wish.tolerance, 3)
    (1.05, 0.014)
    """
    most, m = real("sd_inflation", sd_inflation, 1e-6, 10.0), usual_batch(trial.n_data) if m is None else m
    known: dict[float, PosteriorError] = {}

    def excess(log_epsilon: float) -> float:
        test = _test(trial, m, log_epsilon, alpha)
        try:
            known[log_epsilon] = posterior_error(test, trial, rule, dimension=dimension, skewness=skewness)
        except NumericalFailure:  # too hot to be computed
            return math.inf
        return known[log_epsilon].sd_ratio - 1.0 - most

    low, high = math.log(1e-9), math.log(0.5)
    for end in np.linspace(high, low, 12).tolist():  # the largest: the inflation need not grow all the way
        if excess(end) <= 0.0:
            low = end
            break
        high = end
    else:
        raise BadInput(f"sd_inflation = {sd_inflation:g}: not met with m = {m:,} and any ε from 1e-9 on")
    if low < high:
        low = _last_below(excess, low, high)
    return Wish(known[low].mean_abs_delta, _test(trial, m, low, alpha), known[low], 1.0 + most)


def inflation_curve(
    trial: TrialRun,
    m: int,
    rule: Rule = "metropolis",
    *,
    dimension: int | None = None,
    points: int = 12,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[list[float], list[PosteriorError]]:
    """`posterior_error` over epsilon, for a figure; without those that heat the posterior beyond what is computed."""
    epsilons, errors = [], []
    for number, epsilon in enumerate(np.geomspace(1e-3, 0.5, points).tolist(), start=1):
        if cancelled is not None and cancelled():
            raise Cancelled
        with suppress(NumericalFailure):
            errors.append(posterior_error(_test(trial, m, math.log(epsilon), 0.5), trial, rule, dimension=dimension))
            epsilons.append(epsilon)
        if progress is not None:
            progress(number, points)
    return epsilons, errors


def _test(trial: TrialRun, m: int, log_epsilon: float, alpha: float) -> Design:
    return Design(trial.n_data, m, min(math.exp(log_epsilon), 0.5), alpha)


def _last_below(excess: Callable[[float], float], low: float, high: float, steps: int = 14) -> float:
    """By bisection: a point where `excess` is not positive, close to one where it is."""
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if excess(middle) <= 0.0:
            low = middle
        else:
            high = middle
    return low


def check_dimension(dimension: int | None) -> int | None:
    """The number of parameters, if it is one; None stands for many."""
    return None if dimension is None else integer("dimension", dimension, 1, MOST_PARAMETERS)


class Heated(NamedTuple):
    """What a test makes of a walk on several parameters: temperature, acceptance, error of sqrt(T), single steps."""

    temperature: float
    rate: float
    estimate: float
    steps: Acceptance


def heated(
    design: Design | Plan,
    trial: TrialRun,
    rule: Rule = "metropolis",
    *,
    dimension: int | None = None,
    points: int = POINTS,
) -> Heated:
    """The temperature of the posterior that a walk samples, and the test at the trial run's pairs."""
    plan, barker, known = as_plan(design), check_rule(rule) == "barker", check_dimension(dimension)
    check_same_data(plan, trial)
    temperature, rate = _temperature(plan, trial, barker, known, _Fineness(KAPPAS, points, SPACING))
    rough, _ = _temperature(plan, trial, barker, known, _Fineness(KAPPAS // 2, points // 2 + 1, 2.0 * SPACING))
    estimate = abs(math.sqrt(rough) - math.sqrt(temperature))
    if not estimate <= UNSURE * math.sqrt(temperature):
        raise NumericalFailure(f"the numerical error of the standard deviations would be {estimate:.1g}")
    return Heated(temperature, rate, estimate, acceptance(plan, trial, rule, 1e-7))


def _in_many(plan: Plan, trial: TrialRun, rule: Rule, target: Target, dimension: int | None) -> PosteriorError:
    found = heated(plan, trial, rule, dimension=dimension)
    mean, sd = target.tempered(found.temperature)
    away, error = _tempered_distance(target, found.temperature), found.steps.mean_abs_delta
    return PosteriorError(mean, sd, away, found.temperature, found.rate, error, 1.0, 1.0, found.estimate)


class _Steps(NamedTuple):
    """Steps that stand for a walk's: their lengths over the root mean square, their kappa, and their weights."""

    lengths: Floats
    kappa: Floats
    weights: Floats


def _steps(trial: TrialRun, dimension: int | None, spacing: float) -> _Steps:
    """By quantiles; kappa rises with the length: both are taken at the same. In many dimensions lengths agree."""
    levels, weights = quantile_levels(spacing)
    if dimension is None and spanning(trial.kappa).size == 1:  # all steps are alike
        levels, weights = np.array([0.5]), np.array([1.0])
    lengths = np.ones(levels.size)
    if dimension is not None:
        lengths = np.sqrt(2.0 * scipy.special.gammaincinv(0.5 * dimension, levels) / dimension)
    return _Steps(lengths, np.asarray(np.quantile(trial.kappa, levels)), weights)


class _Fineness(NamedTuple):
    """How many kappa and A a table has, and how far apart the quantiles are that stand for a walk's steps."""

    kappas: int
    points: int
    spacing: float


def _walk_scale(rate: float, steps: _Steps, barker: bool) -> float:
    """The k of a step of length 1, so that A ~ N(-k²/2, k²) are accepted at this rate."""
    z, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / w.sum()

    def excess(log_k: float) -> float:
        k = math.exp(log_k) * steps.lengths
        if not barker:  # 2 Phi(-k/2), as in `TrialRun.at_stationarity`
            return float(steps.weights @ scipy.special.erfc(k / math.sqrt(8.0))) - rate
        accepted = exact_probability(k[:, None] * z - 0.5 * k[:, None] ** 2, True) @ w
        return float(steps.weights @ accepted) - rate

    low, high = math.log(1e-6), math.log(60.0)
    if excess(low) <= 0.0 or excess(high) >= 0.0:
        raise never_met(rate)
    return math.exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-12)))


def _temperature(
    plan: Plan, trial: TrialRun, barker: bool, dimension: int | None, fineness: _Fineness
) -> tuple[float, float]:
    """The T with E[A P(A)] = 0 for A ~ N(-k²/2, k² T), and E[P] there: the chain's temperature and acceptance rate.

    Steps from draws of N(0, T) have such log ratios; |theta|² changes by -2 A when a step is accepted, and the chain
    settles where that neither grows nor shrinks.
    """
    steps = _steps(trial, dimension, fineness.spacing)
    k = steps.lengths * _walk_scale(mean_acceptance(trial, "barker" if barker else "metropolis"), steps, barker)
    table = tabulate(plan, spanning(trial.kappa, fineness.kappas), barker, fineness.points)
    accepted = table.at(steps.kappa)
    step = table.width * np.cosh(table.y)  # dA / dy
    square = (k**2)[:, None]

    def means(log_t: float) -> tuple[float, float]:
        power = -0.5 * (table.a + 0.5 * square) ** 2 / (square * math.exp(log_t))
        density = np.exp(power - power.max(axis=1, keepdims=True)) * step  # or that of long steps would vanish
        taken = accepted * density / density.sum(axis=1, keepdims=True)
        return float(steps.weights @ (taken @ table.a)), float(steps.weights @ taken.sum(axis=1))

    low, high = math.log(0.05), math.log(HOTTEST)
    if means(low)[0] >= 0.0 or means(high)[0] <= 0.0:
        raise NumericalFailure(f"this test heats the posterior beyond a temperature of {HOTTEST:g}")
    log_t = float(scipy.optimize.brentq(lambda x: means(x)[0], low, high, xtol=1e-12))
    return math.exp(log_t), means(log_t)[1]


class Marginals(NamedTuple):
    """Densities of one parameter, for a figure: exact, and as a chain with a test samples it."""

    x: Floats
    exact: Floats
    sampled: Floats


def marginals(temperature: float, skewness: float = 0.0, points: int = 201) -> Marginals:
    """Of a parameter of this skewness when the posterior is taken to the power 1 / temperature."""
    target = Target.with_skewness(skewness)
    x = np.linspace(-4.0, 4.0, points) * max(1.0, target.tempered(temperature).sd)
    return Marginals(x, np.exp(target.log_density(x)), np.exp(target.log_tempered(x, temperature)))


def _tempered_distance(target: Target, temperature: float) -> float:
    """Total variation between a marginal and its power 1 / T."""
    end = SDS * max(1.0, target.tempered(temperature).sd)
    x, dx = np.linspace(-end, end, 8001, retstep=True)
    apart = np.abs(np.exp(target.log_density(x)) - np.exp(target.log_tempered(x, temperature)))
    return float(0.5 * apart.sum() * dx)


def _in_one(plan: Plan, trial: TrialRun, rule: Rule, target: Target) -> PosteriorError:
    walk = ErringWalk.like(plan, trial, rule == "barker", target)
    found, estimate = settle(walk)
    error, eta = acceptance(plan, trial, rule, 1e-7).mean_abs_delta, walk.contraction()
    bound = 1.0 if eta >= 1.0 else stationary_bound(min(walk.table.largest, 1.0), eta)
    return PosteriorError(found.mean, found.sd, found.away, None, found.rate, error, eta, bound, estimate)
