"""Pairs at stationarity: the proposals of a random walk when only κ is known.

If θ is a draw from π and the proposal is symmetric, A = log[π(θ') / π(θ)] satisfies E e^A = 1. If A is also nearly
normal with standard deviation κ, it must be A ~ N(-κ²/2, κ²) (`docs/no_trial_run.md` derives this and says when
sd(A) is κ).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import scipy  # its parts are loaded when they are used

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real

LEAST_ACCEPTANCE = 1e-6
MOST_SPREAD = 3.0  # of log κ; beyond, the largest κ exceed the median more than a thousandfold
HALVINGS = 200


def acceptance_at(kappa: Floats) -> Floats:
    """Mean acceptance of pairs with this κ: E min(1, e^A) = 2 Φ(-κ / 2).

    e^A tilts the density of A to N(κ²/2, κ²), so E min(1, e^A) = P(A > 0) + P(N(κ²/2, κ²) < 0).
    """
    mean: Floats = 2.0 * scipy.special.ndtr(-0.5 * kappa)
    return mean


def kappa_at(acceptance: float) -> float:
    """The κ with this mean acceptance.

    Examples
    --------
    >>> round(kappa_at(0.234), 3)  # the optimum of a random walk in many dimensions (Roberts, Gelman and Gilks 1997)
    2.38
    """
    return -2.0 * NormalDist().inv_cdf(_checked(acceptance) / 2.0)


def scale_to(kappa: Floats, acceptance: float) -> float:
    """The factor for all steps, and so for all κ, that gives this mean acceptance over the pairs.

    Examples
    --------
    >>> round(scale_to(np.array([2.0, 2.0]), 0.234), 3)
    1.19
    """
    acceptance = _checked(acceptance)
    if kappa.size == 0 or not (np.all(np.isfinite(kappa)) and np.all(kappa > 0.0)):
        raise BadInput("kappa: must be positive numbers")
    one = kappa_at(acceptance)
    low, high = one / float(kappa.max()), one / float(kappa.min())  # all pairs accept more, or less
    for _ in range(HALVINGS):
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (middle, high) if float(acceptance_at(middle * kappa).mean()) > acceptance else (low, middle)
    return low


def spread_kappa(rng: np.random.Generator, acceptance: float, pairs: int, spread: float = 0.0) -> Floats:
    """κ of `pairs` pairs with this mean acceptance; log κ is normal with standard deviation `spread`."""
    spread = real("spread", spread, 0.0, MOST_SPREAD)
    if spread == 0.0:
        return np.full(pairs, kappa_at(acceptance))
    kappa = np.exp(spread * rng.standard_normal(pairs))
    stretched: Floats = scale_to(kappa, acceptance) * kappa
    return stretched


def log_acceptance_at(rng: np.random.Generator, kappa: Floats) -> Floats:
    """A ~ N(-κ²/2, κ²) for each pair."""
    return rng.normal(-(kappa**2) / 2.0, kappa)


def _checked(acceptance: float) -> float:
    return real("acceptance", acceptance, LEAST_ACCEPTANCE, 1.0 - LEAST_ACCEPTANCE)
