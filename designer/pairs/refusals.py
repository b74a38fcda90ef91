"""Pairs that no design can be made for: those of the burn-in, and those whose κ cannot be right."""

from __future__ import annotations

import math

import numpy as np

from designer.core.errors import BadInput
from designer.pairs.mistakes import MOST_KAPPA, RARE, likely_mistake
from designer.pairs.trial_run import TrialRun


def pairs_problem(trial: TrialRun) -> str | None:
    """Why no design can be made for these pairs, in one line; None if nothing speaks against it.

    Examples
    --------
    >>> pairs_problem(TrialRun(10_000, mu=[-1e-4, 0.0], sigma=[0.013, 0.011])) is None
    True
    >>> pairs_problem(TrialRun(10_000, mu=[-1e-4, 0.0276], sigma=[0.013, 0.011])).split(":")[0]
    'pair 2 has A = 276'
    """
    problem = _burn_in(trial) or _absurd_kappa(trial)
    return None if problem is None else likely_mistake(trial) or problem


def check_pairs(trial: TrialRun) -> None:
    """Refuse pairs that no design can be made for.

    Examples
    --------
    >>> check_pairs(TrialRun(10_000, mu=[-1e-4, 0.0], sigma=[0.013, 0.011]))
    """
    if (problem := pairs_problem(trial)) is not None:
        raise BadInput(problem)


def _burn_in(trial: TrialRun) -> str | None:
    """At stationarity P(A > a) <= e^-a, whatever the proposal: A above log(100 pairs) in under 1% of trial runs."""
    a = trial.log_acceptance
    worst, most = int(a.argmax()), math.log(RARE * len(trial))
    if a[worst] <= most:
        return None
    return (
        f"pair {worst + 1:,} has A = {a[worst]:.3g}: a chain that has reached its posterior meets A > {most:.3g} in "
        f"less than 1 of {RARE:g} trial runs of {len(trial):,} pairs, so these were taken in the burn-in (or log_ratio "
        "has the wrong sign); take pairs later in the chain, or start it at the posterior mode"
    )


def _absurd_kappa(trial: TrialRun) -> str | None:
    kappa = float(np.median(trial.kappa))
    if kappa <= MOST_KAPPA:
        return None
    return (
        f"κ is {kappa:.3g} in half of the pairs (must be at most {MOST_KAPPA:g}): κ = N σ / √(N - 1) is the standard "
        "deviation of the log acceptance ratio as estimated from half of the data, and a test would read nearly all "
        "data; sigma must be the standard deviation of the lᵢ, not of their sum, and N the number of data; otherwise "
        "take smaller steps or control variates"
    )
