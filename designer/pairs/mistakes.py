"""Mistakes that people make when they record a trial run, recognised by the numbers: one line for each.

A mistake is named only if the pairs cannot be right as they are, and are plausible once it is corrected. Otherwise the
general refusal of `designer.pairs.refusals` stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.pairs.trial_run import TrialRun

MOST_KAPPA, LEAST_KAPPA = 100.0, 1e-3  # of half of the pairs of a plausible trial run
RARE = 100.0  # of so many trial runs of a stationary chain, at most one has a larger A
NEVER = -100.0  # A of proposals that are never accepted, in half of the pairs
FEWEST_DATA = 1_000  # for sums to be told from means
FEWEST = 20  # pairs, for a judgement by their balance
CLEARLY, HARDLY = 6.0, 3.0  # standard errors from balance that tell, and that do not
ALIKE = 30.0  # A and κ of a plausible chain differ by at most this factor


class _Mistake(NamedTuple):
    """What was written instead of what, and how it is put right."""

    line: str
    corrected: Callable[[TrialRun], TrialRun | None]
    related: bool = True  # whether A and κ must be alike once it is corrected


def likely_mistake(trial: TrialRun) -> str | None:
    """The mistake that explains pairs which cannot be right as they are; None if none does.

    Examples
    --------
    >>> right = TrialRun.at_stationarity(10_000, 0.5, 50, np.random.default_rng(1))
    >>> likely_mistake(TrialRun(10_000, 10_000 * right.mu, right.sigma)).partition(":")[0]
    'mu looks like the sum of the lᵢ, not their mean'
    """
    for mistake in _MISTAKES:
        corrected = mistake.corrected(trial)
        if corrected is not None and plausible(corrected, related=mistake.related):
            return mistake.line
    return None


def impossible(trial: TrialRun) -> bool:
    """Whether no chain at its posterior has such pairs, or accepts none of them."""
    a, kappa = trial.log_acceptance, float(np.median(trial.kappa))
    return bool(a.max() > math.log(RARE * len(trial)) or kappa > MOST_KAPPA or np.median(a) < NEVER)


def plausible(trial: TrialRun, *, related: bool = True) -> bool:
    """Whether a chain at its posterior may have such pairs; if `related`, with A as large as its noise scale suggests.

    With control variates A and κ are not related: A is that of all lᵢ, κ that of the residuals.
    """
    if impossible(trial) or not balanced(trial.log_acceptance):
        return False
    kappa, size = float(np.median(trial.kappa)), float(np.median(np.abs(trial.log_acceptance)))
    alike = kappa / ALIKE <= size <= ALIKE * (kappa + kappa**2)
    return not related or (alike and kappa >= LEAST_KAPPA)


def _divided(mu_power: float, sigma_power: float) -> Callable[[TrialRun], TrialRun | None]:
    """Both columns divided by powers of N; of few data, sums and means differ too little to tell.

    A sigma that can be right is left alone: a burn-in must not pass for sums.
    """

    def corrected(trial: TrialRun) -> TrialRun | None:
        n, absurd = float(trial.n_data), bool(np.median(trial.kappa) > MOST_KAPPA)
        if n < FEWEST_DATA or absurd != (sigma_power > 0.0):
            return None
        return _with(trial, trial.mu / n**mu_power, trial.sigma / n**sigma_power)

    return corrected


def _swapped(trial: TrialRun) -> TrialRun | None:
    return _with(trial, trial.sigma, trial.mu) if np.all(trial.mu > 0.0) else None


def _other_sign(trial: TrialRun) -> TrialRun | None:
    return _with(trial, trial.mu, trial.sigma, -1.0) if np.any(trial.log_ratio != 0.0) else None


def _with(trial: TrialRun, mu: Floats, sigma: Floats, sign: float = 1.0) -> TrialRun | None:
    """The trial run with other columns; None if they are not allowed."""
    try:
        return TrialRun(trial.n_data, mu, sigma, sign * trial.log_ratio, trial.skew)
    except BadInput:
        return None


_MISTAKES = (
    _Mistake(
        "log_ratio has the wrong sign: c = log[prior(θ) q(θ'|θ) / (prior(θ') q(θ|θ'))] is minus the usual log ratio; "
        "with the other sign these pairs are plausible",
        _other_sign,
        related=False,
    ),
    _Mistake("mu and sigma look swapped: exchanged, these pairs are plausible", _swapped),
    _Mistake(
        "mu looks like the sum of the lᵢ, not their mean: divide it by N; then these pairs are plausible. If mu is the "
        "mean, they were taken in the burn-in: record later",
        _divided(1.0, 0.0),
    ),
    _Mistake(
        "mu and sigma look like sums over the data: mu is the mean of the lᵢ and sigma their standard deviation, not "
        "that of their sum; with mu / N and sigma / √N these pairs are plausible",
        _divided(1.0, 0.5),
    ),
    _Mistake(
        "mu and sigma look like N times what they should be: mu is the mean of the lᵢ, sigma their standard deviation; "
        "divide both by N; then these pairs are plausible",
        _divided(1.0, 1.0),
    ),
    _Mistake(
        "sigma looks like the standard deviation of the sum of the lᵢ, not of the lᵢ: divide it by √N; then these "
        "pairs are plausible",
        _divided(0.0, 0.5),
    ),
)


def odd_pairs(trial: TrialRun) -> str | None:
    """The mistake that pairs seem to have which are not refused: proposals that are never accepted, or a wrong sign.

    Examples
    --------
    >>> odd_pairs(TrialRun.at_stationarity(10_000, 0.5, 50, np.random.default_rng(1))) is None
    True
    """
    return likely_mistake(trial) if impossible(trial) else sign_remark(trial)


def sign_remark(trial: TrialRun) -> str | None:
    """That log_ratio seems to have the wrong sign, where A alone is not impossible; None if it does not seem so.

    At the posterior of a reversible chain P(A > 0) = E[exp(A); A < 0], whatever the proposal. Pairs that miss this by
    far, and meet it with the other sign of c, have the wrong one.

    Examples
    --------
    >>> sign_remark(TrialRun.at_stationarity(10_000, 0.5, 50, np.random.default_rng(1))) is None
    True
    """
    if len(trial) < FEWEST or not np.any(trial.log_ratio != 0.0):
        return None
    flipped = trial.n_data * trial.mu + trial.log_ratio
    if abs(_imbalance(trial.log_acceptance)) < CLEARLY or not balanced(flipped):
        return None
    return (
        "log_ratio seems to have the wrong sign: as given, these are not pairs of a chain at its posterior; with the "
        "other sign they are (c is minus the usual log ratio of priors and proposals)"
    )


def balanced(a: Floats) -> bool:
    """Whether these A may be those of a chain at its posterior, up to chance; few pairs always may."""
    return a.size < FEWEST or abs(_imbalance(a)) <= HARDLY


def _imbalance(a: Floats) -> float:
    """Standard errors by which P(A > 0) differs from E[exp(A); A < 0]."""
    s = np.where(a > 0.0, 1.0, np.where(a < 0.0, -np.exp(np.minimum(a, 0.0)), 0.0))
    se = float(s.std(ddof=1)) / math.sqrt(s.size)
    return float(s.mean()) / max(se, 0.25 / s.size)
