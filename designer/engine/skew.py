"""The effect of skewed lᵢ on a sequential test, to first order, which the normal theory misses.

The effect is linear in the skewness γ: error(μ_std) = error_0 + γ error_1, and so on, with curves error_1,
usage_1 and looks_1 that one pass of an extended recursion gives for all drifts (`_skew_kernels`). `in_range` says
where γ / √m is small enough for the first order to suffice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure
from designer.engine import _skew_kernels
from designer.engine.look_grid import Grid, Resolution
from designer.engine.quadrature import rules
from designer.engine.walk import capped, totals
from designer.pairs.trial_run import TrialRun
from designer.rule.plan import Plan

FINEST = 1e-5  # numerical error of the slopes that is asked for; the second order, which is not computed, is far larger
LARGEST = 0.125  # of |γ| / sqrt(m): verified against the real test up to here (docs/skewness.md)
UNTRIED = 0.3  # the limit for pairs whose decisions are mostly clear
SLACK = 0.004  # largest second-order effect there, on any of the probabilities

Mask = npt.NDArray[np.bool_]


class Slopes(NamedTuple):
    """Derivatives with respect to the skewness, per drift: P(exit below), P(exit above), data use, number of looks."""

    below: Floats
    above: Floats
    usage: Floats
    looks: Floats

    def error(self, mu: Floats) -> Floats:
        """Derivative of the probability of a wrong decision: acceptance is right when μ > 0."""
        return np.where(mu > 0, self.below, self.above)


def slopes(plan: Plan, mu: Floats, tolerance: float = FINEST) -> Slopes:
    """How exits, data use and looks of a test change per unit of skewness, at each standardised mean."""
    if plan.schedule.size == 1 or mu.size == 0:
        return Slopes(*np.zeros((4, mu.size)))
    symmetric = plan.boundary.symmetric  # then reflecting the lᵢ changes the sign of the skewness and nothing else
    drift, place = np.unique(capped(plan, np.abs(mu) if symmetric else mu), return_inverse=True)
    order = np.argsort(np.abs(drift), kind="stable")
    resolution = Resolution.reaching(max(tolerance, FINEST), plan)
    total = np.empty((5, drift.size))
    total[:, order], _ = totals(plan, drift[order], resolution, False, _run)
    below, above, usage, looks, left = total[:, place] / math.sqrt(plan.schedule.n_data)
    if not np.all(np.abs(below + above + left) <= 1e-3):
        raise NumericalFailure(
            "the effect of skewness could not be computed: probability was lost between looks; take looks at more even "
            "distances (a larger m, or a smaller growth), or leave out the skewness"
        )
    if symmetric:
        below, above = np.where(mu < 0, (-above, -below), (below, above))
        usage, looks = np.where(mu < 0, -usage, usage), np.where(mu < 0, -looks, looks)
    return Slopes(below, above, usage, looks)


def _run(plan: Plan, grid: Grid, mu: Floats, resolution: Resolution) -> Floats:
    """The kernel's totals, per unit of γ / sqrt(N)."""
    total = np.zeros((5, mu.size))
    if grid.n.size:
        given = plan.boundary.at(grid.look, grid.n / plan.schedule.n_data)
        arrays = (grid.root_t, grid.rho, grid.r, grid.lower, grid.upper, grid.low, grid.high, grid.omega, *given)
        scales = (resolution.density, resolution.reach, resolution.decided)
        _skew_kernels.skewed_walk(*arrays, *scales, tuple(rules()), mu, total)
    return total


def worst_effect(plan: Plan, skew: Floats, tolerance: float = FINEST) -> float:
    """The increase of the error at μ_std = 0 by the most skewed pair, on the side where the error grows."""
    slope = slopes(plan, np.zeros(1), tolerance)
    return float(np.abs(skew).max()) * float(np.abs([slope.below, slope.above]).max())


def skew_of(trial: TrialRun) -> Floats:
    """The skewness of every pair, if the trial run records it."""
    if trial.skew is None:
        raise BadInput(
            "skew: the trial run does not record the skewness, which the correction needs; add a column `skew`"
        )
    return trial.skew


def in_range(plan: Plan, skew: Floats, doubt: Floats | float = 1.0) -> Mask:
    """Which pairs the first order is accurate enough for; all of them if all data are read at once.

    The second order is of size γ² / m for those u whose decision the first look leaves open; `doubt` is their
    probability, and below 1 for pairs of small κ.
    """
    if plan.schedule.size == 1:
        return np.ones(skew.size, dtype=np.bool_)
    size = np.abs(skew) / math.sqrt(plan.schedule.m)
    return np.asarray((size * np.sqrt(doubt) <= LARGEST) & (size <= UNTRIED))


def out_of_range(plan: Plan, skew: Floats, inside: Mask) -> str | None:
    """One line about the pairs that the correction does not cover; None if it covers all."""
    if inside.all():
        return None
    m, n_data, most = plan.schedule.m, plan.schedule.n_data, float(np.abs(skew[~inside]).max())
    enough = math.ceil((most / LARGEST) ** 2)
    line = f"{np.count_nonzero(~inside):,} of {skew.size:,} pairs are too skewed for m = {m:,} (up to {most:.3g})"
    advice = f"take m >= {enough:,}, or audit the chain" if m < enough < n_data else "audit the chain"
    return f"{line}, no prediction: {advice}"
