"""The numbers behind every plot of a test: its curves, simulated paths, stopping times, and a summary in one sentence.

Curves are computed to `PLOT_ACCURACY`, at few enough points to send to a screen. Numbers that people copy (the summary,
the table of looks) are as accurate as the engine's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from designer.check.simulate import MAX_REPEATS, Simulation, pooled, simulate
from designer.core import work
from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer, real
from designer.core.progress import Cancelled
from designer.engine.look_grid import CONTINUITY, EXACT_LOOKS, width
from designer.engine.step_error import Acceptance, Rule, acceptance, check_rule
from designer.engine.walk import Stopping, characteristics, worst_case
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import epsilon_of
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan

PLOT_ACCURACY = 1e-6  # accuracy of curves that are only plotted
FINE, FINE_LOOKS = 1e-9, 1000  # accuracy of the error of a step, whose largest value is reported, up to this many looks
POINTS, FEW_POINTS = 65, 33  # on a curve; fewer when looks are merged, since each costs more
LONG = 50.0  # curves that reach beyond this μ_std are drawn on a logarithmic axis
EARLY_BOUND = 4.0  # a look with a bound below this may stop a test
PATH_POINTS = 250  # plotted of one path
BARS = 40  # in the plot of where the test stops
THINNEST = 1.0 / BARS  # the least share of the axis that the first and the last bar get
CLOSER = 41  # points in each round of looking for the largest Δ between those of a curve
MOST_PATHS = 50
MOST_WORK = 0.025 * work.MOST_WORK  # data read in a simulation for a plot: seconds, half a minute for large N
PART_WORK = 2e7  # data read between two chances to cancel it, at most
FEWEST_REPEATS, SIMULATED = 50, 7  # fewest repeats that are worth plotting; number of standardised means simulated
MOST_KAPPAS = 6
SMALLEST_KAPPA, LARGEST_KAPPA = 1e-6, 1e6


class DesignSummary(NamedTuple):
    """A test in numbers: its looks, worst error and data use (both at μ_std = 0), and their numerical error."""

    looks: int
    worst_error: float
    worst_usage: float
    first_share: float
    estimate: float


class Span(NamedTuple):
    """Standardised means from 0 on to draw curves at, and whether the axis should be logarithmic."""

    mu_std: tuple[float, ...]
    logarithmic: bool

    @property
    def end(self) -> float:
        """Where the axis ends."""
        return self.mu_std[-1]

    @property
    def start(self) -> float:
        """Where a logarithmic axis begins."""
        return self.mu_std[1]


class Path(NamedTuple):
    """One run of a test: z at the plotted looks until it stops, and how it ends.

    `whole`: it read all data; z is then infinite at the last look, which is not plotted.
    """

    n: Ints
    z: Floats
    accepted: bool
    right: bool
    whole: bool


class LookTable(NamedTuple):
    """Look by look: the bound and its tail probability, P(stop here), P(stop here, wrongly), and both so far.

    The last look has neither bound nor error. A row stands for all looks since the previous row.
    """

    look: Ints
    n: Ints
    share: Floats
    bound: Floats
    tail: Floats
    stop: Floats
    wrong: Floats
    stopped: Floats
    wrong_so_far: Floats

    def rows(self, index: Ints) -> LookTable:
        """Some of the rows; cumulative columns stay cumulative."""
        return LookTable._make(column[index] for column in self)


class StopBars(NamedTuple):
    """Probabilities of stopping after more than `after` and up to `upto` data, by decision.

    A bar starts at `left` and is `width` data wide. On a logarithmic axis the first bar does not begin at 0. The last
    bar, where the test has read everything, is always wide enough to be seen.
    """

    after: Ints
    upto: Ints
    left: Floats
    width: Floats
    accept: Floats
    reject: Floats

    @property
    def ends(self) -> tuple[float, float]:
        """Where an axis must begin and end to show all of them."""
        return float(self.left[0]), float(self.left[-1] + self.width[-1])


class StepCurves(NamedTuple):
    """Error of one step against the exact acceptance probability: a row per κ, a column per probability.

    `wrong` is E_u[E], the probability of a wrong decision; `worst` its bound E(0), the same for every κ.
    `largest` is the largest |Δ| of each κ, also between the probabilities listed; `estimate` bounds its error.
    """

    kappa: tuple[float, ...]
    probability: Floats
    delta: Floats
    wrong: Floats
    usage: Floats
    accepted: Floats
    largest: Floats
    worst: float
    estimate: float

    @property
    def delta_max(self) -> float:
        """An upper bound on |Δ|: the largest value plus its numerical error, or the worst case."""
        return min(float(self.largest.max()) + self.estimate, self.worst)


def summary(design: Design | Plan) -> DesignSummary:
    """The numbers that describe a test in one sentence."""
    schedule, worst = as_plan(design).schedule, worst_case(design)
    return DesignSummary(
        schedule.size, float(worst.error[0]), float(worst.usage[0]), schedule.m / schedule.n_data, worst.estimate
    )


def span(designs: Sequence[Design | Plan], marked: float = 0.0) -> Span:
    """Standardised means that show the curves of all `designs`, from their maximum past |marked| to where they end.

    The end is where the first look that can stop a test early decides half the time or more, rounded up so that the
    axis does not move with every small change of a design.
    """
    plans = [as_plan(design) for design in designs]
    end = _round_up(max(abs(real("mu_std", marked, -1e300, 1e300)), *(_reach(plan) for plan in plans)))
    logarithmic = end > LONG
    points = POINTS if max(plan.schedule.size for plan in plans) <= EXACT_LOOKS else FEW_POINTS
    if logarithmic:
        grid = np.geomspace(min(0.1, 1e-3 * end), end, points - 1)
    else:  # denser near 0, where the error is
        grid = end * np.linspace(0.0, 1.0, points)[1:] ** 2
    return Span((0.0, *grid.tolist()), logarithmic)


def paths(rng: np.random.Generator, where: Stopping, design: Design | Plan, mu_std: float, count: int) -> list[Path]:
    """Runs of the test at the looks of `where`, z_j sqrt(t_j) = μ_std t_j + W(t_j) until |z_j| > G_j (K14 Eqns 9-11).

    With more than EXACT_LOOKS looks only some are simulated, with bounds lowered to account for the others.
    """
    plan, count = as_plan(design), integer("count", count, 1, MOST_PATHS)
    n, n_data = where.n[:-1].astype(np.float64), float(plan.schedule.n_data)
    before = np.append(0.0, n[:-1])
    merged = where.n.size < plan.schedule.size
    r = width(before, n, n_data)
    shift = CONTINUITY * (r - width(np.maximum(before, n - plan.schedule.m), n, n_data)) if merged else 0.0
    t = n / (n_data - n)
    walk = np.cumsum(np.sqrt(np.diff(t, prepend=0.0)) * rng.standard_normal((count, n.size)), axis=1)
    z = (mu_std * t + walk) / np.sqrt(t)
    outside = (z > where.upper[:-1] - shift) | (z < where.lower[:-1] + shift)
    return [_path(where.n[:-1], z[k], np.flatnonzero(outside[k]), mu_std > 0) for k in range(count)]


def typical_paths(
    rng: np.random.Generator, where: Stopping, design: Design | Plan, trial: TrialRun, count: int
) -> list[Path]:
    """Runs of the test at random pairs of a trial run, each with its own u."""
    pairs = rng.integers(len(trial), size=count)
    mu_std = (trial.log_acceptance[pairs] - np.log(rng.random(count))) / np.maximum(trial.kappa[pairs], SMALLEST_KAPPA)
    return [paths(rng, where, design, float(mu), 1)[0] for mu in mu_std]


def look_table(where: Stopping, design: Design | Plan, mu_std: float) -> LookTable:
    """The table of a stopping distribution at this μ_std."""
    schedule = as_plan(design).schedule
    n = where.n
    look = -(-n // schedule.m) if schedule.listed is None else np.searchsorted(schedule.listed, n) + 1
    bound = np.append(where.bound[:-1], np.nan)
    tail = np.array([epsilon_of(value) for value in bound])
    wrong = np.append((where.reject if mu_std > 0 else where.accept)[:-1], 0.0)
    stop = where.accept + where.reject
    return LookTable(look, n, where.pi, bound, tail, stop, wrong, np.cumsum(stop), np.cumsum(wrong))


def some_of(n: Ints, most: int, *, logarithmic: bool = False) -> Ints:
    """Indices of at most `most` of the looks n, the first and the last among them, evenly placed on the axis."""
    if n.size <= most:
        return np.arange(n.size)
    place = np.log(n) if logarithmic else n.astype(np.float64)
    nearest = np.searchsorted(place, np.linspace(place[0], place[-1], most))
    return np.unique(np.append(np.minimum(nearest, n.size - 1), [0, n.size - 1]))[-most:]


def stop_bars(where: Stopping, *, logarithmic: bool = False) -> StopBars:
    """Where the test stops, in at most BARS bars of neighbouring looks."""
    last = some_of(where.n, BARS, logarithmic=logarithmic)
    start = np.append(0, last[:-1] + 1)
    upto = where.n[last]
    after = np.append(0, upto[:-1])
    left, right = after.astype(np.float64), upto.astype(np.float64)
    if logarithmic:
        left[0] = right[0] / (right[-1] / right[0]) ** THINNEST
        right[-1] = max(right[-1], left[-1] * (right[-1] / left[0]) ** THINNEST)
    else:
        right[-1] = max(right[-1], left[-1] + THINNEST * right[-1])
    heights = (np.add.reduceat(decided, start) for decided in (where.accept, where.reject))
    return StopBars(after, upto, left, right - left, *heights)


def z_range(where: Stopping) -> float:
    """The range of z to plot: early bounds of O'Brien-Fleming type are enormous."""
    bounds = where.bound[:-1]
    return float(min(max(bounds.max(initial=0.0) + 2.5, 4.0), bounds.min(initial=2.0) + 5.0))


