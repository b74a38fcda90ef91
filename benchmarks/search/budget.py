"""Risk of fixed ε and of schedules in real chains: `python -m benchmarks.search.budget [PART ...] [--data DIR]`.

PART is `regression` (linear, on random data with symmetric lᵢ, for which the theory holds), `gains` (the predicted gain
of schedules over the best fixed test, without chains) or `e3` (K14's digits at full size: `budget_e3`). In the
regression the quantities are the posterior variances, which the errors of a test bias most. Time is counted in
likelihood evaluations, so that the figures do not depend on the load of the machine.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from designer import Cost, TrialRun
from designer.core.arrays import Floats
from designer.further.budget.epsilon import Option, Quantity, best_option, time_options
from designer.further.budget.phases import TimePlan, anytime_schedule, risk_over_time, time_schedule, weighted
from samplers.adapt.phases import Phases
from samplers.chains.chain import Chain
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.control import Controlled
from samplers.models.lasso import Lasso
from samplers.models.logistic import Logistic
from samplers.proposals import RandomWalk
from samplers.study.observe import observe

ROWS, COMPONENTS, M = 1000, 5, 100
SCALE = 0.11  # of the walk, in posterior sds
EPSILONS = (0.05, 0.2, 0.5)
EVALUATIONS = Cost(per_datum=2.0)
DRAWS = 64.0  # independent draws that an exact chain makes in the whole time
TRUTH, PILOT = 40_000, 200_000  # steps
REPEATS = 24
GAINS = (0.6, 0.8, 0.9, 0.95)  # acceptance rates


class BudgetProblem(NamedTuple):
    """A posterior with its true quantities, a random walk, and the tests to compare."""

    model: Logistic | Lasso | Controlled
    walk: RandomWalk
    draws: Floats  # of the exact posterior, nearly independent
    origin: str
    of: Callable[[Floats], Floats]  # quantities of draws
    scale: Floats  # their posterior sds
    truth: Floats  # their posterior means, over the sds
    sensitivity: float
    degree: float
    m: int
    epsilons: tuple[float, ...]

    @classmethod
    def regression(cls) -> BudgetProblem:
        """Linear regression with normal rows and noise and a flat prior, whose posterior is known exactly."""
        rng = np.random.default_rng(0)
        x = rng.standard_normal((ROWS, COMPONENTS))
        y = x.sum(axis=1) + rng.standard_normal(ROWS)
        covariance = np.linalg.inv(x.T @ x)
        draws = rng.multivariate_normal(covariance @ x.T @ y, covariance, TRUTH)
        model, centre = Lasso.from_data(x, y, precision=1.0, penalty=0.0), draws.mean(axis=0)

        def squares(theta: Floats) -> Floats:
            return np.asarray((theta - centre) ** 2)

        walk = RandomWalk.with_covariance(covariance, SCALE)
        return cls.known_by(model, walk, draws, "random", squares, math.sqrt(0.5), 2.0, M, EPSILONS)

    @classmethod
    def known_by(
        cls,
        model: Logistic | Lasso | Controlled,
        walk: RandomWalk,
        draws: Floats,
        origin: str,
        of: Callable[[Floats], Floats],
        sensitivity: float,
        degree: float,
        m: int,
        epsilons: tuple[float, ...],
    ) -> BudgetProblem:
        """A problem whose true means and sds of the quantities come from draws."""
        quantities = of(draws)
        scale = quantities.std(axis=0)
        return cls(
            model, walk, draws, origin, of, scale, quantities.mean(axis=0) / scale, sensitivity, degree, m, epsilons
        )

    def values(self, theta: Floats) -> Floats:
        """The quantities divided by their posterior sds."""
        return np.asarray(self.of(theta) / self.scale)

    def chain(self, seed: int, start: Floats | None = None) -> Chain:
        """An exact chain, from a draw of the posterior if no start is given."""
        rng = np.random.default_rng([1, seed])
        if start is None:
            start = self.draws[int(rng.integers(len(self.draws)))]
        return Chain(self.model, self.walk, ExactTest(), start, rng)

    def options(self, trial: TrialRun, quantity: Quantity) -> tuple[Option, ...]:
        """Predictions for the exact test and the sequential tests."""
        size = self.draws.shape[1]
        return time_options(trial, EVALUATIONS, quantity, m=[self.m], epsilons=self.epsilons, dimension=size)


def pilot(problem: BudgetProblem, steps: int = PILOT, blocks: int = 100) -> tuple[TrialRun, Quantity]:
    """Pairs of an exact chain, and its autocorrelation in the quantities from the means of long blocks."""
    chain = problem.chain(0)
    quantities = problem.values(chain.advance(steps).theta)
    means = np.array([block.mean(axis=0) for block in np.array_split(quantities, blocks)])
    tau = float(np.mean(means.var(axis=0, ddof=1))) * steps / blocks
    trial = observe(chain, 4000, 10).trial(problem.model.n_data)
    return trial, Quantity(tau, problem.sensitivity, problem.degree)


def followed(problem: BudgetProblem, plan: TimePlan, end: float, seed: int) -> tuple[Phases, Floats, Floats]:
    """Run a chain by a plan until a time: its phases, running sums of the quantities, and the evaluations so far."""
    tests = [test_of(phase.option) for phase in plan.phases]
    first = [(phase.steps, test) for phase, test in zip(plan.phases[:-1], tests[:-1], strict=True)]
    phases, chain = Phases.of(first, tests[-1]), problem.chain(seed)
    sums, spent, total = [np.zeros((1, problem.truth.size))], [np.zeros(1)], 0.0
    while total < end:
        factor = evaluations_per_datum(phases.at(chain.steps))
        left = [end - chain.steps for end in phases.ends if end > chain.steps]
        part = phases.advance(chain, min([2000, *left]))
        spent.append(total + np.cumsum(factor * part.n_used))
        sums.append(sums[-1][-1] + np.cumsum(problem.values(part.theta), axis=0))
        total = float(spent[-1][-1])
    return phases, np.concatenate(sums), np.concatenate(spent)


def test_of(option: Option) -> ExactTest | SequentialTest:
    """The test of an option."""
    return ExactTest() if option.design is None else SequentialTest.from_design(option.design)


def evaluations_per_datum(test: object) -> float:
    """One if log p(xᵢ; θ) is cached, otherwise two."""
    return 1.0 if isinstance(test, ExactTest) else 2.0


def _estimate(plan: TimePlan, phases: Phases, sums: Floats, clock: Floats, time: float) -> Floats:
    """The estimate at a time: the means of the phases so far, with the best weights for the time they took."""
    steps = int(np.searchsorted(clock, time, side="right")) - 1
    ends = [min(end, steps) for end in phases.ends] + [steps]
    begins = [0, *ends[:-1]]
    parts = [(b, e, phase.option) for b, e, phase in zip(begins, ends, plan.phases, strict=True) if e > b]
    weights = weighted([(option, float(clock[e] - clock[b])) for b, e, option in parts]).weights
    means = np.array([(sums[e] - sums[b]) / (e - b) for b, e, _ in parts])
    return np.asarray(weights @ means)


class Curve(NamedTuple):
    """Risk of a strategy at the times, measured with standard errors, and predicted."""

    risk: Floats
    se: Floats
    predicted: Floats


def measure(problem: BudgetProblem, plan: TimePlan, times: Floats, repeats: int) -> Curve:
    """Mean squared error over the repetitions and quantities."""

    def errors(seed: int) -> Floats:
        run = followed(problem, plan, float(times[-1]), seed)
        estimates = np.array([_estimate(plan, *run, time) for time in times.tolist()])
        return np.asarray(((estimates - problem.truth) ** 2).mean(axis=1))

    with ThreadPoolExecutor(2) as pool:
        seen = np.array(list(pool.map(errors, range(repeats))))
    return Curve(*mean_and_error(seen), risk_over_time(plan, times.tolist()))


def mean_and_error(seen: Floats) -> tuple[Floats, Floats]:
    """Mean and standard error over the first axis."""
    return np.asarray(seen.mean(axis=0)), np.asarray(seen.std(axis=0, ddof=1) / math.sqrt(len(seen)))


def fixed_plans(known: tuple[Option, ...], seconds: float) -> dict[str, TimePlan]:
    """Plans with one test all the time."""
    return {short(option): weighted([(option, seconds)]) for option in known}


def short(option: Option) -> str:
    """A short name for a test."""
    return "exact" if option.design is None else f"ε = {option.epsilon:g}"


def described(plan: TimePlan, seconds: float) -> str:
    """The phases of a plan in words."""
    return ", then ".join(
        f"{short(phase.option)} for {phase.seconds / seconds:.0%} of the time with weight {phase.weight:.2f}"
        for phase in plan.phases
    )


def table(problem: BudgetProblem, plans: Mapping[str, TimePlan], times: Floats, repeats: int) -> list[str]:
    """Measured risk of all plans, with predictions in brackets."""
    curves = {strategy: measure(problem, plan, times, repeats) for strategy, plan in plans.items()}
    fixed = [strategy for strategy in plans if "schedule" not in strategy]
    best = np.min([curves[strategy].risk for strategy in fixed], axis=0)
    seconds = float(times[-1])
    head = " | ".join(f"T/{seconds / time:.0f}" if time < seconds else "T" for time in times.tolist())
    lines = [
        f"| strategy | temperature | evaluations per step | {head} | worst, over the best fixed test at that time |",
        "|---|---|---|" + "---|" * (times.size + 1),
    ]
    for strategy, curve in curves.items():
        cells = " | ".join(f"{risk:.4f} ± {se:.4f} ({guess:.4f})" for risk, se, guess in zip(*curve, strict=True))
        last = plans[strategy].phases[-1].option
        knobs = f"{last.temperature:.2f} | {last.seconds:.0f}" if strategy in fixed else "– | –"
        lines.append(f"| {strategy} | {knobs} | {cells} | {float(np.max(curve.risk / best)):.2f} |")
    return lines


def regression(repeats: int = REPEATS) -> list[str]:
    """Schedules and fixed tests on a problem for which the theory holds."""
    problem = BudgetProblem.regression()
    trial, quantity = pilot(problem)
    known = problem.options(trial, quantity)
    seconds = DRAWS * quantity.autocorrelation * ROWS
    schedule = time_schedule(known, seconds)
    plans = fixed_plans(known, seconds)
    plans |= {"schedule for T": schedule, "anytime schedule": anytime_schedule(known, seconds)}
    fixed_best = best_option(known, seconds).risk(seconds)
    return [
        f"## A time budget: regression, {COMPONENTS} parameters, N = {ROWS:,}, m = {M}",
        "",
        f"Risk of the posterior variances, per posterior variance of what is averaged, against time in likelihood "
        f"evaluations; T = {seconds:.3g}, in which the exact chain makes {DRAWS:g} independent draws "
        f"(autocorrelation {quantity.autocorrelation:.0f} steps). {repeats} chains of each; predictions in brackets.",
        "",
        *table(problem, plans, seconds / 2.0 ** np.arange(5, -1, -1), repeats),
        "",
        f"Schedule for T: {described(schedule, seconds)}; predicted risk {schedule.risk:.4f}, against {fixed_best:.4f} "
        "for the best fixed test.",
        "",
    ]


def gains() -> list[str]:
    """Predicted gain of the best schedule over the best fixed test, at the time where it is largest."""
    n_data, m = 2000, 100
    lines = [
        "### What schedules are predicted to gain",
        "",
        f"Made-up pairs (N = {n_data:,}, m = {m}, 24 values of ε and exact decisions, in the limit of many parameters) "
        "of a quantity with sensitivity 0.3; at the time T at which the best schedule gains most over the best fixed "
        "test. Worst: the largest factor over the best test for each time, up to 128 times shorter than the time at "
        "which exact decisions become best, of the anytime schedule and of the best fixed test.",
        "",
        "| acceptance | exact decisions with a cache | gain | of schedule | worst, anytime | worst, fixed |",
        "|---|---|---|---|---|---|",
    ]
    for rate in GAINS:
        trial = TrialRun.at_stationarity(n_data, rate, 60, np.random.default_rng(1))
        for cached in (True, False):
            exact = n_data * (1.0 if cached else 2.0)
            known = time_options(trial, EVALUATIONS, Quantity(100.0, 0.3), m=[m], exact_seconds=exact)
            lines.append(f"| {rate:g} | {'yes' if cached else 'no'} | {_gain(known)} |")
    return [*lines, ""]


def _gain(known: tuple[Option, ...]) -> str:
    """Table cells for the largest gain: its size, the schedule, and the worst factors."""
    times = known[0].spread ** 2 * np.geomspace(0.1, 1e6, 141)
    plans = [time_schedule(known, time) for time in times.tolist()]
    best = np.array([best_option(known, time).risk(time) for time in times.tolist()])
    gain = 1.0 - np.array([plan.risk for plan in plans]) / best
    at = int(np.argmax(gain))
    needed = [time for time in times.tolist() if best_option(known, time).design is not None]
    if not needed:
        return "0% | exact decisions are best at every T | 1.00 | 1.00"
    end = 2.0 * needed[-1]
    grid = end * np.geomspace(1 / 128, 1, 60)
    least = np.array([best_option(known, time).risk(time) for time in grid.tolist()])
    anytime = risk_over_time(anytime_schedule(known, end), grid.tolist()) / least
    fixed = [np.array([option.risk(time) for time in grid.tolist()]) / least for option in known]
    schedule = described(plans[at], float(times[at])) if gain[at] > 5e-4 else "–"
    return f"{gain[at]:.1%} | {schedule} | {anytime.max():.2f} | {min(one.max() for one in fixed):.2f}"


def report(parts: tuple[str, ...] = ("regression", "gains", "e3"), folder: str | None = None) -> list[str]:
    """The sections of RESULTS.md."""
    from benchmarks.search import budget_e3

    of: dict[str, Callable[[], list[str]]] = {
        "regression": regression,
        "gains": gains,
        "e3": lambda: budget_e3.report(folder),
    }
    return [line for part in parts for line in of[part]()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["regression", "gains", "e3"], metavar="PART")
    parser.add_argument("--data", metavar="DIR", help="folder with the digits (default: a synthetic twin)")
    given = parser.parse_args()
    print("\n".join(report(tuple(given.parts), given.data)))


if __name__ == "__main__":
    main()
