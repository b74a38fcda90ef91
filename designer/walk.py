"""The recursion: error, data use and stopping distribution of one sequential test, each with its numerical error.

K14 supplement A, Eqns 9-11 and 18-20, in the canonical form z_j sqrt(t_j) = mu_std t_j + W(t_j). One pass of the
zero-drift walk serves every mu_std (see `_kernels`). Public: `characteristics`, `worst_case`, `stopping`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer import _kernels
from designer.boundary import threshold
from designer.errors import BadInput, NumericalFailure, real
from designer.plan import Plan, as_plan
from designer.records import Design
from designer.rules import rules
from designer.schedule import Floats, Ints

WINDOW = 8.5  # standard deviations around a drift's path that hold its mass, to 1e-16
EXACT_LOOKS = 4000  # up to here every look is computed; beyond, looks closer together than THINNED are merged
THINNED = 0.08  # width r between merged looks
MERGE_ERROR = 0.05  # merging at width r costs at most about this times r^3 (tests/designer/test_many_looks.py)
ROUGH_LOOKS = 50_000  # the most for bounds or distances that change too much from look to look to merge any
MERGED_NODES = 1e-8  # accuracy of the nodes when looks are merged: far below the error of merging
CONTINUITY = 0.5825971579390107  # -zeta(1/2) / sqrt(2 pi): overshoot of a Gaussian walk, in units of its step
DELAY = 0.25  # a walk monitored with step h has decided as much at t as a continuous one at t + h/4
MOST_NODES = 3e6  # more than this, over all looks, and drifts are handled in groups with narrower windows
MOST_WORK = 1e8  # nodes times drifts, a quarter second: above, drifts are handled in groups where that halves the work


class Characteristics(NamedTuple):
    """Error and data use of a test at each standardised mean.

    `estimate` bounds the numerical error of both curves.
    """

    mu_std: Floats
    error: Floats
    usage: Floats
    estimate: float


class Stopping(NamedTuple):
    """What happens at each look: probabilities of deciding there for `accept` and for `reject`.

    With more than EXACT_LOOKS looks a row stands for all looks since the row before.
    """

    n: Ints
    pi: Floats
    lower: Floats
    upper: Floats
    accept: Floats
    reject: Floats

    @property
    def bound(self) -> Floats:
        """The upper bound: the only one, when bounds are symmetric."""
        return self.upper


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
        """Enough for `tolerance`, by the error exp(-8 density^2) of Gauss-Legendre on a Gaussian of that width."""
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
        """The next better one; their difference is the error estimate."""
        return Resolution(self.density + 0.15, self.r_star / 1.4, self.reach + 0.5, 0.03 * self.decided)


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
        """P(wrong decision): acceptance is right when mu > 0 (K14 Eqn 18)."""
        return np.where(mu > 0, self.below, self.above)


class Grid(NamedTuple):
    """The looks that can stop any of a group of drifts, as the kernel wants them."""

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

    @property
    def nodes(self) -> float:
        """How many quadrature nodes all looks need, roughly: lengths with tails, in widths."""
        if self.n.size == 0:
            return 0.0
        inside_low, inside_high = np.maximum(self.lower, self.low), np.minimum(self.upper, self.high)
        reach = WINDOW * self.r[1:]
        low = np.maximum(self.low[1:], (inside_low[:-1] - reach) / self.rho[1:])
        high = np.minimum(self.high[1:], (inside_high[:-1] + reach) / self.rho[1:])
        first = inside_high[0] - inside_low[0]
        return float(max(first, 0.0) + np.sum(np.maximum(high - low, 0.0) / self.r[1:]))


Runner = Callable[[Plan, Grid, Floats, Resolution], Floats]


def characteristics(design: Design | Plan, mu_std: npt.ArrayLike, tolerance: float = 1e-10) -> Characteristics:
    """Error E(mu_std) and expected data fraction of a sequential test (K14 Eqns 18 and 19).

    Parameters
    ----------
    design
        A `Design` or a `Plan`.
    mu_std
        Standardised means (mu - mu_0) sqrt(N - 1) / sigma, any shape and sign.
    tolerance
        Wanted numerical error. Beyond 4000 looks neighbouring looks are merged, which costs about 1e-5; `estimate`
        then says how much.

    Examples
    --------
    >>> curve = characteristics(Design(12214, 500, 0.05), [0.0, 2.0])
    >>> curve.error.round(4), curve.usage.round(4)
    (array([0.3095, 0.0372]), array([0.6252, 0.3114]))
    """
    plan = as_plan(design)
    tolerance = real("tolerance", tolerance, 1e-12, 0.01)
    mu = _drifts(mu_std)
    outcome, estimate = outcomes(plan, mu.ravel(), tolerance)
    shape = mu.shape
    return Characteristics(mu, outcome.error(mu.ravel()).reshape(shape), outcome.usage.reshape(shape), estimate)


def worst_case(design: Design | Plan, tolerance: float = 1e-10) -> Characteristics:
    """Error and data use at mu_std = 0, the curves' maxima for symmetric bounds (K14 Eqn 20: (1 - P(j' = J)) / 2).

    With asymmetric ones the error jumps at 0, and the larger side counts.
    """
    if as_plan(design).boundary.symmetric:
        return characteristics(design, np.zeros(1), tolerance)
    found = characteristics(design, np.array([0.0, np.nextafter(0.0, 1.0)]), tolerance)
    return Characteristics(found.mu_std[:1], found.error.max(keepdims=True), found.usage[:1], found.estimate)


def stopping(design: Design | Plan, mu_std: float, tolerance: float = 1e-10) -> Stopping:
    """Where a test with this standardised mean stops, look by look; the last row is all the data, decided rightly."""
    plan = as_plan(design)
    mu = _drifts(mu_std).reshape(-1)
    if mu.size != 1:
        raise BadInput("mu_std: must be one number here")
    schedule = plan.schedule
    resolution = Resolution.reaching(real("tolerance", tolerance, 1e-12, 0.01), plan).finer()
    grid, exits = _exits(plan, float(capped(plan, mu)[0]), resolution)
    index = np.arange(schedule.size - 1) if schedule.size <= EXACT_LOOKS else grid.look
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

    The bound is the difference between two resolutions plus what the conservation of probability misses;
    without `verify` only the latter, at half the cost.
    """
    looks = plan.schedule.size
    resolution = Resolution.reaching(tolerance, plan)
    forced = plan.mergeable and looks > EXACT_LOOKS  # merged whatever the tolerance, which is then of the nodes alone
    nodes = max(tolerance, MERGED_NODES) if forced else tolerance
    sample = np.argsort(np.abs(mu))[np.linspace(0, mu.size - 1, min(mu.size, 24)).astype(int)]  # errors vary slowly
    coarse = None
    if verify and mu.size:
        coarse, resolution = sweep(plan, mu[sample], resolution), resolution.finer()
    for _ in range(4):
        best = sweep(plan, mu, resolution)
        estimate = best.residual + 1e-15 * min(looks, EXACT_LOOKS)
        if coarse is not None:
            estimate += _difference(best.at(sample), coarse)
            coarse = best.at(sample)
        # two resolutions may agree by chance at a few drifts: merging has its known size beside their difference
        estimate += MERGE_ERROR * best.merged**3
        if estimate <= tolerance or ((forced or not verify) and best.residual <= nodes):
            break
        resolution = resolution.finer()
    if not estimate <= max(1e-2, tolerance) or not best.residual <= max(1e-6, tolerance):
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
    """Drifts so large that the first look always decides, brought down to where it just about does."""
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
    """The kernel's totals for drifts ascending in size, and the width of merging; `run` may call another kernel.

    Drifts are split into groups where one window would be too wide.
    """
    total = np.empty((5, mu.size))
    if mu.size == 0:
        return total, 0.0
    grid = _grid(plan, float(mu.min()), float(mu.max()), resolution.r_star, mirror)
    if grid.nodes > MOST_NODES and mirror:  # perhaps a window around the drifts, not around 0, is narrow enough
        return totals(plan, mu, resolution, False, run)
    small = mu <= 0.5 * (mu.min() + mu.max())
    if not small.all() and (grid.nodes > MOST_NODES or _pays(plan, grid, mu, small, resolution.r_star, mirror)):
        total[:, small], one = totals(plan, mu[small], resolution, mirror, run)
        total[:, ~small], other = totals(plan, mu[~small], resolution, False, run)
        return total, max(one, other)
    total = _run(plan, grid, mu, resolution, mirror)[0] if run is None else run(plan, grid, mu, resolution)
    return total, grid.merged


