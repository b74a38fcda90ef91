"""Acceptance probabilities with the errors of a test, P_a + Δ(A, κ), tabulated for whole chains."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from designer.core.arrays import Floats
from designer.engine.curves import Curves, curves, integrate
from designer.engine.step_error import Rule, exact_probability
from designer.pairs.trial_run import TrialRun
from designer.rule.plan import Plan

KAPPAS = 16  # in a table, between which acceptance probabilities are interpolated
SPACING, FARTHEST = 0.05, 6.5  # of the normal variable whose levels define the quantiles
POINTS = 201  # values of A in a table; odd, so that 0 is one of them
CERTAIN = 40.0  # log u is above -CERTAIN
TOLERANCE = 1e-8  # of the engine's curves


class AcceptanceTable(NamedTuple):
    """P_a + Δ of one test at some values of A (rising, odd in number, 0 in the middle) for some κ (rising)."""

    kappa: Floats
    a: Floats
    y: Floats  # a = width sinh(y), y evenly spaced
    width: float
    probability: Floats  # κ x a
    largest: float  # |Δ|

    def at(self, kappa: Floats) -> Floats:
        """Rows for other values of κ, interpolated in its logarithm."""
        if self.kappa.size == 1:
            return np.repeat(self.probability, kappa.size, axis=0)
        spline = scipy.interpolate.CubicSpline(np.log(self.kappa), self.probability, axis=0)
        return np.asarray(np.clip(spline(np.log(kappa)), 0.0, 1.0))


def table_curves(plan: Plan, kappa: Floats) -> Curves:
    """The engine's curves, as far out as tables for these κ need them."""
    return curves(plan, float(CERTAIN / kappa.min()) + 1e3, TOLERANCE)


def tabulate(curve: Curves, kappa: Floats, barker: bool, points: int = POINTS) -> AcceptanceTable:
    """The engine's Δ on a grid that is fine where |A| is small, on the scale of the smallest κ."""
    far = CERTAIN + float(kappa.max()) * float(curve.edges[-1])
    width = 0.5 * float(min(kappa.min(), 2.0))
    y = np.linspace(-1.0, 1.0, points) * math.asinh(far / width)
    a = width * np.sinh(y)
    pairs = np.repeat(kappa, a.size), np.tile(a, kappa.size)
    delta = integrate(curve, pairs[1], pairs[0], barker)[0].reshape(kappa.size, a.size)
    return AcceptanceTable(kappa, a, y, width, exact_probability(a, barker) + delta, float(np.abs(delta).max()))


def spanning(kappa: Floats, size: int = KAPPAS) -> Floats:
    """Values of κ from the smallest to the largest, evenly spaced in the logarithm; one if all are equal."""
    low, high = float(kappa.min()), float(kappa.max())
    return np.array([low]) if high <= low * (1.0 + 1e-9) else np.geomspace(low, high, size)


def quantile_levels(step: float = SPACING) -> tuple[Floats, Floats]:
    """Levels p and weights, so that a mean over a distribution is the weighted sum over its quantiles at p.

    p is the distribution function of a normal variable, evenly spaced: quantiles of lengths and of κ are smooth in
    it, up to the steps of a sample's quantiles.

    Examples
    --------
    >>> levels, weights = quantile_levels()
    >>> round(float(weights @ -np.log1p(-levels)), 6)  # the mean of an exponential variable
    1.0
    """
    half = np.arange(step, FARTHEST, step)
    y = np.concatenate([-half[::-1], [0.0], half])
    w = np.exp(-0.5 * y * y)
    return np.asarray(scipy.special.ndtr(y)), w / w.sum()


def mean_acceptance(trial: TrialRun, rule: Rule = "metropolis") -> float:
    """The acceptance rate of the exact chain, over the trial run's pairs."""
    return float(exact_probability(trial.log_acceptance, rule == "barker").mean())
