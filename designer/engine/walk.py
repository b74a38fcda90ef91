"""The recursion: error, data use and stopping distribution of one sequential test, each with its numerical error.

K14 supplement A, Eqns 9-11 and 18-20, in the canonical form z_j sqrt(t_j) = μ_std t_j + W(t_j). One pass of the
zero-drift walk serves every μ_std (see `_walk_kernels`). Public: `characteristics`, `worst_case`, `stopping`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, NumericalFailure, real
from designer.core.work import one_call
from designer.engine import _walk_kernels, look_grid
from designer.engine.drift_groups import groups_of
from designer.engine.look_grid import WINDOW, Grid, Resolution
from designer.engine.quadrature import rules
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan

LOOSEST = 0.01  # the largest estimate that is worth reporting, and the largest tolerance
FALLS, ROUNDING = 0.7, 1e-9  # a small estimate that does not fall to this share with more nodes is due to rounding


class Characteristics(NamedTuple):
    """Error and data use of a test at each standardised mean.

    Attributes
    ----------
    mu_std
        Standardised means.
    error
        E, probability of a wrong decision (K14 Eqn 18).
    usage
        Expected share of the data read (K14 Eqn 19).
    estimate
        A bound on the numerical error of both.

    Examples
    --------
    >>> characteristics(Design(12214, 500, 0.05), [2.0]).estimate < 1e-10
    True
    """

    mu_std: Floats
    error: Floats
    usage: Floats
    estimate: float


class Stopping(NamedTuple):
    """Where a test stops. With more than 4000 looks, a row stands for all looks since the previous row.

    Attributes
    ----------
    n, pi
        Data read by then: number and share.
    lower, upper
        Bounds of z.
    accept, reject
        Probabilities of accepting and of rejecting there.

    Examples
    --------
    >>> look = stopping(Design(12214, 500, 0.05), mu_std=2.0)
    >>> look.n[:3], round(float((look.accept + look.reject).sum()), 12)
    (array([ 500, 1000, 1500]), 1.0)
    """

    n: Ints
    pi: Floats
    lower: Floats
    upper: Floats
    accept: Floats
    reject: Floats

    @property
    def bound(self) -> Floats:
        """The upper bound, which is the only one when bounds are symmetric."""
        return self.upper


class Outcome(NamedTuple):
    """P(exit below), P(exit above), expected data use and number of looks per drift.

    `residual` is the probability that the computation created or lost; `merged` the width of merged looks.
    """

    below: Floats
    above: Floats
    usage: Floats
    looks: Floats
    residual: float
    merged: float = 0.0

    def at(self, sample: Ints) -> Outcome:
        """The outcome for some of the drifts."""
        below, above, usage, looks = (values[sample] for values in self[:4])
        return Outcome(below, above, usage, looks, self.residual, self.merged)

    def error(self, mu: Floats) -> Floats:
        """P(wrong decision): acceptance is right when μ > 0 (K14 Eqn 18)."""
        return np.where(mu > 0, self.below, self.above)


Runner = Callable[[Plan, Grid, Floats, Resolution], Floats]


@one_call
def characteristics(design: Design | Plan, mu_std: npt.ArrayLike, tolerance: float = 1e-10) -> Characteristics:
    """Error E(μ_std) and expected data use of a sequential test (K14 Eqns 18 and 19).

    Parameters
    ----------
    design
        A `Design` or a `Plan`.
    mu_std
        Standardised means (μ - μ₀) sqrt(N - 1) / σ, any shape and sign.
    tolerance
        Numerical error allowed. Beyond 4000 looks, neighbouring looks are merged, which costs about 1e-5; `estimate`
        says how much.

    Returns
    -------
    Characteristics
        Both curves, in the shape of `mu_std`, and a bound on their numerical error.

    Raises
    ------
    BadInput
        If `mu_std` is not finite or `design` is not a test.
    NumericalFailure
        If the computation does not pass its own checks.

    Examples
    --------
    >>> curve = characteristics(Design(12214, 500, 0.05), [0.0, 2.0])
    >>> curve.error.round(4), curve.usage.round(4)
    (array([0.3095, 0.0372]), array([0.6252, 0.3114]))
    """
    plan = as_plan(design)
    tolerance = real("tolerance", tolerance, 1e-12, LOOSEST)
    mu = _drifts(mu_std)
    outcome, estimate = outcomes(plan, mu.ravel(), tolerance)
    shape = mu.shape
    return Characteristics(mu, outcome.error(mu.ravel()).reshape(shape), outcome.usage.reshape(shape), estimate)


@one_call
def worst_case(design: Design | Plan, tolerance: float = 1e-10) -> Characteristics:
    """Error and data use at μ_std = 0, the curves' maxima for symmetric bounds (K14 Eqn 20: (1 - P(j' = J)) / 2).

    With asymmetric bounds the error jumps at 0; the larger side counts.

    Parameters
    ----------
    design, tolerance
        As for `characteristics`.

    Returns
    -------
    Characteristics
        At one standardised mean.

    Examples
    --------
    >>> worst_case(Design(12214, 500, 0.05)).error.round(4)
    array([0.3095])
    """
    if as_plan(design).boundary.symmetric:
        return characteristics(design, np.zeros(1), tolerance)
    found = characteristics(design, np.array([0.0, np.nextafter(0.0, 1.0)]), tolerance)
    return Characteristics(found.mu_std[:1], found.error.max(keepdims=True), found.usage[:1], found.estimate)


@one_call
def stopping(design: Design | Plan, mu_std: float, tolerance: float = 1e-10) -> Stopping:
    """Where a test with this standardised mean stops, look by look.

    Parameters
    ----------
    design, tolerance
        As for `characteristics`.
    mu_std
        One standardised mean.

    Returns
    -------
    Stopping
        A row per look; at the last look all data have been read and the decision is right.

    Examples
    --------
    >>> look = stopping(Design(1000, 250, 0.05), mu_std=1.0)
    >>> look.n, look.accept.round(3), look.reject.round(3)
    (array([ 250,  500,  750, 1000]), array([0.143, 0.171, 0.288, 0.382]), array([0.013, 0.003, 0.   , 0.   ]))
    """
    plan = as_plan(design)
    mu = _drifts(mu_std).reshape(-1)
    if mu.size != 1:
        raise BadInput("mu_std: must be one number")
    schedule = plan.schedule
    resolution = Resolution.reaching(real("tolerance", tolerance, 1e-12, LOOSEST), plan).finer()
    grid, exits = _exits(plan, float(capped(plan, mu)[0]), resolution)
    index = np.arange(schedule.size - 1) if schedule.size <= look_grid.EXACT_LOOKS else grid.look
    below, above = np.zeros(index.size), np.zeros(index.size)
    rows = np.searchsorted(index, grid.look)
    below[rows], above[rows] = exits
    n = schedule.at(index)
    lower, upper = plan.boundary.at(index, n / schedule.n_data)
    rest = max(0.0, 1.0 - below.sum() - above.sum())
    right = mu[0] > 0
    return Stopping(
        np.append(n, schedule.n_data),
        np.append(n, schedule.n_data) / schedule.n_data,
        np.append(lower, 0.0),
        np.append(upper, 0.0),
        np.append(above, rest if right else 0.0),
        np.append(below, 0.0 if right else rest),
    )


def outcomes(plan: Plan, mu: Floats, tolerance: float, *, verify: bool = True) -> tuple[Outcome, float]:
    """Outcome per drift and a bound on its numerical error.

    The bound is the difference between two resolutions plus the violation of the conservation of probability;
    without `verify` it is the latter alone, at half the cost.
    """
    looks = plan.schedule.size
    resolution = Resolution.reaching(tolerance, plan)
    forced = plan.mergeable and looks > look_grid.EXACT_LOOKS  # merged in any case: the tolerance is of the nodes alone
    nodes = max(tolerance, look_grid.MERGED_NODES) if forced else tolerance
    sample = np.argsort(np.abs(mu))[np.linspace(0, mu.size - 1, min(mu.size, 24)).astype(int)]  # errors vary slowly
    coarse, before = None, math.inf
    if verify and mu.size:
        coarse, resolution = sweep(plan, mu[sample], resolution), resolution.finer()
    for _ in range(4):
        best = sweep(plan, mu, resolution)
        estimate = best.residual + 1e-15 * min(looks, look_grid.EXACT_LOOKS)
        if coarse is not None:
            estimate += _difference(best.at(sample), coarse)
            coarse = best.at(sample)
        # two resolutions may agree by chance at a few drifts: merging has its known size beside their difference
        estimate += look_grid.MERGE_ERROR * best.merged**3
        if estimate <= tolerance or ((forced or not verify) and best.residual <= nodes and estimate <= LOOSEST):
            break
        if FALLS * before < estimate <= ROUNDING:
            break
        before, resolution = estimate, resolution.finer()
    if not estimate <= LOOSEST or not best.residual <= max(1e-6, tolerance):
        raise NumericalFailure(f"the recursion did not converge: numerical error {estimate:.1e}")
    return best, estimate


def sweep(plan: Plan, mu: Floats, resolution: Resolution) -> Outcome:
    """One pass of the walk at one resolution for all drifts."""
    if plan.schedule.size == 1:  # m = N: all the data, no error
        return Outcome(np.zeros(mu.size), np.zeros(mu.size), np.ones(mu.size), np.ones(mu.size), 0.0)
    mirror = plan.boundary.symmetric
    drift = capped(plan, np.abs(mu) if mirror else mu)
    order = np.argsort(np.abs(drift), kind="stable")
    total = np.empty((5, mu.size))
    total[:, order], merged = totals(plan, drift[order], resolution, mirror)
    if not np.all(np.isfinite(total)):
        raise NumericalFailure("the recursion produced a number that is not finite")
    below, above, usage, looks, left = total
    if mirror:
        below, above = np.where(mu < 0, (above, below), (below, above))
    residual = np.abs(1.0 - below - above - left)
    return Outcome(below, above, np.clip(usage, 0.0, 1.0), looks, float(residual.max(initial=0.0)), merged)


def _drifts(mu_std: npt.ArrayLike) -> Floats:
    try:
        given = np.asarray(mu_std)
    except ValueError:
        given = np.array("")
    if given.dtype.kind not in "iuf":
        raise BadInput("mu_std: must be numbers, one or an array of them")
    mu = given.astype(np.float64)
    bad = mu[~np.isfinite(mu)]
    if bad.size:
        raise BadInput(f"mu_std = {bad.flat[0]}: must be finite")
    return mu


def _difference(one: Outcome, other: Outcome) -> float:
    pairs = ((one.below, other.below), (one.above, other.above), (one.usage, other.usage))
    return max(float(np.abs(a - b).max(initial=0.0)) for a, b in pairs)


def capped(plan: Plan, mu: Floats) -> Floats:
    """Cap drifts that are so large that the first look always decides, at the point where it just does."""
    if plan.schedule.size == 1:
        return mu
    first = np.zeros(1, dtype=np.int64)
    n = float(plan.schedule.at(first)[0])
    lower, upper = plan.boundary.at(first, np.array([n / plan.schedule.n_data]))
    root_t = math.sqrt(n / (plan.schedule.n_data - n))
    return np.clip(mu, (lower[0] - WINDOW) / root_t, (upper[0] + WINDOW) / root_t)


def totals(
    plan: Plan, mu: Floats, resolution: Resolution, mirror: bool, run: Runner | None = None
) -> tuple[Floats, float]:
    """The kernel's totals for drifts ascending in size, and the width of merging; `run` may call another kernel."""
    total, merged = np.empty((5, mu.size)), 0.0
    for group in groups_of(plan, mu, resolution, mirror):
        drifts, grid = mu[group.places], group.grid
        if run is None:
            total[:, group.places] = _run(plan, grid, drifts, resolution, group.mirror)[0]
        else:
            total[:, group.places] = run(plan, grid, drifts, resolution)
        merged = max(merged, grid.merged)
    return total, merged


