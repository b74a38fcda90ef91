"""The best of *all* boundaries: least data read subject to mean |Δ| <= tolerance, with a proven lower bound.

|Δ_i| = max of s_i Δ_i over |s_i| <= 1, and the curves of all (randomised) stopping rules form a convex set, so

    min over rules { usage : mean |Δ| <= tolerance }
        = max over λ >= 0, |s_i| <= 1 of  min over rules { usage + λ mean(s_i Δ_i) } - λ tolerance.

The inner minimum is a Bayes problem that `dynamic_program.solve` solves exactly; every (λ, s) gives a lower bound on
what any rule reads, and the best of them is attained by the rule that is returned (docs/optimal_boundaries.md). The
numbers reported for that rule come from the engine of `step_error`, which is independent of the dynamic program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure, integer, real
from designer.core.progress import Cancelled, Progress
from designer.engine.curves import curves, integrate
from designer.engine.step_error import Rule, check_rule, reach_of
from designer.further.optimal_boundary.dynamic_program import AGAINST, mixture, solve
from designer.further.optimal_boundary.result import OptimalBoundary, Rival
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import Boundary
from designer.rule.design import Design
from designer.rule.looks import MAX_N_DATA, Schedule, check_growth
from designer.rule.plan import Plan, as_plan
from designer.search.annotate import evaluate
from designer.search.search import LEAST_TOLERANCE, SEARCH_ACCURACY, search
from designer.search.space import Space, usual_batch

MOST_LOOKS = 400
MOST_PAIRS = 20_000
FAMILIES: dict[str, tuple[float, float]] = {
    "Pocock": (0.5, 0.5),
    "O'Brien-Fleming": (1.0, 1.0),
    "best Wang-Tsiatis": (0.5, 1.0),
}  # ranges of α
SMALLEST_EPSILON = 1e-12  # of the families
ROUGH_GAP, FINE_GAP = 3e-3, 1e-4  # between rule and bound, as shares of the data: while λ is sought, and at the end
NEAR = 0.03  # relative distance of the error from the tolerance at which λ is good enough for the fine gap
CLOSE = 3e-4  # at which the rule is accepted
MOST_STEPS = 60  # of one maximisation over the signs
PATIENCE, STILL = 8, 1e-6  # steps without progress; changes of the bound or of log λ that count as none
CHEAPEST, DEAREST = 1e-3, 1e6  # lambda
DECIMALS = 4  # of the bounds, rounded outwards


class _Point(NamedTuple):
    """A solved Bayes problem: multiplier, signs, the engine's numbers for its rule, and the bound it proves."""

    price: float
    signs: Floats
    plan: Plan
    delta: Floats
    error: float
    usage: float
    bound: float
    interval: bool

    @property
    def slack(self) -> float:
        """The gain of the Lagrangian if every sign were that of its Δ."""
        return self.price * float(np.mean(np.abs(self.delta) - self.signs * self.delta))


class _Enough(Exception):
    """The maximisation over the signs is close enough, or makes no more progress."""


class Options(TypedDict, total=False):
    """Keyword arguments of `optimal_boundary` that `optimal_boundaries` passes on."""

    symmetric: bool
    rule: Rule
    progress: Progress | None
    cancelled: Callable[[], bool] | None


