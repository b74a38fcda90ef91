"""What a test does to the posterior: the distribution that a random walk with errors Δ(A, κ) samples.

The target is Gaussian (or has one skewed coordinate), the walk accepts as often as the trial run did, and κ has the
trial run's distribution. In many dimensions the answer is a temperature (docs/posterior.md): the walk samples the
posterior to the power 1 / T, with the T at which the mean of A times the acceptance probability vanishes. In one
dimension it is the stationary distribution of the transition kernel on a grid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.core.work import one_call
from designer.engine.bounds import stationary_bound
from designer.engine.step_error import Rule, acceptance, check_rule, check_same_data
from designer.further.posterior.stationary_1d import WalkWithErrors, settle
from designer.further.posterior.target_density import Target
from designer.further.posterior.temperature import check_dimension, effective_temperature
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan

SDS = 12.0  # width of the compared marginals on either side
WALKS = ("random-walk", "adaptive")  # proposals that this theory is about
LEAST_NOISE = 0.3  # mean of κ² + κ⁴/4 over that of A²: about 1 for random walks without control variates

CERTAINLY = 1e70  # κ that is noise enough, whatever the A; its fourth power is a number


class PosteriorError(NamedTuple):
    """How the posterior that a test samples differs from the exact one, in one coordinate.

    Attributes
    ----------
    bias
        Bias of the mean, in posterior standard deviations.
    sd_ratio
        Ratio of the sampled standard deviation to the exact one.
    total_variation
        Total variation distance between the marginals.
    temperature
        T, where the posterior is sampled to the power 1 / T; None in one dimension, where it is not a power of the
        target.
    acceptance
        Acceptance rate of the chain with errors.
    mean_abs_delta
        Mean |Δ| over the trial run's pairs.
    contraction, theorem_1_bound
        The η of K14 Theorem 1 on the middle 99.9% of the target, and the bound that follows.
    estimate
        A bound on the numerical error of sd_ratio. It includes neither the uncertainty of few pairs nor the error of
        treating the chain's distribution as a power of the target.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.234, pairs=100, rng=np.random.default_rng(0))
    >>> effect = posterior_error(Design(12_214, 500, 0.05), trial)
    >>> round(effect.temperature, 1), effect.total_variation < effect.theorem_1_bound
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


@one_call
def posterior_error(
    design: Design | Plan,
    trial: TrialRun,
    rule: Rule = "metropolis",
    *,
    dimension: int | None = None,
    skewness: float = 0.0,
) -> PosteriorError:
    """Compare the posterior that a random walk with a test samples with the exact one.

    Parameters
    ----------
    design
        The test.
    trial
        Its pairs give the walk's acceptance rate and the distribution of κ.
    rule
        "metropolis" or "barker".
    dimension
        Number of parameters d; None for the limit of many. From two on, the chain's distribution is taken to be the
        target at some temperature (which makes sd_ratio low by up to .015 at d = 2 and d = 5, docs/posterior.md); for
        one it is computed on a grid, without such an assumption.
    skewness
        Skewness of the coordinate. The test's errors heat the posterior; the mean of a symmetric coordinate does not
        move, that of a skewed one does.

    Returns
    -------
    PosteriorError
        Bias, ratio of standard deviations, total variation and more.

    Raises
    ------
    NumericalFailure
        If the posterior is heated beyond what is computed (T = 100).
    BadInput
        If the pairs are not, or may not be, of a random walk: `independent_error` is for independent proposals.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(12_214, acceptance=0.234, pairs=100, rng=np.random.default_rng(0))
    >>> effect = posterior_error(Design(12_214, 500, 0.05), trial)
    >>> round(effect.sd_ratio, 2), round(effect.bias, 2)
    (1.27, 0.0)
    """
    plan, target = as_plan(design), Target.with_skewness(skewness)
    check_same_data(plan, trial)
    check_random_walk(trial)
    if check_dimension(dimension) == 1:
        return _in_one(plan, trial, check_rule(rule), target)
    return _in_many(plan, trial, check_rule(rule), target, dimension)


def check_random_walk(trial: TrialRun) -> None:
    """Refuse pairs that are not of a random walk, or that do not say so and do not look like one.

    At stationarity A ~ N(-κ²/2, κ²) for the steps of a random walk, unless control variates make κ smaller; then the
    pairs may as well come from proxy proposals.
    """
    if trial.proposal in WALKS:
        return
    instead = "for proxy proposals give the chain's config (`austerity posterior --config`, `au.independent_error`)"
    if trial.proposal is not None:
        more = f"; {instead}" if trial.proposal == "proxy" else ""
        raise BadInput(f"the pairs come from {trial.proposal} proposals, the prediction is for random walks{more}")
    kappa = np.minimum(trial.kappa, CERTAINLY)
    noise = float(np.mean(kappa**2 + 0.25 * kappa**4))
    if noise < LEAST_NOISE * (spread := float(np.mean(trial.log_acceptance**2))):
        raise BadInput(
            f"κ² + κ⁴/4 is {noise / spread:.2g} of A² on average; a random walk without control variates has about 1; "
            f"{instead}; if it is a random walk, add the line '# proposal: random-walk' to the file"
        )


def _in_many(plan: Plan, trial: TrialRun, rule: Rule, target: Target, dimension: int | None) -> PosteriorError:
    hot = effective_temperature(plan, trial, rule, dimension=dimension)
    mean, sd = target.tempered(hot.temperature)
    away, error = _tempered_distance(target, hot.temperature), hot.steps.mean_abs_delta
    return PosteriorError(mean, sd, away, hot.temperature, hot.rate, error, 1.0, 1.0, hot.estimate)


class Marginals(NamedTuple):
    """Densities of one parameter for a plot: exact, and as a chain with a test samples it."""

    x: Floats
    exact: Floats
    sampled: Floats


def marginals(temperature: float, skewness: float = 0.0, points: int = 201) -> Marginals:
    """Marginals of a parameter of this skewness when the posterior is taken to the power 1 / temperature."""
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
    law, estimate = settle(walk)
    error, eta = acceptance(plan, trial, rule, 1e-7).mean_abs_delta, walk.contraction()
    bound = 1.0 if eta >= 1.0 else stationary_bound(min(walk.table.largest, 1.0), eta)
    return PosteriorError(law.mean, law.sd, law.away, None, law.rate, error, eta, bound, estimate)