def _pays(plan: Plan, grid: Grid, mu: Floats, small: npt.NDArray[np.bool_], r_star: float, mirror: bool) -> bool:
    """Whether there is much work, and less than half of it when small drifts and the others each have their window."""
    if grid.nodes * mu.size <= MOST_WORK:
        return False

    def work(drifts: Floats, folded: bool) -> float:
        part = _grid(plan, float(drifts.min()), float(drifts.max()), r_star, folded)
        return part.nodes * drifts.size * (0.5 if folded else 1.0)

    whole = grid.nodes * mu.size * (0.5 if mirror else 1.0)
    return work(mu[small], mirror) + work(mu[~small], False) < 0.5 * whole


def _exits(plan: Plan, mu: float, resolution: Resolution) -> tuple[Grid, Floats]:
    """Exits (below, above) at each look of the grid, for one drift."""
    grid = _grid(plan, mu, mu, resolution.r_star, False)
    total, by_look = _run(plan, grid, np.array([mu]), resolution, False, detail=True)
    lost = abs(1.0 - total[0, 0] - total[1, 0] - total[4, 0])
    if not lost <= 1e-6:
        raise NumericalFailure(f"the recursion did not converge: probability {lost:.1e} lost")
    return grid, by_look[:, :, 0]


def _run(
    plan: Plan, grid: Grid, mu: Floats, resolution: Resolution, mirror: bool, *, detail: bool = False
) -> tuple[Floats, Floats]:
    padded = np.pad(mu, (0, -mu.size % _kernels.LANES), mode="edge")  # whole vector registers
    total = np.zeros((5, padded.size))
    by_look = np.zeros((2, grid.n.size if detail else 0, padded.size))
    if grid.n.size == 0:  # no look can stop any of these drifts
        total[2:] = np.array([1.0, plan.schedule.size, 1.0])[:, None]
    else:
        arrays = (grid.root_t, grid.rho, grid.r, grid.lower, grid.upper, grid.low, grid.high, grid.omega)
        scales = (resolution.density, resolution.reach, resolution.decided)
        _kernels.walk(*arrays, mirror, *scales, *rules(), padded, by_look, total)
        total[2] += grid.n[0] / plan.schedule.n_data
        total[3] += grid.look[0] + 1.0
    return total[:, : mu.size], by_look[:, :, : mu.size]


def _grid(plan: Plan, least: float, most: float, r_star: float, mirror: bool) -> Grid:
    """The looks that matter to drifts in [least, most] (to |mu| <= most if `mirror`), merged below width r_star.

    A look that can stop no such drift is skipped, exactly; early bounds of O'Brien-Fleming type are enormous.
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
    closed = lower > upper  # merging can close a narrow gap; then everyone stops
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
    kept = np.empty(_kernels.thin(*arguments, np.empty(0, dtype=np.int64)), dtype=np.int64)
    _kernels.thin(*arguments, kept)
    return kept, kept.size < interim - first
