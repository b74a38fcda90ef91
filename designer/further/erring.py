"""Acceptance probabilities with the errors of a test, P_a + Delta(A, kappa), tabulated for whole chains."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from designer.acceptance import Rule, curves, exact_probability, integrate
from designer.plan import Plan
from designer.records import TrialRun
from designer.schedule import Floats

LEVELS = 24  # at which the quantiles of a distribution stand for it
NOTHING = 1e-12  # a weight
POINTS = 201  # of A in a table, odd: 0 is one of them
CERTAIN = 40.0  # log u is above -CERTAIN
TOLERANCE = 1e-8  # of the engine's curves


class Table(NamedTuple):
    """P_a + Delta of one test at some values of A (rising, odd in number, 0 in the middle) for some kappa."""

    a: Floats
    y: Floats  # a = width sinh(y), y evenly spaced
    width: float
    probability: Floats  # kappa x a
    largest: float  # |Delta|


def tabulate(plan: Plan, kappa: Floats, barker: bool, points: int = POINTS) -> Table:
    """The engine's Delta on a grid that is fine where |A| is small, on the scale of the smallest kappa."""
    reach = float(CERTAIN / kappa.min()) + 1e3
    curve = curves(plan, reach, TOLERANCE)
    far = CERTAIN + float(kappa.max()) * float(curve.edges[-1])
    width = 0.5 * float(min(kappa.min(), 2.0))
    y = np.linspace(-1.0, 1.0, points) * math.asinh(far / width)
    a = width * np.sinh(y)
    pairs = np.repeat(kappa, a.size), np.tile(a, kappa.size)
    delta = integrate(curve, pairs[1], pairs[0], barker)[0].reshape(kappa.size, a.size)
    return Table(a, y, width, exact_probability(a, barker) + delta, float(np.abs(delta).max()))


def quantile_levels(size: int = LEVELS) -> tuple[Floats, Floats]:
    """Levels p and weights, so that a mean over a distribution is the weighted sum over its quantiles at p.

    A Gauss rule in the normal variable whose distribution function is p: quantiles of lengths and of kappa are smooth
    in it, and have no ends.

    Examples
    --------
    >>> levels, weights = quantile_levels()
    >>> round(float(weights @ -np.log1p(-levels)), 6)  # the mean of an exponential variable
    1.0
    """
    y, w = np.polynomial.hermite_e.hermegauss(size)
    known = w > NOTHING * w.sum()
    return np.asarray(ndtr(y[known])), w[known] / w[known].sum()


def mean_acceptance(trial: TrialRun, rule: Rule = "metropolis") -> float:
    """The acceptance rate of the exact chain, over the trial run's pairs."""
    return float(exact_probability(trial.log_acceptance, rule == "barker").mean())
