"""What a test does to the posterior: the distribution that a random walk with errors Δ(A, κ) really samples.

The target is Gaussian (or has one skewed coordinate), the walk accepts as often as the trial run did, and κ has the
trial run's distribution. In many dimensions the answer is a temperature (docs/posterior.md): the walk samples the
posterior to the power 1 / T, with the T at which the mean of A times the acceptance probability vanishes. In one
dimension it is the stationary distribution of the transition kernel on a grid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.engine.bounds import stationary_bound
from designer.engine.step_error import Rule, acceptance, check_rule, check_same_data
from designer.further.posterior.stationary_1d import WalkWithErrors, settle
from designer.further.posterior.target_density import Target
from designer.further.posterior.temperature import check_dimension, effective_temperature
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan

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
        The η of K14 Theorem 1 on the middle 99.9% of the target, and the bound that follows.
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
        Its pairs give the walk's acceptance rate and the distribution of κ.
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


def _in_many(plan: Plan, trial: TrialRun, rule: Rule, target: Target, dimension: int | None) -> PosteriorError:
    found = effective_temperature(plan, trial, rule, dimension=dimension)
    mean, sd = target.tempered(found.temperature)
    away, error = _tempered_distance(target, found.temperature), found.steps.mean_abs_delta
    return PosteriorError(mean, sd, away, found.temperature, found.rate, error, 1.0, 1.0, found.estimate)


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
    walk = WalkWithErrors.like(plan, trial, rule == "barker", target)
    found, estimate = settle(walk)
    error, eta = acceptance(plan, trial, rule, 1e-7).mean_abs_delta, walk.contraction()
    bound = 1.0 if eta >= 1.0 else stationary_bound(min(walk.table.largest, 1.0), eta)
    return PosteriorError(found.mean, found.sd, found.away, None, found.rate, error, eta, bound, estimate)
