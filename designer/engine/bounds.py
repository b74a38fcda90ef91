"""Bounds that assume little: on what a chain with errors samples (K14 Theorems 1 and 4), and on Δ of a single look."""

from __future__ import annotations

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import integer, real
from designer.engine.step_error import Rule, check_rule, check_same_data, exact_probability
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan


def stationary_bound(delta_max: float, eta: float) -> float:
    """Bound on the total variation distance between a chain with errors and the exact one (K14 Theorem 1).

    Parameters
    ----------
    delta_max
        Largest |Δ| of any pair.
    eta
        Contraction coefficient of the exact chain, in [0, 1).

    Returns
    -------
    float
        delta_max / (1 - η), at most 1.

    Examples
    --------
    >>> stationary_bound(0.01, 0.75)
    0.04
    """
    delta_max, eta = real("delta_max", delta_max, 0.0, 1.0), real("eta", eta, 0.0, 1.0, open_high=True)
    return min(1.0, delta_max / (1.0 - eta))


def sweep_bound(delta_max: float, eta: float, sites: int) -> float:
    """The bound of `stationary_bound` for sweeps of Gibbs updates (K14 Theorem 4).

    The printed theorem lacks the factor `sites`: it fails for independent fair bits, where η = 0.

    Parameters
    ----------
    delta_max
        Largest error of any conditional probability.
    eta
        Dobrushin coefficient of a whole sweep, in [0, 1).
    sites
        Number of variables that a sweep updates.

    Returns
    -------
    float
        sites · delta_max / (1 - η), at most 1.

    Examples
    --------
    >>> sweep_bound(0.001, 0.5, sites=100)
    0.2
    """
    delta_max, eta = real("delta_max", delta_max, 0.0, 1.0), real("eta", eta, 0.0, 1.0, open_high=True)
    return min(1.0, integer("sites", sites, 1, 10**15) * delta_max / (1.0 - eta))


def takes_one_look(design: Design | Plan) -> bool:
    """Whether the first look always decides, by the sign of the mean: ε = 0.5."""
    plan = as_plan(design)
    if plan.schedule.size == 1:
        return True
    lower, upper = plan.boundary.at(np.zeros(1, dtype=np.int64), np.array([plan.schedule.m / plan.schedule.n_data]))
    return bool(lower[0] == 0.0 == upper[0])


def one_look_bound(design: Design | Plan, trial: TrialRun, rule: Rule = "metropolis") -> Floats:
    """Bound on |Δ| of each pair for a test that takes one look, whatever the distribution of the lᵢ.

    Parameters
    ----------
    design
        A test with ε = 0.5.
    trial
        The pairs.
    rule
        "metropolis" or "barker".

    Returns
    -------
    array
        One bound per pair; infinite if the test may take more than one look.

    Notes
    -----
    The mini-batch estimates A with an error X of mean 0 and standard deviation κ' = κ √((N - m)/m), exactly. Of all X
    with these moments, none gives a larger |E F(A + X) - F(A)| than (docs/small_batches.md derives it), with
    r = ½ (√(κ'² + A²) - |A|) >= E max(X - |A|, 0):

        A >= 0:  r;      A < 0:  max(e^A r, min(κ'/2, κ'² (1 - e^A (1 - A)) / A²));      Barker: min(κ'/8, κ'²/(12 √3))

    and never more than max(P_a, 1 - P_a).

    Examples
    --------
    >>> trial = TrialRun(1_000_000, mu=[-1e-7, 1e-7], sigma=[1e-6, 1e-6])
    >>> one_look_bound(Design(1_000_000, 100, 0.5), trial).round(4)
    array([0.0187, 0.0207])
    """
    plan = as_plan(design)
    check_same_data(plan, trial)
    n_data, m, a = plan.schedule.n_data, plan.schedule.m, trial.log_acceptance
    barker = check_rule(rule) == "barker"
    if not takes_one_look(plan):
        return np.full(len(trial), np.inf)
    if plan.schedule.size == 1:
        return np.zeros(len(trial))
    noise = trial.kappa * np.sqrt((n_data - m) / m)
    probability = exact_probability(a, barker)
    most = np.maximum(probability, 1.0 - probability)
    if barker:
        return np.asarray(np.minimum(np.minimum(noise / 8.0, noise**2 / (12.0 * np.sqrt(3.0))), most))
    size = np.abs(a)
    beyond = 0.5 * noise**2 / (np.hypot(noise, size) + size)
    # (1 - e^-x (1 + x)) / x², with its series where the difference cancels
    safe = np.maximum(size, 1e-4)
    curved = np.where(size > 1e-4, -(np.expm1(-safe) + safe * np.exp(-safe)) / safe**2, 0.5 - size / 3.0)
    rising = np.minimum(0.5 * noise, noise**2 * curved)
    return np.asarray(np.minimum(np.where(a >= 0.0, beyond, np.maximum(np.exp(-size) * beyond, rising)), most))