def optimal_boundary(
    trial: TrialRun,
    tolerance: float,
    m: int | None = None,
    growth: float = 1.0,
    *,
    symmetric: bool = True,
    rule: Rule = "metropolis",
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> OptimalBoundary:
    """The boundary of least mean data use whose mean |Δ| over the pairs is at most `tolerance`.

    Parameters
    ----------
    trial
        Pairs from a trial run, at most 20,000.
    tolerance
        Largest mean |Δ|.
    m, growth
        The looks, at most 400. Without m, the smallest batch that a search would consider: more looks never cost data.
    symmetric
        Whether the bounds must be the same on both sides.
    rule
        "metropolis" or "barker".
    progress, cancelled
        `progress` is called with (done, total), where the total is a guess. `cancelled` is called between evaluations;
        if it returns True, `Cancelled` is raised.

    Returns
    -------
    OptimalBoundary
        The boundary, its rivals, and a proven lower bound (docs/optimal_boundaries.md).

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, 0.45, 30, np.random.default_rng(1))
    >>> found = optimal_boundary(trial, 0.03, m=4000)
    >>> found.error <= 0.03, found.lower_bound <= found.usage < found.lower_bound + 0.001
    (True, True)
    """
    target = real("tolerance", tolerance, LEAST_TOLERANCE, 1.0)
    schedule = _schedule(trial, m, growth)
    job = _Job(schedule, trial, target, check_rule(rule), symmetric, progress, cancelled)
    rivals = tuple(job.rival(name, alphas, growth) for name, alphas in FAMILIES.items())
    best = job.run(rivals)
    design = job.annotated(best, check_growth(growth))
    found = job.measured(as_plan(design))
    usage, estimate = float(found[1].mean()), max(SEARCH_ACCURACY, _estimate(design))
    return OptimalBoundary(
        design,
        float(np.abs(found[0]).mean()),
        usage,
        _believed(job.bound, usage, estimate),
        rivals,
        target,
        best.price,
        symmetric,
        best.interval,
        job.done,
        float(np.abs(found[0]).max()),
        estimate,
    )


def optimal_boundaries(
    trial: TrialRun, tolerance: float, sizes: Sequence[int], growth: float = 1.0, **options: Unpack[Options]
) -> list[OptimalBoundary]:
    """`optimal_boundary` for several batch sizes.

    Parameters
    ----------
    trial, tolerance, growth
        As for `optimal_boundary`.
    sizes
        Values of m.
    **options
        symmetric, rule, progress and cancelled of `optimal_boundary`.

    Returns
    -------
    list of OptimalBoundary
        Sorted by data use, least first.

    Examples
    --------
    >>> trial = TrialRun.at_stationarity(20_000, 0.45, 30, np.random.default_rng(1))
    >>> [found.design.m for found in optimal_boundaries(trial, 0.03, [5000, 4000])]
    [4000, 5000]
    """
    if not sizes:
        raise BadInput("m: give at least one")
    found = [optimal_boundary(trial, tolerance, m, growth, **options) for m in sizes]
    return sorted(found, key=lambda one: one.usage)


def smallest_batch(n_data: int, growth: float = 1.0, looks: int = MOST_LOOKS) -> int:
    """The smallest batch that a search would consider, with at most MOST_LOOKS looks."""
    usual = usual_batch(n_data)
    return usual if growth > 1.0 else max(usual, -(-n_data // looks))


def bounds_of(design: Design | Plan) -> tuple[Floats, Floats, Floats]:
    """Shares of the data, lower and upper bounds at the interim looks of a test, for plots and tables."""
    plan = as_plan(design)
    pi = plan.schedule.pi[:-1]
    return pi, *plan.boundary.at(np.arange(pi.size), pi)


def _schedule(trial: TrialRun, m: int | None, growth: float) -> Schedule:
    """The looks, or BadInput if dynamic programming over them would be too expensive."""
    n_data = integer("n_data", trial.n_data, 3, MAX_N_DATA)  # there must be a look before the last
    if m is None:
        m = min(smallest_batch(n_data, check_growth(growth)), n_data - 1)
    schedule = Schedule.geometric(n_data, integer("m", m, 2, n_data - 1), growth)
    if schedule.size > MOST_LOOKS:
        raise BadInput(f"m = {m:,}: {schedule.size:,} looks; at most {MOST_LOOKS} are possible: raise m or the growth")
    if len(trial) > MOST_PAIRS:
        raise BadInput(f"{len(trial):,} pairs: at most {MOST_PAIRS:,} are possible; use some of them")
    return schedule


class _Job:
    """One call of `optimal_boundary`: evaluates, counts, and keeps the best bound and the best feasible rule."""

    def __init__(
        self,
        schedule: Schedule,
        trial: TrialRun,
        target: float,
        rule: Rule,
        symmetric: bool,
        progress: Progress | None,
        cancelled: Callable[[], bool] | None,
    ) -> None:
        self.schedule, self.trial, self.target, self.rule, self.symmetric = schedule, trial, target, rule, symmetric
        self.progress = progress or (lambda done, total: None)
        self.cancelled = cancelled or (lambda: False)
        self.reach, self.done = reach_of(trial), 0
        self.mixture = mixture(schedule, trial, rule)
        f = self.mixture.weights.mean(axis=0)
        self.f = 0.5 * (f + f[::-1]) if symmetric else f
        self.bound = schedule.m / schedule.n_data  # no test reads less than the first batch
        self.feasible: _Point | None = None

    # -- evaluating ---------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Report an evaluation; stop if cancelled."""
        if self.cancelled():
            raise Cancelled
        self.done += 1
        self.progress(self.done, max(80, self.done + self.done // 5))

    def measured(self, plan: Plan) -> Floats:
        """Δ, data use and so on of every pair, by the engine."""
        curve = curves(plan, self.reach, SEARCH_ACCURACY, verify=False)
        return integrate(curve, self.trial.log_acceptance, self.trial.kappa, self.rule == "barker")

    def evaluate(self, price: float, signs: Floats) -> _Point:
        """Solve the Bayes problem of a multiplier and signs."""
        self.step()
        s = price * (signs @ self.mixture.weights) / signs.size
        if self.symmetric:  # a symmetric rule errs equally on both sides, so only the mean of their costs counts
            s = 0.5 * (s - s[::-1])
        solved = solve(self.schedule, self.mixture.mu, self.f, s, price, 0.0 if self.symmetric else AGAINST)
        lower, upper = solved.lower, solved.upper
        if self.symmetric:
            upper = np.maximum(0.5 * (upper - lower), 0.0)
            lower = -upper
        plan = Plan(self.schedule, Boundary.explicit(lower, upper))
        delta, usage, *_ = self.measured(plan)
        bound = solved.value - price * self.target
        point = _Point(
            price, signs, plan, delta, float(np.abs(delta).mean()), float(usage.mean()), bound, solved.interval
        )
        self.bound = max(self.bound, bound)
        if point.error <= self.target and (self.feasible is None or point.usage < self.feasible.usage):
            self.feasible = point
        return point

    def rival(self, name: str, alphas: tuple[float, float], growth: float) -> Rival:
        """The best of a family at these looks."""
        space = Space(self.schedule.m, self.schedule.m, alphas, (growth,), (SMALLEST_EPSILON, 0.5))
        found = search(
            self.trial,
            self.target,
            space=space,
            rule=self.rule,
            skew=False,  # as the boundary is found: by the normal theory, for these pairs
            confidence=None,
            cancelled=self.cancelled,
        )
        self.step()
        largest = None if found.best is None else float(np.abs(self.measured(as_plan(found.best))[0]).max())
        return Rival(name, found.best, found.error, found.usage, largest)

    # -- maximising the bound -----------------------------------------------------------------------------------------

    def run(self, rivals: Sequence[Rival]) -> _Point:
        """Find the multiplier at which the best rule just meets the tolerance, and its signs."""
        price, signs = self.start(rivals)
        if self.feasible is not None and self.feasible.usage <= self.bound * (1.0 + FINE_GAP):
            return self.feasible  # a family already reads no more than the first batch
        tried: list[tuple[float, float]] = []  # log λ, log(error / tolerance)
        point = self.settle(price, signs, ROUGH_GAP)
        for _ in range(12):
            excess = math.log(max(point.error, 1e-300) / self.target)
            tried.append((math.log(point.price), excess))
            if abs(excess) < NEAR or not CHEAPEST < point.price < DEAREST:
                break
            point = self.settle(_next_price(tried), point.signs, ROUGH_GAP)
        point = self.settle(point.price, point.signs, FINE_GAP)
        return self.close(point, tried)

    def start(self, rivals: Sequence[Rival]) -> tuple[float, Floats]:
        """Start from the best rival: its signs, and the data that a little more tolerance would save."""
        known = [rival for rival in rivals if rival.design is not None]
        if not known:
            return 10.0, np.where(self.trial.log_acceptance < 0, 1.0, -1.0)
        best = min(known, key=lambda rival: rival.usage or 1.0).design
        assert best is not None
        plan = as_plan(best)
        bounds = plan.boundary.at(np.arange(self.schedule.size - 1), self.schedule.pi[:-1])
        delta, usage, *_ = self.measured(plan)
        wider = best.model_copy(update={"epsilon": min(0.5, 1.1 * best.epsilon)})
        other, less, *_ = self.measured(as_plan(wider))
        saved = usage.mean() - less.mean()
        price = saved / max(np.abs(other).mean() - np.abs(delta).mean(), 1e-9) if saved > 0 else 10.0
        price, signs = float(min(max(price, 0.1), 1e4)), np.where(delta < 0, -1.0, 1.0)
        size, explicit = float(np.abs(delta).mean()), Plan(self.schedule, Boundary.explicit(*bounds))
        if size <= self.target:  # to fall back on
            self.feasible = _Point(price, signs, explicit, delta, size, float(usage.mean()), -math.inf, True)
        return price, signs

    def settle(self, price: float, signs: Floats, gap: float) -> _Point:
        """Maximise the bound over the signs, up to `gap`; it is concave in them, and its gradient is Δ."""
        from scipy.optimize import minimize  # here, so that importing the package stays quick

        last: list[_Point] = []

        def falling(signs: Floats) -> tuple[float, Floats]:
            point = self.evaluate(price, signs.copy())
            last.append(point)
            if point.slack <= gap or _stalled([one.bound for one in last]):
                raise _Enough
            return -point.bound, -price * point.delta / signs.size

        try:
            options = {"maxfun": MOST_STEPS, "ftol": 1e-12, "gtol": 0.0}
            minimize(falling, signs, jac=True, method="L-BFGS-B", bounds=[(-1.0, 1.0)] * signs.size, options=options)
        except _Enough:
            pass
        return last[-1] if last[-1].slack <= gap else max(last, key=lambda point: point.bound)

    def close(self, point: _Point, tried: list[tuple[float, float]]) -> _Point:
        """Move the multiplier, with fixed signs, until the rule just meets the tolerance."""
        near: list[tuple[float, float]] = []
        for _ in range(25):
            excess = math.log(max(point.error, 1e-300) / self.target)
            near.append((math.log(point.price), excess))
            still = len(near) > 1 and abs(near[-1][0] - near[-2][0]) < STILL
            if -CLOSE <= excess <= 0.0 or still:
                break
            point = self.evaluate(
                _next_price(near if len(near) > 1 else [*tried[-2:], *near], 0.3 * CLOSE), point.signs
            )
        if self.feasible is None:
            raise NumericalFailure("no boundary found that meets the tolerance: the search did not converge")
        return self.feasible

    # -- the answer ---------------------------------------------------------------------------------------------------

    def annotated(self, best: _Point, growth: float) -> Design:
        """The rule as a design with predictions, its bounds rounded outwards if it then still meets the tolerance."""
        lower, upper = best.plan.boundary.lower, best.plan.boundary.upper
        assert lower is not None and upper is not None
        scale = 10.0**DECIMALS
        n_data, m = self.schedule.n_data, self.schedule.m
        rounded = np.floor(lower * scale) / scale + 0.0, np.ceil(upper * scale) / scale + 0.0
        design = Design.with_bounds(n_data, m, *rounded, growth=growth)
        if np.abs(self.measured(as_plan(design))[0]).mean() > self.target:
            design = Design.with_bounds(n_data, m, lower, upper, growth=growth)
        kind = f"average, all {'symmetric ' if self.symmetric else ''}boundaries"
        return evaluate(design, self.trial, self.rule, skew=False).annotated(self.target, kind)


def _estimate(design: Design) -> float:
    """The numerical error of a design's predictions."""
    assert design.predicted is not None and design.predicted.estimate is not None
    return design.predicted.estimate


def _believed(bound: float, usage: float, estimate: float) -> float:
    """The lower bound, unless the rule contradicts it: a rule that reads less refutes the dynamic program.

    Only differences within the numerical error are removed; otherwise a bound that is too high would look like a gap
    of 0.
    """
    if bound > usage + estimate:
        raise NumericalFailure(
            f"the lower bound, {bound:.6%} of the data, is above what a boundary reads, {usage:.6%}: the dynamic "
            "program is not resolved finely enough, and nothing is proven"
        )
    return min(bound, usage)


def _stalled(bounds: Sequence[float]) -> bool:
    """Whether the best bound has not risen for a while: the best rule jumps from one to another."""
    return len(bounds) > PATIENCE and max(bounds) < max(bounds[:-PATIENCE]) + STILL


def _next_price(tried: Sequence[tuple[float, float]], aim: float = 0.0) -> float:
    """The multiplier at which log(error / tolerance) should be -aim, by a secant through the two nearest tries.

    The error falls with the multiplier, roughly like its square: that is the slope where two tries do not give one.
    """
    (one, high), slope = min(tried, key=lambda pair: abs(pair[1])), -2.0
    others = sorted((pair for pair in tried if pair[0] != one), key=lambda pair: abs(pair[1]))
    if others:
        (two, low) = others[0]
        measured = (high - low) / (one - two)
        slope = min(max(measured, -8.0), -0.5) if measured < 0 else slope
    step = min(max(-(high + aim) / slope, -1.0), 1.0)
    return float(min(max(math.exp(one + step), CHEAPEST), DEAREST))
