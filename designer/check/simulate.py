"""Simulation of the real test, to check the theory: Student statistics on samples without replacement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.check import _t_test_kernels
from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer, real
from designer.core.work import MOST_WORK, one_call, spend
from designer.engine.step_error import Rule, acceptance, check_rule, exact_probability
from designer.engine.walk import characteristics
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan
from designer.rule.t_test import fill_thresholds, student_bounds

MAX_POPULATION = 10**8
MAX_REPEATS = 10**8
ROUGHLY = 1e-3  # accuracy of the data use from which the work is counted


class Simulation(NamedTuple):
    """What happened in many tests at each standardised mean, with standard errors.

    Attributes
    ----------
    mu_std
        Standardised means.
    error, usage
        Share of wrong decisions, and mean share of the data read.
    error_se, usage_se
        Their standard errors.
    repeats
        Number of tests at each mean.

    Examples
    --------
    >>> seen = simulate(np.random.default_rng(1), Design(1000, 100, 0.05), [0.0, 20.0], repeats=1000)
    >>> seen.error.shape, float(seen.error[1])
    ((2,), 0.0)
    """

    mu_std: Floats
    error: Floats
    usage: Floats
    error_se: Floats
    usage_se: Floats
    repeats: int


class StepSimulation(NamedTuple):
    """What happened in many accept/reject steps with one pair (θ, θ'), with standard errors.

    Attributes
    ----------
    probability
        The exact acceptance probability.
    delta, wrong
        The error in it, measured against the exact decision with the same u, which keeps the noise small; and the
        share of wrong decisions.
    usage
        Mean share of the data read.
    delta_se, usage_se, wrong_se
        Standard errors.
    repeats
        Number of steps.

    Examples
    --------
    >>> l = np.random.default_rng(1).normal(0.0, 0.01, 10_000)
    >>> seen = simulate_step(np.random.default_rng(2), Design(10_000, 500, 0.05), l, repeats=1000)
    >>> abs(seen.delta) <= seen.wrong
    True
    """

    probability: float
    delta: float
    usage: float
    wrong: float
    delta_se: float
    usage_se: float
    wrong_se: float
    repeats: int


@one_call
def simulate(
    rng: np.random.Generator,
    design: Design | Plan,
    mu_std: npt.ArrayLike,
    repeats: int = 10_000,
    population: npt.ArrayLike | None = None,
) -> Simulation:
    """Run the real test many times at each standardised mean: Student statistics, samples without replacement.

    Parameters
    ----------
    rng
        Random numbers.
    design
        The test.
    mu_std
        Standardised means, (μ - μ₀) sqrt(N - 1) / σ.
    repeats
        Number of tests at each of them.
    population
        N numbers, shifted to each mean; drawn from a normal distribution by default.

    Returns
    -------
    Simulation
        The quantities that `characteristics` predicts, as observed.

    Examples
    --------
    >>> seen = simulate(np.random.default_rng(1), Design(12214, 500, 0.05), [0.0, 2.0], repeats=20_000)
    >>> bool(np.all(np.abs(seen.error - [0.30946, 0.03719]) < 4 * seen.error_se))
    True
    """
    plan, drifts = as_plan(design), np.atleast_1d(np.asarray(mu_std, dtype=np.float64))
    if not np.all(np.isfinite(drifts)):
        raise BadInput("mu_std: must be finite")
    repeats = integer("repeats", repeats, 1, MAX_REPEATS)
    values = _population(rng, plan, population)
    scale = values.std() / np.sqrt(values.size - 1.0)
    _spend(repeats, values.size, drifts.size, lambda: characteristics(plan, drifts, ROUGHLY).usage)
    test = _Tests(rng, plan, values)
    error, usage, error_se, usage_se = (np.empty(drifts.size) for _ in range(4))
    for i, drift in enumerate(drifts):
        accepted, used = test.run(np.full(repeats, values.mean() - drift * scale))
        wrong = int(np.count_nonzero(accepted != (drift > 0)))
        error[i], error_se[i] = wrong / repeats, _binomial_se(wrong, repeats)
        usage[i], usage_se[i] = used.mean(), used.std() / np.sqrt(repeats)
    return Simulation(drifts, error, usage, error_se, usage_se, repeats)


def pooled(parts: Sequence[Simulation]) -> Simulation:
    """Pool simulations of the same test at the same standardised means."""
    repeats = sum(part.repeats for part in parts)
    weight = np.array([part.repeats / repeats for part in parts])[:, None]
    error, usage = (np.sum(weight * [part[k] for part in parts], axis=0) for k in (1, 2))
    within = np.sum(weight * [part.repeats * part.usage_se**2 for part in parts], axis=0)
    between = np.sum(weight * (np.array([part.usage for part in parts]) - usage) ** 2, axis=0)
    error_se = np.array([_binomial_se(round(share * repeats), repeats) for share in error])
    return Simulation(parts[0].mu_std, error, usage, error_se, np.sqrt((within + between) / repeats), repeats)


@one_call
def simulate_step(
    rng: np.random.Generator,
    design: Design | Plan,
    population: npt.ArrayLike,
    log_ratio: float = 0.0,
    rule: Rule = "metropolis",
    repeats: int = 10_000,
) -> StepSimulation:
    """Run the real accept/reject step on log-likelihood differences lᵢ, with a fresh u each time (K14 Alg. 1).

    Parameters
    ----------
    rng
        Random numbers.
    design
        The test.
    population
        The lᵢ of one pair (θ, θ'), N of them.
    log_ratio
        c: minus the usual log ratio of priors and proposals (as in `TrialRun`).
    rule
        "metropolis" or "barker".
    repeats
        Number of steps.

    Returns
    -------
    StepSimulation
        The quantities that `acceptance` predicts for this pair, as observed.

    Examples
    --------
    >>> from designer import TrialRun, acceptance
    >>> l = np.random.default_rng(1).normal(-1e-4, 0.01, 10_000)
    >>> seen = simulate_step(np.random.default_rng(2), Design(10_000, 500, 0.05), l, repeats=4000)
    >>> trial = TrialRun(10_000, [l.mean()], [l.std()])
    >>> bool(abs(seen.delta - acceptance(Design(10_000, 500, 0.05), trial).delta[0]) < 4 * seen.delta_se)
    True
    """
    plan = as_plan(design)
    repeats = integer("repeats", repeats, 1, MAX_REPEATS)
    log_ratio = real("log_ratio", log_ratio, -1e300, 1e300)
    values = _population(rng, plan, population)
    mean, n_data = float(values.mean()), values.size
    a = n_data * mean - log_ratio
    u, v = 1.0 - rng.random(repeats), np.empty(repeats)  # u in (0, 1]
    barker = check_rule(rule) == "barker"
    fill_thresholds(u, barker, v)
    pair = TrialRun(n_data, [mean], [float(values.std())], [log_ratio])
    _spend(repeats, n_data, 1, lambda: acceptance(plan, pair, rule, ROUGHLY).usage)
    accepted, used = _Tests(rng, plan, values).run((v + log_ratio) / n_data)
    change = accepted.astype(np.float64) - (a > v)
    wrong = int(np.count_nonzero(change))
    return StepSimulation(
        float(exact_probability(np.array(a), barker)),
        float(change.mean()),
        float(used.mean()),
        wrong / repeats,
        float(np.hypot(change.std() / np.sqrt(repeats), 1.0 / repeats)),
        float(used.std() / np.sqrt(repeats)),
        _binomial_se(wrong, repeats),
        repeats,
    )


class _Tests:
    """The test of one plan on one population, ready to run many times."""

    def __init__(self, rng: np.random.Generator, plan: Plan, population: Floats) -> None:
        self.rng, self.population = rng, population
        self.mean = float(population.mean())
        self.looks = plan.schedule.n
        interim = np.arange(self.looks.size - 1)
        bounds = plan.boundary.at(interim, plan.schedule.pi[:-1])
        self.lower, self.upper = (student_bounds(bound, self.looks[:-1]) for bound in bounds)
        self.order = np.arange(population.size)

    def run(self, thresholds: Floats) -> tuple[npt.NDArray[np.bool_], Floats]:
        """Decisions and shares of the data used, one test per threshold μ₀."""
        accepted, used = np.empty(thresholds.size, dtype=np.bool_), np.empty(thresholds.size, dtype=np.int64)
        arrays = (self.looks, self.lower, self.upper, thresholds, self.order, accepted, used)
        _t_test_kernels.t_tests(self.rng, self.population, self.mean, *arrays)
        return accepted, used / self.population.size


def _population(rng: np.random.Generator, plan: Plan, given: npt.ArrayLike | None) -> Floats:
    """The given lᵢ, or Gaussian ones."""
    n_data = plan.schedule.n_data
    if n_data > MAX_POPULATION:
        raise BadInput(f"n_data = {n_data:,}: too large to simulate; must be at most {MAX_POPULATION:,}")
    if given is None:
        return rng.standard_normal(n_data)
    values = np.ascontiguousarray(given, dtype=np.float64)
    if values.shape != (n_data,):
        raise BadInput(f"population: has shape {values.shape}; the design is for n_data = {n_data:,}")
    if not np.all(np.isfinite(values)) or values.min() == values.max():
        raise BadInput("population: must be finite and not all equal")
    return values


def _spend(repeats: int, n_data: int, tests: int, usage: Callable[[], Floats]) -> None:
    """Count the data that are drawn, or refuse so many; the engine is asked for the data use only if it matters."""
    data = float(repeats) * n_data
    most = data * tests if data * tests <= MOST_WORK else data * float(usage().sum())
    spend(most, f"repeats = {repeats:,}, n_data = {n_data:,}", "take fewer repeats")


def _binomial_se(count: int, repeats: int) -> float:
    """Standard error of a proportion that does not vanish at 0 or 1: the posterior's under a uniform prior."""
    return float(np.sqrt((count + 1.0) * (repeats - count + 1.0) / (repeats + 3.0)) / (repeats + 2.0))