def _exits(plan: Plan, mu: float, resolution: Resolution) -> tuple[Grid, Floats]:
    """Exits (below, above) at each look of the grid, for one drift."""
    ((_, grid, *_),) = groups_of(plan, np.array([mu]), resolution, False)
    total, by_look = _run(plan, grid, np.array([mu]), resolution, False, detail=True)
    lost = abs(1.0 - total[0, 0] - total[1, 0] - total[4, 0])
    if not lost <= 1e-6:
        raise NumericalFailure(f"the recursion did not converge: probability {lost:.1e} lost")
    return grid, by_look[:, :, 0]


def _run(
    plan: Plan, grid: Grid, mu: Floats, resolution: Resolution, mirror: bool, *, detail: bool = False
) -> tuple[Floats, Floats]:
    padded = np.pad(mu, (0, -mu.size % _walk_kernels.LANES), mode="edge")  # whole vector registers
    total = np.zeros((5, padded.size))
    by_look = np.zeros((2, grid.n.size if detail else 0, padded.size))
    if grid.n.size == 0:  # no look can stop any of these drifts
        total[2:] = np.array([1.0, plan.schedule.size, 1.0])[:, None]
    else:
        arrays = (grid.root_t, grid.rho, grid.r, grid.lower, grid.upper, grid.low, grid.high, grid.omega)
        scales = (resolution.density, resolution.reach, resolution.decided)
        _walk_kernels.walk(*arrays, mirror, *scales, *rules(), padded, by_look, total)
        total[2] += grid.n[0] / plan.schedule.n_data
        total[3] += grid.look[0] + 1.0
    return total[:, : mu.size], by_look[:, :, : mu.size]
