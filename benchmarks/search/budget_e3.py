"""A time budget on E3, K14's digits at full size: fixed tests, schedules, control variates, and a distant start.

Part `e3` of `python -m benchmarks.search.budget`. The walk, prior and batches are those of E3
(`samplers.experiments.studies.e3`); the quantities are the predicted probabilities at some test points, divided by
their posterior sds.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.search.budget import (
    BudgetProblem,
    described,
    evaluations_per_datum,
    fixed_plans,
    mean_and_error,
    pilot,
    table,
)
from designer import Design, TrialRun
from designer.core.arrays import Floats
from designer.further.budget.epsilon import Option, Quantity, best_option, sensitivity
from designer.further.budget.phases import time_schedule, weighted
from samplers.chains.chain import Chain
from samplers.data.sources import load
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk

PRIOR_PRECISION, SCALE, M, CONTROLLED_M = 10.0, 0.01, 500, 100
EPSILONS = (0.01, 0.05, 0.1, 0.2)
TRUTH, PILOT, BLOCKS = 8000, 40_000, 10  # steps
POINTS = 60  # test points
DRAWS, CONTROLLED_DRAWS = 16.0, 1.0  # of the exact chain, in the whole time
REPEATS = 10
COLD_DRAWS, COLD_REPEATS = 8.0, 20
HOT, HOT_SHARE = 0.4, 0.1  # ε of the first phase from a distant start, and its share of the time
DISCARDS = (0.1, 0.2, 0.3, 0.4, 0.5)  # shares of the time that are left out as warm-up, the best of them


class Digits(NamedTuple):
    """The plain walk and the one with control variates."""

    plain: BudgetProblem
    controlled: BudgetProblem

    @classmethod
    def loaded(cls, folder: str | None) -> Digits:
        """All sevens and nines; a synthetic twin if there is no folder with them."""
        source = load("mnist79", folder)
        model = Logistic.from_data(source.x, source.y, PRIOR_PRECISION)
        mode = find_mode(model)
        proxies = Controlled.around(model, mode, 2)
        chain = Chain(proxies, ProxyStep.of(proxies), ExactTest(), mode, np.random.default_rng(0))
        chain.advance(100)
        draws = chain.advance(TRUTH).theta
        points = source.x_test[:: max(1, len(source.x_test) // POINTS)][:POINTS]

        def predictions(theta: Floats) -> Floats:
            return np.asarray(1.0 / (1.0 + np.exp(-theta @ points.T)))

        thinned = draws[::4]
        heat = predictions(thinned) / predictions(draws).std(axis=0)
        sensitive = sensitivity(heat, np.array([_log_posterior(source.x, source.y, theta) for theta in thinned]))
        walk = RandomWalk.isotropic(SCALE, mode.size)
        same = (walk, draws, source.origin, predictions, sensitive, 1.0)
        return cls(
            BudgetProblem.known_by(model, *same, M, EPSILONS),
            BudgetProblem.known_by(proxies, *same, CONTROLLED_M, EPSILONS),
        )


def _log_posterior(x: Floats, y: Floats, theta: Floats) -> float:
    """Log posterior of the logistic regression, up to a constant."""
    against = -(x @ theta) * np.where(np.asarray(y) > 0, 1.0, -1.0)
    return float(-np.logaddexp(0.0, against).sum() - 0.5 * PRIOR_PRECISION * theta @ theta)


def report(folder: str | None = None) -> list[str]:
    """The section of RESULTS.md: three tables."""
    digits = Digits.loaded(folder)
    n_data, size = digits.plain.model.n_data, digits.plain.draws.shape[1]
    plain, controlled = (pilot(problem, PILOT, BLOCKS) for problem in digits)
    return [
        f"## A time budget on E3: {size} parameters, N = {n_data:,}",
        "",
        f"Data: {digits.plain.origin}. Isotropic walk with steps of {SCALE:g}; the quantities are the predicted "
        f"probabilities of {POINTS} test points (sensitivity {digits.plain.sensitivity:.2f}). Risk per posterior "
        "variance, time in likelihood evaluations, exact decisions with a cache; predictions in brackets.",
        "",
        *stationary(digits.plain, *plain, "Without control variates", DRAWS),
        *stationary(digits.controlled, *controlled, "With control variates", CONTROLLED_DRAWS),
        *cold(digits.plain, plain[1].autocorrelation),
    ]


def stationary(problem: BudgetProblem, trial: TrialRun, quantity: Quantity, title: str, draws: float) -> list[str]:
    """Chains that start at a draw of the posterior, with a fixed test or with decreasing ε."""
    known, n_data = problem.options(trial, quantity), problem.model.n_data
    seconds = draws * quantity.autocorrelation * n_data
    falling = weighted([(option, seconds / len(EPSILONS)) for option in known[:0:-1]])
    best, schedule = best_option(known, seconds), time_schedule(known, seconds)
    plans = {**fixed_plans(known, seconds), "falling schedule": falling}
    return [
        f"{title} (m = {problem.m}, median κ {np.median(trial.kappa):.2g}, acceptance {known[0].acceptance:.2f}): "
        f"{REPEATS} chains of each from draws of the posterior, T = {seconds:.3g}, in which the exact chain makes "
        f"{draws:g} independent draws (autocorrelation {quantity.autocorrelation:.0f} steps). Falling schedule: "
        f"{described(falling, seconds)}.",
        "",
        *table(problem, plans, seconds / np.array([4.0, 2.0, 1.0]), REPEATS),
        "",
        f"Predicted spread √V over that of exact decisions: {_spreads(known)}. Best fixed test for T: {best.name}; "
        f"best schedule for T: {described(schedule, seconds)}, {1.0 - schedule.risk / best.risk(seconds):.1%} less "
        "risk.",
        "",
    ]


def _spreads(known: tuple[Option, ...]) -> str:
    exact = known[0].spread
    return ", ".join(f"{option.spread / exact:.2f} at ε = {option.epsilon:g}" for option in known[1:])


Parts = list[tuple[ExactTest | SequentialTest, float]]


def cold(problem: BudgetProblem, autocorrelation: float) -> list[str]:
    """Chains that start at 0: one test all the time, or first a loose test and then the exact test."""
    n_data = problem.model.n_data
    seconds = COLD_DRAWS * autocorrelation * n_data

    def test(epsilon: float) -> SequentialTest:
        return SequentialTest.from_design(Design(n_data, M, epsilon))

    ways: dict[str, Parts] = {"exact": [(ExactTest(), 1.0)]}
    ways |= {f"ε = {epsilon:g}": [(test(epsilon), 1.0)] for epsilon in (*EPSILONS, HOT)}
    ways[f"ε = {HOT:g} for {HOT_SHARE:.0%} of the time, then exact"] = [(test(HOT), HOT_SHARE), (ExactTest(), 1.0)]
    lines = [
        f"From θ = 0, far from the posterior: {COLD_REPEATS} chains of each, T = {seconds:.3g} ({COLD_DRAWS:g} "
        "independent draws of an exact chain that has arrived). Every strategy leaves out the first part of its time, "
        f"{_listed(DISCARDS)}, whichever of them gives it the least measured risk:",
        "",
        "| strategy | risk at T | left out |",
        "|---|---|---|",
    ]
    for name, parts in ways.items():
        with ThreadPoolExecutor(2) as pool:
            seen = np.array(list(pool.map(partial(_from_afar, problem, parts, seconds), range(COLD_REPEATS))))
        risk, se = mean_and_error(seen)
        at = int(np.argmin(risk))
        lines.append(f"| {name} | {risk[at]:.3f} ± {se[at]:.3f} | {DISCARDS[at]:.0%} |")
    return [*lines, ""]


def _listed(shares: tuple[float, ...]) -> str:
    return ", ".join(f"{share:.0%}" for share in shares)


def _from_afar(problem: BudgetProblem, parts: Parts, seconds: float, seed: int) -> Floats:
    """Squared errors of one chain from 0, for each share that is discarded."""
    chain = problem.chain(seed, np.zeros(problem.draws.shape[1]))
    clock, values, total = [], [], 0.0
    for test, until in parts:
        chain.use_test(test)
        while total < until * seconds:
            part = chain.advance(200)
            clock.append(total + np.cumsum(evaluations_per_datum(test) * part.n_used))
            values.append(problem.values(part.theta))
            total = float(clock[-1][-1])
    times, quantities = np.concatenate(clock), np.concatenate(values)
    used = [(times > share * seconds) & (times <= seconds) for share in DISCARDS]
    return np.array([float(np.mean((quantities[some].mean(axis=0) - problem.truth) ** 2)) for some in used])
