"""Risk of fixed epsilons and of schedules, by real chains: `python -m benchmarks.budget [PROBLEM] [--repeats R]`.

PROBLEM is `regression` (linear, on random data, whose l_i are symmetric: what the theory is about) or `digits` (the
model of E3 on a few principal components of some of the digits, from `--data DIR` or a synthetic twin: l_i so skewed
that small batches are not normal). Both have short steps and few parameters: a long exact run can tell the truth, and
chains are so fast that each strategy can be repeated. The quantities are the posterior variances, which a test's errors
bias most. Time is counted in likelihood evaluations, so that the figures do not depend on what else a machine does.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from designer import Cost, TrialRun
from designer.further.budget import Option, Quantity, best_option, time_options
from designer.further.phases import TimePlan, anytime_schedule, risk_over_time, time_schedule, weighted
from designer.schedule import Floats
from samplers.accept.exact import ExactTest
from samplers.accept.sequential import SequentialTest
from samplers.chain import Chain
from samplers.control import Controlled, find_mode
from samplers.models.lasso import Lasso
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.schedules import Phases
from samplers.sources import load
from samplers.trial import observe

ROWS, COMPONENTS, M = 1000, 5, 100
SCALE = 0.11  # of the walk, in posterior sds
EPSILONS = (0.05, 0.2, 0.5)
DRAWS = 64.0  # independent draws that an exact chain makes in the whole time
CHECKS = 6  # times at which risk is measured, each twice the one before
TRUTH, PILOT = 40_000, 200_000  # steps
REPEATS = 24


class Problem(NamedTuple):
    """A posterior, what is true of it, and the walk on it."""

    model: Logistic | Lasso
    walk: RandomWalk
    draws: Floats  # of the exact posterior, nearly independent
    origin: str

    @classmethod
    def digits(cls, folder: str | None) -> Problem:
        """Sevens and nines; a synthetic twin if there is no folder with them."""
        source = load("mnist79", folder, ROWS)
        model = Logistic.from_data(source.x[:, :COMPONENTS], source.y, 10.0)
        mode = find_mode(model)
        proxies = Controlled.around(model, mode, 2)
        chain = Chain(proxies, ProxyStep.of(proxies), ExactTest(), mode, np.random.default_rng(0))
        chain.advance(100)
        walk = RandomWalk.with_covariance(np.linalg.inv(proxies.posterior_precision()), SCALE)
        return cls(model, walk, chain.advance(TRUTH).theta, source.origin)

    @classmethod
    def regression(cls) -> Problem:
        """Linear, with normal rows and noise and a flat prior: the posterior is known, and so are its draws."""
        rng = np.random.default_rng(0)
        x = rng.standard_normal((ROWS, COMPONENTS))
        y = x.sum(axis=1) + rng.standard_normal(ROWS)
        covariance = np.linalg.inv(x.T @ x)
        draws = rng.multivariate_normal(covariance @ x.T @ y, covariance, TRUTH)
        model = Lasso.from_data(x, y, precision=1.0, penalty=0.0)
        return cls(model, RandomWalk.with_covariance(covariance, SCALE), draws, "random")

    def squares(self, theta: Floats) -> Floats:
        """The quantities: squared deviations, over their own posterior sd; each has mean 1 / sqrt(2) or so."""
        away = (theta - self.draws.mean(axis=0)) ** 2
        return np.asarray(away / ((self.draws - self.draws.mean(axis=0)) ** 2).std(axis=0))

    def chain(self, seed: int) -> Chain:
        """Exact, from a draw of the posterior."""
        rng = np.random.default_rng([1, seed])
        start = self.draws[int(rng.integers(len(self.draws)))]
        return Chain(self.model, self.walk, ExactTest(), start, rng)


def pilot(problem: Problem) -> tuple[TrialRun, Quantity]:
    """Pairs of an exact chain, and what it tells of the quantities: its autocorrelation; sensitivity and degree of
    squares of Gaussian parameters."""
    chain = problem.chain(0)
    found = problem.squares(chain.advance(PILOT).theta)
    blocks = np.array([block.mean(axis=0) for block in np.array_split(found, 100)])
    tau = float(np.mean(blocks.var(axis=0, ddof=1))) * PILOT / 100.0
    return observe(chain, 4000, 10).trial(ROWS), Quantity(tau, math.sqrt(0.5), 2.0)


def estimates(problem: Problem, plan: TimePlan, times: Floats, seed: int) -> Floats:
    """The weighted means of one chain that follows a plan, at these times (times x quantities)."""
    tests = [_test(phase.option) for phase in plan.phases]
    first = [(phase.steps, test) for phase, test in zip(plan.phases[:-1], tests[:-1], strict=True)]
    phases, chain = Phases.of(first, tests[-1]), problem.chain(seed)
    sums, spent, total = [np.zeros((1, COMPONENTS))], [np.zeros(1)], 0.0
    while total < times[-1]:
        factor = 1.0 if isinstance(phases.at(chain.steps), ExactTest) else 2.0
        left = [end - chain.steps for end in phases.ends if end > chain.steps]
        part = phases.advance(chain, min([2000, *left]))
        spent.append(total + np.cumsum(factor * part.n_used))
        sums.append(sums[-1][-1] + np.cumsum(problem.squares(part.theta), axis=0))
        total = float(spent[-1][-1])
    found, clock = np.concatenate(sums), np.concatenate(spent)
    return np.array([_estimate(plan, phases, found, clock, time) for time in times])


def _test(option: Option) -> ExactTest | SequentialTest:
    return ExactTest() if option.design is None else SequentialTest.from_design(option.design)


def _estimate(plan: TimePlan, phases: Phases, sums: Floats, clock: Floats, time: float) -> Floats:
    """From running sums: the phases' means so far with the best weights for the time they took."""
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


