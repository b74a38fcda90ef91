"""The calculator on any input that docs/limits.md allows: numbers that theorems allow, or a refusal, in bounded work.

Each check draws an input, calls one or a few public functions, and asserts what theory says of the answer. The suite
runs them at a few fixed inputs (`test_numerics.py`); `make fuzz TARGETS=numbers_acceptance` and so on at many.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import austerity as au
from designer.core.work import MOST_WORK, work_done
from designer.further.posterior.independent import IndependentPairs, WeightedStates, moves
from designer.pairs.limits import LARGEST
from designer.rule.boundary import LEAST_EPSILON
from designer.rule.looks import MAX_GROWTH, MAX_N_DATA, MIN_GROWTH
from designer.rule.plan import as_plan

ROUNDING = 1e-12
CHECKED_BEFORE_STOP = 6  # times that a search asks whether it is cancelled, before it is
SEARCHED = CHECKED_BEFORE_STOP + 1  # evaluations of a search by then, each within the limit of one call
RULES = st.sampled_from(["metropolis", "barker"])

# --- inputs -----------------------------------------------------------------------------------------------------------


def spread(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers of every order of magnitude between both."""
    ends = math.log10(low), math.log10(high)
    return st.floats(*ends).map(lambda power: min(max(10.0**power, low), high)) | st.sampled_from([low, high])


