"""The looks that the recursion of `walk` computes, and how finely.

Looks that cannot stop any drift are skipped; where there are very many, neighbouring looks are merged.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from designer.engine import _walk_kernels
from designer.rule.boundary import threshold
from designer.rule.plan import Plan

WINDOW = 8.5  # standard deviations around a drift's path that hold its mass, to 1e-16
EXACT_LOOKS = 4000  # up to here every look is computed; beyond, looks closer together than THINNED are merged
THINNED = 0.08  # width r between merged looks
MERGE_ERROR = 0.05  # merging at width r costs at most about this times r³ (tests/designer/engine/test_many_looks.py)
ROUGH_LOOKS = 50_000  # the most looks whose bounds or distances change too much from look to look to be merged
MERGED_NODES = 1e-8  # accuracy of the nodes when looks are merged: far below the error of merging
CONTINUITY = 0.5825971579390107  # -zeta(1/2) / sqrt(2 pi): overshoot of a Gaussian walk, in units of its step
DELAY = 0.25  # a walk monitored with step h has decided as much at t as a continuous one at t + h/4


class Resolution(NamedTuple):
    """How finely the walk is computed.

    Nodes per kernel width, the width below which looks are merged, standard deviations after which a normal density is
    cut, and the undecided probability that is neglected.
    """

    density: float
    r_star: float
    reach: float
    decided: float

    @classmethod
    def reaching(cls, tolerance: float, plan: Plan) -> Resolution:
        """Enough for `tolerance`, by the error exp(-8 density²) of Gauss-Legendre on a Gaussian of that width."""
        r_star, looks = (tolerance / MERGE_ERROR) ** (1.0 / 3.0), plan.schedule.size
        if not plan.mergeable:
            r_star = 0.0
            if looks > ROUGH_LOOKS:
                raise BadInput(f"{looks:,} looks with uneven distances or bounds: at most {ROUGH_LOOKS:,}")
        elif looks > EXACT_LOOKS:
            r_star, tolerance = max(r_star, THINNED), max(tolerance, MERGED_NODES)
        steps = math.sqrt(min(looks, EXACT_LOOKS))
        density = math.sqrt(math.log(10.0 * steps / tolerance) / 8.0)
        return cls(density, r_star, threshold(1e-3 * tolerance), 1e-3 * tolerance)

    def finer(self) -> Resolution:
        """The next finer resolution; the difference between the two is the error estimate."""
        return Resolution(self.density + 0.15, self.r_star / 1.4, self.reach + 0.5, 0.03 * self.decided)


class Grid(NamedTuple):
    """The looks that can stop any of a group of drifts, in the form the kernel takes."""

    n: Ints
    look: Ints
    root_t: Floats
    rho: Floats
    r: Floats
    lower: Floats
    upper: Floats
    low: Floats
    high: Floats
    omega: Floats
    merged: float  # the width up to which looks were merged, 0 if none were


def grid_of(plan: Plan, least: float, most: float, r_star: float, mirror: bool) -> Grid:
    """The looks that matter to drifts in [least, most] (to |μ| <= most if `mirror`), merged below width r_star.

    A look that cannot stop any such drift is skipped, at no loss; early bounds of O'Brien-Fleming type are enormous.
    Merging lowers the bound by the difference in overshoot and shifts the decision's time (`CONTINUITY`, `DELAY`).
    """
    schedule, n_data = plan.schedule, float(plan.schedule.n_data)
    if mirror:
        least = -most

    index, merged = _chosen_looks(plan, least, most, r_star)
    n = schedule.at(index)
    x = n.astype(np.float64)
    before = np.concatenate([[0.0], x[:-1]])
    r, rho = width(before, x, n_data), np.sqrt(before * (n_data - x) / (x * (n_data - before)))
    lower, upper = plan.boundary.at(index, x / n_data)
    root_t = np.sqrt(x / (n_data - x))
    low, high = least * root_t - WINDOW, most * root_t + WINDOW
    ends, position = np.append(x, n_data), np.append(index, schedule.size - 1.0)
    if not merged:
        omega = np.stack([np.diff(ends) / n_data, np.diff(position)])
        return Grid(n, index, root_t, rho, r, lower, upper, low, high, omega, 0.0)

    neighbour = np.append(before[:1], schedule.at(index[1:] - 1))
    r_true = width(neighbour, x, n_data)
    shift = CONTINUITY * (r - r_true)
    lower, upper = lower + shift, upper - shift
    closed = lower > upper  # merging can close a narrow gap; then every walk stops
    lower, upper = np.where(closed, 0.0, lower), np.where(closed, 0.0, upper)
    t = root_t**2 * (1.0 + DELAY * (r**2 - r_true**2))
    time = np.append(n_data * t / (1.0 + t), n_data)
    data = _weights(time, ends - np.append(neighbour, x[-1])) / n_data
    looks = _weights(np.interp(time, ends, position), np.ones(ends.size))
    return Grid(n, index, root_t, rho, r, lower, upper, low, high, np.stack([data, looks]), r_star)


def _weights(time: Floats, step: Floats) -> Floats:
    """Weights w with sum_k w_k S_k = sum over *all* looks of (step to the next look) S, S linear between kept looks.

    `time` and `step` have one entry per kept look and one for the end; step is the distance to the look just before.
    """
    gap, fine = np.diff(time), step[1:]
    weights: Floats = 0.5 * (gap + fine)
    weights[1:] += 0.5 * (gap - fine)[:-1]
    return weights


def width(before: Floats, after: Floats, n_data: float) -> Floats:
    """r = sqrt(1 - t_before / t_after) without cancellation (K14 Eqn 11)."""
    width: Floats = np.sqrt(n_data * (after - before) / (after * (n_data - before)))
    return width


def _chosen_looks(plan: Plan, least: float, most: float, r_star: float) -> tuple[Ints, bool]:
    """Indices of the looks to compute, and whether any were merged."""
    schedule, interim = plan.schedule, plan.schedule.size - 1

    def matters(index: Ints) -> npt.NDArray[np.bool_]:
        n = schedule.at(index)
        lower, upper = plan.boundary.at(index, n / schedule.n_data)
        root_t = np.sqrt(n / (schedule.n_data - n))
        return (lower > least * root_t - WINDOW) | (upper < most * root_t + WINDOW)

    if schedule.size <= EXACT_LOOKS or schedule.listed is not None or not plan.mergeable:
        every = np.arange(interim)
        every = every[matters(every)]
        n = np.append(0, schedule.at(every)).astype(np.float64)
        narrowest = width(n[:-1], n[1:], float(schedule.n_data)).min(initial=1.0)
        if every.size == 0 or r_star < narrowest:
            return every, False
        first = int(every[0])
    else:  # bounds fall and drifts rise with every look: bisect
        first, beyond = 0, interim
        while first < beyond:
            middle = (first + beyond) // 2
            first, beyond = (first, middle) if matters(np.array([middle]))[0] else (middle + 1, beyond)
        if first == interim:
            return np.empty(0, dtype=np.int64), False
    looks = np.empty(0, dtype=np.int64) if schedule.listed is None else schedule.listed
    arguments = (looks, schedule.m, float(schedule.n_data), first, interim - 1, r_star)
    kept = np.empty(_walk_kernels.thin(*arguments, np.empty(0, dtype=np.int64)), dtype=np.int64)
    _walk_kernels.thin(*arguments, kept)
    return kept, kept.size < interim - first