def measure(problem: Problem, plan: TimePlan, times: Floats, repeats: int) -> Curve:
    """Mean squared error over the repetitions and quantities."""
    truth = problem.squares(problem.draws).mean(axis=0)
    errors = np.array([((estimates(problem, plan, times, seed) - truth) ** 2).mean(axis=1) for seed in range(repeats)])
    return Curve(
        errors.mean(axis=0), errors.std(axis=0, ddof=1) / math.sqrt(repeats), risk_over_time(plan, times.tolist())
    )


def strategies(known: tuple[Option, ...], seconds: float) -> dict[str, TimePlan]:
    """Every fixed test, and both schedules."""
    fixed = {
        "exact" if option.design is None else f"ε = {option.epsilon:g}": weighted([(option, seconds)])
        for option in known
    }
    return fixed | {
        "schedule for T": time_schedule(known, seconds),
        "anytime schedule": anytime_schedule(known, seconds),
    }


def report(
    name: str = "regression",
    folder: str | None = None,
    repeats: int = REPEATS,
    tell: Callable[[str], None] = lambda line: None,
) -> list[str]:
    """The section of RESULTS.md."""
    problem = Problem.regression() if name == "regression" else Problem.digits(folder)
    trial, quantity = pilot(problem)
    known = time_options(trial, Cost(per_datum=2.0), quantity, m=[M], epsilons=EPSILONS, dimension=COMPONENTS)
    seconds = DRAWS * quantity.autocorrelation * ROWS
    times = seconds / 2.0 ** np.arange(CHECKS - 1, -1, -1)
    plans = strategies(known, seconds)
    curves = {}
    for strategy, plan in plans.items():
        curves[strategy] = measure(problem, plan, times, repeats)
        tell(f"{strategy}: {curves[strategy].risk}")
    best = np.min([curves[strategy].risk for strategy in plans if "schedule" not in strategy], axis=0)
    head = " | ".join(f"T/{2**k}" if k else "T" for k in range(CHECKS - 1, -1, -1))
    lines = [
        f"## A time budget: {name}, {COMPONENTS} parameters, N = {ROWS:,}, m = {M}",
        "",
        f"Risk of the posterior variances, per posterior variance of what is averaged, against time in likelihood "
        f"evaluations; T = {seconds:.3g}, in which the exact chain makes {DRAWS:g} independent draws "
        f"(autocorrelation {quantity.autocorrelation:.0f} steps). {repeats} chains of each; predictions in brackets.",
        "",
        f"| strategy | temperature | evaluations per step | {head} | worst, over the best fixed test at that time |",
        "|---|---|---|" + "---|" * (CHECKS + 1),
    ]
    for strategy, curve in curves.items():
        cells = " | ".join(f"{risk:.4f} ± {se:.4f} ({said:.4f})" for risk, se, said in zip(*curve, strict=True))
        last = plans[strategy].phases[-1].option
        fixed = f"{last.temperature:.2f} | {last.seconds:.0f}" if "schedule" not in strategy else "– | –"
        lines.append(f"| {strategy} | {fixed} | {cells} | {float(np.max(curve.risk / best)):.2f} |")
    two = plans["schedule for T"]
    chosen = ", then ".join(
        f"{'exact' if p.option.design is None else f'ε = {p.option.epsilon:g}'} for {p.seconds / seconds:.0%} of the "
        f"time with weight {p.weight:.2f}"
        for p in two.phases
    )
    fixed_best = best_option(known, seconds).risk(seconds)
    lines += [
        "",
        f"Schedule for T: {chosen}; predicted risk {two.risk:.4f}, that of the best fixed test {fixed_best:.4f}.",
        f"Data: {problem.origin}.",
        "",
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", nargs="?", default="regression", choices=("regression", "digits"))
    parser.add_argument("--data", metavar="DIR", help="where the digits are; else a synthetic twin")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="chains of each strategy (default: %(default)s)")
    given = parser.parse_args()
    print("\n".join(report(given.problem, given.data, given.repeats, lambda line: print(line, flush=True))))


if __name__ == "__main__":
    main()