def simulated_at(shown: Span) -> tuple[float, ...]:
    """A few of the plotted standardised means to simulate at, denser where errors occur."""
    index = (np.linspace(0.0, 1.0, SIMULATED) ** 1.5 * (len(shown.mu_std) - 1)).astype(int)
    return tuple(shown.mu_std[k] for k in index)


def simulate_for_picture(
    rng: np.random.Generator,
    design: Design | Plan,
    mu_std: Sequence[float],
    repeats: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Simulation:
    """Run the real test at each μ_std in parts, reporting progress and checking for cancellation between them.

    Work beyond MOST_WORK data is refused before it begins.
    """
    repeats = integer("repeats", repeats, 1, MAX_REPEATS)
    affordable = affordable_repeats(design, mu_std)
    if affordable < FEWEST_REPEATS:
        n_data = as_plan(design).schedule.n_data
        raise BadInput(f"n_data = {n_data:,}: too large to simulate this test in reasonable time; use a smaller N")
    if repeats > affordable:
        raise BadInput(f"repeats = {repeats:,}: at most {affordable:,} for this test, to finish in reasonable time")
    at_once = max(1, int(PART_WORK / as_plan(design).schedule.n_data))
    sizes = [min(at_once, repeats - start) for start in range(0, repeats, at_once)]
    parts, total = [], len(sizes) * len(mu_std)
    for size in sizes:
        for drift in mu_std:
            if cancelled():
                raise Cancelled
            parts.append(simulate(rng, design, drift, size))
            progress(len(parts), total)
    points = [pooled(parts[k :: len(mu_std)]) for k in range(len(mu_std))]
    columns = [np.concatenate(column) for column in zip(*(point[:-1] for point in points), strict=True)]
    return Simulation._make([*columns, repeats])


def affordable_repeats(design: Design | Plan, mu_std: Sequence[float]) -> int:
    """How many repeats at each μ_std read at most MOST_WORK data, rounded down to two digits."""
    n_data = as_plan(design).schedule.n_data
    data = n_data * float(characteristics(design, np.array(mu_std), PLOT_ACCURACY).usage.sum())
    if 3.0 * len(mu_std) * n_data > MOST_WORK:  # the populations alone
        return 0
    repeats = int(MOST_WORK / data)
    step = int(10 ** max(0, len(str(repeats)) - 2))
    return repeats // step * step


def step_curves(
    design: Design | Plan, kappa: Sequence[float], rule: Rule = "metropolis", points: int = 81
) -> StepCurves:
    """Δ, wrong decisions and data use of one step for P_a from 0 to 1 (K14 Figs 11 and 12).

    By Metropolis' rule P_a = 1 for any A >= 0; the curve has A = 0, where the error is largest.
    """
    plan, barker = as_plan(design), check_rule(rule) == "barker"
    if not 1 <= len(kappa) <= MOST_KAPPAS:
        raise BadInput(f"kappa: {len(kappa)} values given; must be 1 to {MOST_KAPPAS}")
    scales = [real("kappa", value, SMALLEST_KAPPA, LARGEST_KAPPA) for value in kappa]
    even = np.linspace(0.0, 0.5 * math.pi, points)
    p = _probability(even, barker=barker)
    n_data, tolerance = plan.schedule.n_data, FINE if plan.schedule.size <= FINE_LOOKS else PLOT_ACCURACY

    def steps(angle: Floats, scale: Floats) -> Acceptance:
        """Pairs with these P_a = sin² angle and κ."""
        at = _probability(angle, barker=barker)
        log_ratio = np.log(at) - np.log1p(-at) if barker else np.log(at)
        trial = TrialRun(n_data, log_ratio / n_data, scale * (math.sqrt(n_data - 1) / n_data))
        return acceptance(plan, trial, rule, tolerance)

    evaluated = steps(np.tile(even, len(scales)), np.repeat(scales, p.size))
    delta, wrong, usage = (
        values.reshape(len(scales), p.size) for values in (evaluated.delta, evaluated.wrong, evaluated.usage)
    )
    worst = float(worst_case(plan).error[0])
    largest, missed = _largest(np.abs(delta), np.array(scales), even, lambda *pairs: np.abs(steps(*pairs).delta))
    return StepCurves(tuple(scales), p, delta, wrong, usage, p + delta, largest, worst, evaluated.estimate + missed)


def _probability(angle: Floats, *, barker: bool) -> Floats:
    """P_a = sin² of an angle in [0, pi / 2], dense at both ends; its logit is finite by Barker's rule."""
    probability: Floats = np.clip(np.sin(angle) ** 2, 1e-6, 1.0 - 1e-6 if barker else 1.0)
    return probability


def _largest(
    size: Floats, scales: Floats, angle: Floats, sizes: Callable[[Floats, Floats], Floats]
) -> tuple[Floats, float]:
    """The largest |Δ| of each κ, refined twice around every peak of its curve, and a bound on what is missed.

    A smooth peak between two of the last points is above both by less than they and their neighbours differ.
    """
    padded = np.pad(size, ((0, 0), (1, 1)), constant_values=-np.inf)
    row, peak = np.nonzero((size >= padded[:, :-2]) & (size >= padded[:, 2:]))
    centre, reach = angle[peak], angle[1] - angle[0]
    values = size[row, peak][:, None]
    for _ in range(2):
        near = np.clip(centre[:, None] + np.linspace(-reach, reach, CLOSER), angle[0], angle[-1])
        values = sizes(near.ravel(), np.repeat(scales[row], CLOSER)).reshape(near.shape)
        best = values.argmax(axis=1)
        centre, reach = near[np.arange(row.size), best], 2.0 * reach / (CLOSER - 1)
    top = values.max(axis=1)
    largest = np.zeros(scales.size)
    np.maximum.at(largest, row, top)
    beside = np.clip(best[:, None] + [-1, 1], 0, CLOSER - 1)
    return largest, float((top[:, None] - np.take_along_axis(values, beside, axis=1)).max())


def _reach(plan: Plan) -> float:
    """The μ_std at which the first look that can stop a test early decides half the time."""
    interim = np.arange(min(plan.schedule.size - 1, EXACT_LOOKS))
    if plan.schedule.size - 1 > EXACT_LOOKS:
        interim = np.unique(np.geomspace(1, plan.schedule.size - 1, EXACT_LOOKS).astype(np.int64)) - 1
    if interim.size == 0:
        return 1.0
    n = plan.schedule.at(interim)
    upper = plan.boundary.at(interim, n / plan.schedule.n_data)[1]
    first = int(np.argmax(upper <= max(EARLY_BOUND, 1.2 * float(upper.min()))))
    return float(max(upper[first], 0.5) * math.sqrt((plan.schedule.n_data - n[first]) / n[first]))


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ..."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1.0 - 1e-12))


def _path(n: Ints, z: Floats, stops: Ints, upward: bool) -> Path:
    whole = stops.size == 0
    end = n.size - 1 if whole else int(stops[0])
    accepted = upward if whole else bool(z[end] > 0)
    drawn = some_of(n[: end + 1], PATH_POINTS) if n.size else np.empty(0, dtype=np.int64)
    return Path(n[drawn], z[drawn], accepted, accepted == upward, whole)