def whole(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole numbers of every order of magnitude."""
    return spread(low, high).map(lambda value: min(max(round(value), low), high))


@st.composite
def designs(draw: st.DrawFn, n_data: int | None = None) -> au.Design:
    """Any design."""
    n_data = draw(whole(2, MAX_N_DATA)) if n_data is None else n_data
    alpha = draw(st.sampled_from([0.5, 1.0]) | st.floats(0.5, 1.0))
    growth = draw(st.just(1.0) | spread(MIN_GROWTH, MAX_GROWTH))
    return au.Design(n_data, draw(whole(2, n_data)), draw(spread(LEAST_EPSILON, 0.5)), alpha, growth)


@st.composite
def plans(draw: st.DrawFn) -> au.Plan:
    """Any looks and bounds, also ones that nobody would choose."""
    n_data = draw(whole(3, MAX_N_DATA))
    looks = sorted(draw(st.sets(whole(2, n_data - 1), min_size=1, max_size=8)))
    bounds = [sorted(draw(st.tuples(*[st.floats(-40.0, 40.0) | st.sampled_from([-9.0, 9.0])] * 2))) for _ in looks]
    return au.Plan(au.Schedule.explicit(n_data, looks), au.Boundary.explicit(*zip(*bounds, strict=True)))


@st.composite
def trials(draw: st.DrawFn, n_data: int, pairs: int = 4, *, extreme: bool = True) -> au.TrialRun:
    """Pairs as a chain has them, or as nobody would expect them."""
    if not draw(st.booleans()) or not extreme:
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        found = au.TrialRun.at_stationarity(n_data, draw(st.floats(0.02, 0.98)), pairs, rng, draw(st.floats(0.0, 2.0)))
        return au.TrialRun(n_data, found.mu, found.sigma, skew=rng.normal(size=pairs) * draw(st.floats(0.0, 5.0)))
    sizes = spread(1.0 / LARGEST, LARGEST) | spread(1e-6, 1e6)
    mu = [draw(sizes) * draw(st.sampled_from([-1.0, 0.0, 1.0])) for _ in range(pairs)]
    skew = [draw(st.floats(-1e3, 1e3)) for _ in range(pairs)] if draw(st.booleans()) else None
    return au.TrialRun(n_data, mu, [draw(sizes) for _ in range(pairs)], skew=skew)


# --- what is checked --------------------------------------------------------------------------------------------------


CHECKS: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {}  # by name: a function, and strategies for it


def check(*strategies: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """List a function among the checks, with what it takes."""

    def listed(function: Callable[..., None]) -> Callable[..., None]:
        CHECKS[f"numbers_{function.__name__}"] = function, strategies
        return function

    return listed


def property_of(name: str) -> Any:
    """A check as a Hypothesis test."""
    function, strategies = CHECKS[name]
    return given(*strategies)(function)


@contextmanager
def answers(calls: float = 1) -> Iterator[None]:
    """The block answers or refuses in one line, without warnings, within the limit of so many calls."""
    before = work_done()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refusal: Exception | None = None
        try:
            yield
        except (au.BadInput, au.NumericalFailure) as caught:
            refusal = caught
        except au.Cancelled:
            pass
    assert refusal is None or (str(refusal) and "\n" not in str(refusal))
    assert work_done() - before <= calls * MOST_WORK


def soon() -> Callable[[], bool]:
    """Asks to stop, after a few questions: what goes on for long must ask."""
    asked: list[None] = []

    def cancelled() -> bool:
        asked.append(None)
        return len(asked) > CHECKED_BEFORE_STOP

    return cancelled


def within(values: Any, low: float, high: float, slack: float = 0.0) -> None:
    """Every value is a number from low to high, up to its numerical error."""
    values = np.asarray(values, dtype=np.float64)
    assert np.all(np.isfinite(values)), values
    assert np.all((values >= low - slack - ROUNDING) & (values <= high + slack + ROUNDING)), (values, low, high)


def falls(values: Any, slack: float) -> None:
    """The values never rise by more than their numerical error."""
    assert np.all(np.diff(values) <= slack + ROUNDING), values


def check_step(step: au.Acceptance, trial: au.TrialRun, plan: au.Plan) -> None:
    """What theory says of one step; NaN only where the remark says why."""
    known, slack = np.isfinite(step.delta), 2.0 * step.estimate
    assert known.all() or step.remark
    assert np.array_equal(np.isnan(step.delta), np.isnan(step.usage))
    within(step.probability, 0.0, 1.0)
    within((step.probability + step.delta)[known], 0.0, 1.0, slack)
    within(step.usage[known], plan.schedule.m / plan.schedule.n_data, 1.0, slack)
    within(step.wrong[known], 0.0, 1.0, slack)
    if step.source == "normal theory":
        assert np.all(np.abs(step.delta) <= step.wrong + slack + ROUNDING)


@check(designs() | plans(), st.lists(spread(1e-9, 1e12), max_size=5), spread(1e-12, 0.01))
def characteristics(design: au.Design | au.Plan, drifts: list[float], tolerance: float) -> None:
    """Error and data use at 0 and rising drifts of both signs; the worst case; where the test stops."""
    plan = as_plan(design)
    mu, first = np.array([0.0, *sorted(drifts)]), plan.schedule.m / plan.schedule.n_data
    with answers(2):
        curve = au.characteristics(plan, np.concatenate([mu, -mu]), tolerance)
        slack = 2.0 * curve.estimate
        within(curve.error, 0.0, 1.0, slack)
        within(curve.usage, first, 1.0, slack)
        for side in (curve.error[1 : mu.size], curve.error[mu.size + 1 :]):
            falls(side, slack)
        if plan.boundary.symmetric:
            within(curve.error, 0.0, 0.5, slack)
            falls(curve.usage[: mu.size], slack)
            worst = au.worst_case(plan, tolerance)
            within(worst.error - curve.error[0], 0.0, 0.0, slack + worst.estimate)
    with answers():
        look = au.stopping(plan, float(mu[-1]), tolerance)
        within(np.concatenate([look.accept, look.reject]), 0.0, 1.0, 1e-6)
        within((look.accept + look.reject).sum(), 1.0, 1.0, 1e-6)


@check(st.data(), designs(), RULES, st.just(1e-10) | spread(1e-12, 0.01))
def acceptance(data: st.DataObject, design: au.Design, rule: Any, tolerance: float) -> None:
    """Δ and data use of pairs, with and without skewness, and by the best source."""
    trial, plan = data.draw(trials(design.n_data)), as_plan(design)
    with answers():
        check_step(au.acceptance(design, trial, rule, tolerance), trial, plan)
    with answers():
        check_step(au.acceptance(design, trial, rule, tolerance, skew=True), trial, plan)
    with answers():
        found = au.predict(design, trial, rule, tolerance)
        bounded = np.array([source == "distribution-free bound" for source in found.sources])
        within(found.step.delta[bounded], 0.0, 1.0)  # what |Δ| is at most
        check_step(found.step._replace(delta=np.where(bounded, 0.0, found.step.delta)), trial, plan)
    with answers():
        bound = au.one_look_bound(design, trial, rule)
        assert np.all(bound >= 0.0) and not np.any(np.isnan(bound))


@check(st.data(), designs(), RULES, st.none() | whole(1, 10**9), st.floats(-1.5, 1.5))
def posterior(data: st.DataObject, design: au.Design, rule: Any, dimension: int | None, skewness: float) -> None:
    """What a test does to the posterior."""
    trial = data.draw(trials(design.n_data))
    with answers():
        effect = au.posterior_error(design, trial, rule, dimension=dimension, skewness=skewness)
        within([effect.acceptance, effect.total_variation, effect.mean_abs_delta], 0.0, 1.0, 1e-6)
        within([effect.contraction, effect.theorem_1_bound], 0.0, 1.0, 1e-6)
        assert effect.sd_ratio > 0.0 and math.isfinite(effect.sd_ratio) and math.isfinite(effect.bias)


@check(st.data(), whole(2, MAX_N_DATA), RULES, spread(1e-3, 1e12), spread(1e-9, 1e9))
def budget(data: st.DataObject, n_data: int, rule: Any, autocorrelation: float, seconds: float) -> None:
    """Tests for a time budget, and the schedules made of them."""
    trial, cost = data.draw(trials(n_data)), au.Cost(fixed=1e-6, per_datum=data.draw(spread(1e-12, 1.0)))
    quantity = au.Quantity(autocorrelation, data.draw(st.floats(-1e6, 1e6)), data.draw(st.floats(0.0, 10.0)))
    m, epsilons = data.draw(whole(2, n_data)), data.draw(st.lists(spread(LEAST_EPSILON, 0.5), min_size=1, max_size=2))
    with answers(SEARCHED):
        known = au.time_options(trial, cost, quantity, rule, m=[m], epsilons=epsilons, cancelled=soon())
        for option in known:
            within([option.usage, option.acceptance], 0.0, 1.0, 1e-6)
            assert math.isfinite(option.bias) and option.seconds > 0.0 and math.isfinite(option.risk(seconds))
        fixed = min(option.risk(seconds) for option in known)
        plan = au.time_schedule(known, seconds)
        assert plan.risk <= fixed * (1.0 + 1e-9)
        within(plan.weights.sum(), 1.0, 1.0)
        assert au.anytime_schedule(known, seconds).risk >= 0.0
    with answers(SEARCHED):
        au.best_epsilon(trial, seconds, cost, quantity, rule, m=[m], cancelled=soon())


@check(st.data(), whole(2, MAX_N_DATA), spread(1e-6, 1.0), RULES)
def searches(data: st.DataObject, n_data: int, tolerance: float, rule: Any) -> None:
    """The best design, the best step and the tolerance: cancelled soon, so that all begin and none goes on."""
    trial = data.draw(trials(n_data, 20))
    options: dict[str, Any] = {"rule": rule, "workers": 1}
    with answers(SEARCHED):
        found = au.search(trial, tolerance, "fixed-m", cancelled=soon(), **options)
        assert found.best is None or found.limit <= tolerance
    with answers(SEARCHED):
        au.best_step(trial, tolerance, [data.draw(spread(1e-3, 1e3))], cancelled=soon(), **options)
    with answers(SEARCHED):
        au.tolerance_for(trial, data.draw(spread(1e-6, 10.0)), rule=rule, cancelled=soon())
    with answers():
        worst = au.search(None, tolerance, "worst-case", n_data=n_data, grid=au.Grid([n_data], [0.05]))
        assert worst.best is None or worst.error <= tolerance


@check(st.data(), whole(3, MAX_N_DATA), spread(1e-6, 1.0), RULES, st.booleans())
def boundary(data: st.DataObject, n_data: int, tolerance: float, rule: Any, symmetric: bool) -> None:
    """The best of all boundaries: cancelled soon."""
    trial, m = data.draw(trials(n_data, 8)), data.draw(whole(max(2, n_data // 30), n_data - 1))
    with answers(SEARCHED):
        au.optimal_boundary(trial, tolerance, m, symmetric=symmetric, rule=rule, cancelled=soon())


@check(st.data(), whole(2, 2000), whole(1, 10**8), RULES)
def simulations(data: st.DataObject, n_data: int, repeats: int, rule: Any) -> None:
    """Simulated tests: as many as asked for, or a refusal. Small ones are run."""
    design, rng = data.draw(designs(n_data)), np.random.default_rng(1)
    few = min(repeats, 50)
    with answers():
        seen = au.simulate(rng, design, [0.0, data.draw(st.floats(-1e6, 1e6))], few)
        within(seen.error, 0.0, 1.0)
        within(seen.usage, design.m / n_data, 1.0)
    values = rng.standard_normal(n_data) * data.draw(spread(1e-50, 1e50))
    with answers():
        step = au.simulate_step(rng, design, values, repeats=few, rule=rule)
        within([step.probability, step.usage, step.wrong], 0.0, 1.0)
        assert abs(step.delta) <= step.wrong + ROUNDING
    with answers():
        trial = au.TrialRun(n_data, [values.mean()], [values.std()], residuals=au.Residuals.of([values]))
        found = au.resampled(design, trial, rule, draws=10_000)
        assert np.all(np.isnan(found.usage) | ((found.usage > 0.0) & (found.usage <= 1.0 + ROUNDING)))


@check(st.data(), designs())
def judgements(data: st.DataObject, design: au.Design) -> None:
    """Whether to trust a design: summaries, tails and bands."""
    trial = data.draw(trials(design.n_data, 20))
    with answers():
        summary = au.summarise(trial)
        within(summary.probability.mean, 0.0, 1.0)
    with answers():
        au.tail_check(design, data.draw(st.floats(-1e3, 1e3)))
    with answers():
        band = au.bootstrap(np.random.default_rng(1), design, trial, repeats=10).usage
        assert not band.low > band.high
    with suppress(au.BadInput):
        within(au.stationary_bound(data.draw(st.floats(0.0, 1.0)), data.draw(st.floats(0.0, 1.0))), 0.0, 1.0)


@check(st.data(), whole(100, 10**6), spread(1e-3, 1.0), RULES)
def fresh_pairs(data: st.DataObject, n_data: int, tolerance: float, rule: Any) -> None:
    """Designs on pairs that they were not made for, all tests at their best, several boundaries: cancelled soon."""
    trial, rng = data.draw(trials(n_data, 20, extreme=False)), np.random.default_rng(1)
    options: dict[str, Any] = {"rule": rule, "workers": 1}
    with answers(SEARCHED):
        points = au.frontier(trial, [tolerance], trial, ["fixed-m"], cancelled=soon(), **options)
        assert all(point.train_limit is None or point.train_limit <= tolerance for point in points)
    with answers(SEARCHED):
        found = au.cross_validate(rng, trial, tolerance, "fixed-m", folds=2, cancelled=soon(), **options)
        assert found.test_error is None or 0.0 <= found.test_error <= 1.0
    with answers(SEARCHED):
        au.best_candidates(trial, tolerance, cancelled=soon())
    with answers(SEARCHED):
        au.optimal_boundaries(trial, tolerance, [n_data // 4 + 2, n_data // 2], rule=rule, cancelled=soon())


@check(st.data(), designs(), RULES)
def both_theories(data: st.DataObject, design: au.Design, rule: Any) -> None:
    """With and without skewness at once: what `acceptance` says of each."""
    trial = data.draw(trials(design.n_data))
    with answers(3):
        both = au.predictions(design, trial, rule)
        assert np.array_equal(both.gaussian.delta, au.acceptance(design, trial, rule).delta)
        if both.skewed is not None:
            again = au.acceptance(design, trial, rule, skew=True)
            assert np.array_equal(both.skewed.delta, again.delta, equal_nan=True)


@check(st.floats(0.0, 1.0), st.floats(0.0, 1.0), whole(1, 10**15))
def bounds(delta_max: float, eta: float, sites: int) -> None:
    """Bounds of sweeps: probabilities, not below that of one site."""
    with answers():
        found = au.sweep_bound(delta_max, eta, sites)
        within(found, 0.0, 1.0)
        assert found >= au.stationary_bound(delta_max, eta)


@check(st.data(), whole(2, 2000), whole(1, 10**8))
def first_looks(data: st.DataObject, n_data: int, repeats: int) -> None:
    """Whether the first look's statistic is Student's."""
    rng, design = np.random.default_rng(1), data.draw(designs(n_data))
    values = rng.standard_normal(n_data) * data.draw(spread(1e-50, 1e50)) + data.draw(st.floats(-1e50, 1e50))
    with answers():
        found = au.student_check(rng, design, values, min(repeats, 200))
        within([found.accept, found.reject], 0.0, 1.0)


@check(designs(1000), st.integers(0, 99), spread(1e-6, 1.0), RULES)
def independent(design: au.Design, seed: int, noise: float, rule: Any) -> None:
    """What a test does to the posterior of a chain with independent proposals."""
    rng = np.random.default_rng(seed)
    states = WeightedStates.of(rng.standard_normal((80, 2)), rng.normal(size=80) * 0.3, np.zeros(80))
    old, new = moves(rng, 80)
    trial = au.TrialRun(1000, np.zeros(old.size), np.full(old.size, noise), skew=np.zeros(old.size))
    with answers():
        effect = au.independent_error(design, IndependentPairs(states, old, new, trial), rule)
        within([effect.acceptance, effect.mean_abs_delta], 0.0, 1.0, 1e-6)
        assert np.all(np.isfinite(effect.bias)) and np.all(effect.sd_ratio > 0.0)


@check(st.integers(0, 99), whole(20, 500), spread(1e-3, 10.0), RULES)
def minibatches(seed: int, n_data: int, scale: float, rule: Any) -> None:
    """The exact mini-batch test before any chain."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_data, 2)) * scale
    model = au.Logistic.from_data(x, rng.random(n_data) < 0.5, prior_precision=1.0)
    with answers():
        controlled = au.Controlled.around(model, au.find_mode(model))
        walk = au.RandomWalk.isotropic(0.1, 2)
        found = au.predict_minibatch(rng, controlled, walk, rule=rule, pairs=5)
        _, best = au.best_minibatch_step(rng, controlled, walk, rule=rule, pairs=3)
        for one in (found, best):
            within([one.acceptance, one.everything], 0.0, 1.0)
            within(one.rows, 0.0, n_data)
            assert one.per_draw > 0.0 and one.acceptance_se >= 0.0


def _target(name: str) -> Callable[[bytes], bool]:
    found = property_of(name)
    return lambda data: found.hypothesis.fuzz_one_input(data) is None


TARGETS: dict[str, Callable[[bytes], bool]] = {name: _target(name) for name in CHECKS}
SEEDS = [np.random.default_rng(seed).bytes(1500) for seed in range(20)]
