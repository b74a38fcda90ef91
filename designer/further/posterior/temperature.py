"""The temperature at which a random walk with errors samples a posterior of several parameters (docs/posterior.md)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from designer.core.arrays import Floats
from designer.core.errors import NumericalFailure, integer
from designer.engine.curves import Curves
from designer.engine.step_error import Acceptance, Rule, acceptance, check_rule, check_same_data, exact_probability
from designer.further.posterior.acceptance_table import (
    KAPPAS,
    POINTS,
    SPACING,
    mean_acceptance,
    quantile_levels,
    spanning,
    table_curves,
    tabulate,
)
from designer.further.posterior.stationary_1d import UNSURE, never_met
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan

MOST_PARAMETERS = 10**9
HOTTEST = 100.0  # largest temperature that is computed


class EffectiveTemperature(NamedTuple):
    """Temperature T of the posterior that a walk with a test samples, its acceptance rate, the numerical error of √T.

    `steps` evaluates the test on the trial run's pairs.
    """

    temperature: float
    rate: float
    estimate: float
    steps: Acceptance


def effective_temperature(
    design: Design | Plan,
    trial: TrialRun,
    rule: Rule = "metropolis",
    *,
    dimension: int | None = None,
    points: int = POINTS,
) -> EffectiveTemperature:
    """The temperature of the posterior that a walk with a test samples, on several parameters."""
    plan, barker, known = as_plan(design), check_rule(rule) == "barker", check_dimension(dimension)
    check_same_data(plan, trial)
    curve = table_curves(plan, trial.kappa)
    temperature, rate = _temperature(curve, trial, barker, known, _Fineness(KAPPAS, points, SPACING))
    rough, _ = _temperature(curve, trial, barker, known, _Fineness(KAPPAS // 2, points // 2 + 1, 2.0 * SPACING))
    estimate = abs(math.sqrt(rough) - math.sqrt(temperature))
    if not estimate <= UNSURE * math.sqrt(temperature):
        raise NumericalFailure(f"the standard deviations have a numerical error of {estimate:.1g}, too much to report")
    return EffectiveTemperature(temperature, rate, estimate, acceptance(plan, trial, rule, 1e-7))


def check_dimension(dimension: int | None) -> int | None:
    """The number of parameters, or BadInput; None stands for many."""
    return None if dimension is None else integer("dimension", dimension, 1, MOST_PARAMETERS)


class _Steps(NamedTuple):
    """Representative steps of a walk: lengths relative to the root mean square, κ, and weights."""

    lengths: Floats
    kappa: Floats
    weights: Floats


def _steps(trial: TrialRun, dimension: int | None, spacing: float) -> _Steps:
    """Steps at quantiles, the same for κ and the length. In many dimensions all lengths agree."""
    levels, weights = quantile_levels(spacing)
    if dimension is None and spanning(trial.kappa).size == 1:  # all steps are equal
        levels, weights = np.array([0.5]), np.array([1.0])
    lengths = np.ones(levels.size)
    if dimension is not None:
        lengths = np.sqrt(2.0 * scipy.special.gammaincinv(0.5 * dimension, levels) / dimension)
    return _Steps(lengths, np.asarray(np.quantile(trial.kappa, levels)), weights)


class _Fineness(NamedTuple):
    """The number of κ and A in a table, and the spacing of the quantiles that represent a walk's steps."""

    kappas: int
    points: int
    spacing: float


def _walk_scale(rate: float, steps: _Steps, barker: bool) -> float:
    """The k of a step of length 1, so that A ~ N(-k²/2, k²) are accepted at this rate."""
    z, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / w.sum()

    def excess(log_k: float) -> float:
        k = math.exp(log_k) * steps.lengths
        if not barker:  # 2 Φ(-k/2), as in `TrialRun.at_stationarity`
            return float(steps.weights @ scipy.special.erfc(k / math.sqrt(8.0))) - rate
        accepted = exact_probability(k[:, None] * z - 0.5 * k[:, None] ** 2, True) @ w
        return float(steps.weights @ accepted) - rate

    low, high = math.log(1e-6), math.log(60.0)
    if excess(low) <= 0.0 or excess(high) >= 0.0:
        raise never_met(rate)
    return math.exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-12)))


def _temperature(
    curve: Curves, trial: TrialRun, barker: bool, dimension: int | None, fineness: _Fineness
) -> tuple[float, float]:
    """The T with E[A P(A)] = 0 for A ~ N(-k²/2, k² T), and E[P] there: the chain's temperature and acceptance rate.

    Steps from draws of N(0, T) have such log ratios; |θ|² changes by -2 A when a step is accepted, and the chain
    settles where that neither grows nor shrinks.
    """
    steps = _steps(trial, dimension, fineness.spacing)
    k = steps.lengths * _walk_scale(mean_acceptance(trial, "barker" if barker else "metropolis"), steps, barker)
    table = tabulate(curve, spanning(trial.kappa, fineness.kappas), barker, fineness.points)
    accepted = table.at(steps.kappa)
    step = table.width * np.cosh(table.y)  # dA / dy
    square = (k**2)[:, None]

    def means(log_t: float) -> tuple[float, float]:
        power = -0.5 * (table.a + 0.5 * square) ** 2 / (square * math.exp(log_t))
        density = np.exp(power - power.max(axis=1, keepdims=True)) * step  # or long steps would underflow
        taken = accepted * density / density.sum(axis=1, keepdims=True)
        return float(steps.weights @ (taken @ table.a)), float(steps.weights @ taken.sum(axis=1))

    low, high = math.log(0.05), math.log(HOTTEST)
    if means(low)[0] >= 0.0 or means(high)[0] <= 0.0:
        raise NumericalFailure(f"this test heats the posterior beyond a temperature of {HOTTEST:g}")
    log_t = float(scipy.optimize.brentq(lambda x: means(x)[0], low, high, xtol=1e-12))
    return math.exp(log_t), means(log_t)[1]
