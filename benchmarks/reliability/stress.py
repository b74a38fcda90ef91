"""The engine under stress: `python -m benchmarks.reliability.stress [--designs 100000] [--processes 2] [--parts DIR]`.

Random designs from the whole allowed range are checked against theorems, never against intuition:

- error and data use are bounded: 0 <= E <= 1/2, pi_1 <= usage <= 1;
- E falls with |μ_std|: with a higher drift, the same noise gives a higher path; so a path that leaves below also leaves
  below at any lower drift, and no later;
- data use falls with |μ_std| when bounds are symmetric (Anderson 1955: a symmetric convex set loses Gaussian
  probability as the mean moves away);
- wider bounds keep more paths: with ε falling or α rising, usage rises and E(0) = (1 - P(undecided))/2
  falls. (Away from μ_std = 0 the error need not be monotone in ε, and is not tested.)
- the first look is known in closed form, and bounds both curves from both sides;
- |Δ| <= E_u[E] <= E(0), -P_a <= Δ <= 1 - P_a, Δ <= 0 where A >= 0; by Barker's rule Δ is odd in A.

Each theorem may be violated by at most the `estimate` that comes with the numbers. On a sample the estimate itself is
tested: against twice the nodes (and looks merged at half the width), and against 50-digit arithmetic.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import starmap
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr

from benchmarks.engine.fifty_digits import exact_curves, few_looks
from designer.core.arrays import Floats
from designer.core.errors import NumericalFailure
from designer.core.files import write_whole
from designer.engine.curves import curves, cut, integrate
from designer.engine.look_grid import Resolution
from designer.engine.step_error import Acceptance, Rule, acceptance, exact_probability, reach_of
from designer.engine.walk import Characteristics, characteristics, sweep
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import LEAST_EPSILON
from designer.rule.design import Design
from designer.rule.looks import MAX_GROWTH, MIN_GROWTH
from designer.rule.plan import as_plan

MOST_DATA = 1e12
DRIFTS = 8
PAIRS = 6
WIDER_EVERY, STEP_EVERY, NODES_EVERY, DIGITS_EVERY = 4, 100, 100, 1000  # every so many designs
EQUAL = 0.1  # share with batches of equal size: mostly thousands of looks, which take a hundred times as long
CHUNK = 500
ROUNDING = 1e-14


class Violation(NamedTuple):
    """A theorem that the numbers of a design violate, and by how much more than their estimate."""

    theorem: str
    excess: float
    design: str


class Result(NamedTuple):
    """Number of designs, checks by name, violations, failures of the engine, estimates, and the slowest design."""

    designs: int
    checks: Counter[str]
    violations: list[Violation]
    failures: list[str]
    estimates: list[float]
    step_estimates: list[float]
    slowest: tuple[float, str]

    def __add__(self, other: Result) -> Result:  # type: ignore[override]
        parts = (mine + theirs for mine, theirs in zip(self[:-1], other[:-1], strict=True))
        return Result(*parts, max(self.slowest, other.slowest))  # type: ignore[arg-type]


# --- random designs ---------------------------------------------------------------------------------------------------


def random_design(rng: np.random.Generator) -> Design:
    """A random design: N up to 10^12, m up to N, ε down to 10^-16, each spread over its orders of magnitude."""
    n_data = round(_log_uniform(rng, 2, MOST_DATA))
    m = min(max(round(_log_uniform(rng, 2, n_data)), 2), n_data)
    epsilon = max(0.5 * 10.0 ** (-16.0 * rng.random()), LEAST_EPSILON)
    alpha = float(rng.choice([0.5, 1.0, rng.uniform(0.5, 1.0)]))
    growth = 1.0 if rng.random() < EQUAL else _log_uniform(rng, MIN_GROWTH, MAX_GROWTH)
    return Design(n_data, m, epsilon, alpha, growth)


def random_drifts(rng: np.random.Generator) -> Floats:
    """0 and some positive drifts, in ascending order."""
    return np.concatenate([[0.0], np.sort(10.0 ** rng.uniform(-6.0, 6.0, DRIFTS))])


def random_pairs(rng: np.random.Generator, n_data: int) -> TrialRun:
    """Pairs with κ from 10^-6 to 10^6 and |A| up to 10^4."""
    kappa = 10.0 ** rng.uniform(-6.0, 6.0, PAIRS)
    a = rng.choice([-1.0, 1.0], PAIRS) * 10.0 ** rng.uniform(-4.0, 4.0, PAIRS)
    return TrialRun(n_data, a / n_data, kappa * math.sqrt(n_data - 1) / n_data)


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.clip(math.exp(rng.uniform(math.log(low), math.log(high))), low, high))


# --- theorems: each yields (theorem, by how much it is violated) ------------------------------------------------------

Missed: TypeAlias = Iterable[tuple[str, float]]
Judge: TypeAlias = Callable[[Missed, float], None]


def curve_theorems(design: Design, curve: Characteristics) -> Missed:
    """Theorems about the two curves at 0 and ascending drifts."""
    first = as_plan(design).schedule.m / design.n_data
    yield "0 <= error <= 1/2", max(-curve.error.min(), curve.error.max() - 0.5)
    yield "π₁ <= data use <= 1", max(first - curve.usage.min(), curve.usage.max() - 1.0)
    yield "error falls with |μ_std|", float(np.diff(curve.error).max(initial=0.0))
    yield "data use falls with |μ_std|", float(np.diff(curve.usage).max(initial=0.0))
    yield from _first_look(design, curve)


def _first_look(design: Design, curve: Characteristics) -> Missed:
    """A path that leaves below at the first look is an error; a path that stays inside reads another batch."""
    schedule, boundary = as_plan(design).schedule, as_plan(design).boundary
    if schedule.size == 1:
        yield "no look, no error", float(np.abs(curve.error).max() + np.abs(curve.usage - 1.0).max())
        return
    n = schedule.at(np.arange(2))
    pi = n / design.n_data
    shift = curve.mu_std * math.sqrt(n[0] / (design.n_data - n[0]))
    bound = float(boundary.at(np.zeros(1, dtype=np.int64), pi[:1])[1][0])
    inside = ndtr(bound - shift) - ndtr(-bound - shift)
    yield "first look: error", float((ndtr(-bound - shift) - curve.error).max())
    yield "first look: data use, lower bound", float((pi[0] + (pi[1] - pi[0]) * inside - curve.usage).max())
    yield "first look: data use, upper bound", float((curve.usage - pi[0] - (1.0 - pi[0]) * inside).max())


def bound_theorems(curve: Characteristics, wider: Characteristics) -> Missed:
    """Theorems about a test and one with wider bounds at the same looks."""
    yield "data use rises with the bounds", float((curve.usage - wider.usage).max())
    yield "E(0) falls with the bounds", float(wider.error[0] - curve.error[0])


def step_theorems(step: Acceptance, mirrored: Acceptance, a: Floats, worst: float, barker: bool) -> Missed:
    """Theorems about one step; `mirrored` is at -A, `worst` is E(0)."""
    probability = exact_probability(a, barker)
    yield "|Δ| <= E_u[error]", float((np.abs(step.delta) - step.wrong).max())
    yield "E_u[error] <= E(0)", float(step.wrong.max() - worst)
    yield "-P_a <= Δ <= 1 - P_a", float(np.maximum(-probability - step.delta, step.delta - 1 + probability).max())
    yield "0 <= E_u[data use] <= 1", max(-step.usage.min(), step.usage.max() - 1.0)
    if barker:
        yield "Barker: Δ is odd in A", float(np.abs(step.delta + mirrored.delta).max())
    else:
        yield "Metropolis: Δ <= 0 where A >= 0", float(np.where(a >= 0, step.delta, -1.0).max())


# --- one design, and many ---------------------------------------------------------------------------------------------


def wider(rng: np.random.Generator, design: Design) -> Design:
    """The same looks, wider bounds: a smaller ε or a larger α."""
    epsilon, alpha = design.epsilon, design.alpha
    if alpha < 1.0 and rng.random() < 0.5:
        alpha = rng.uniform(alpha, 1.0)
    else:
        epsilon = max(epsilon * 10.0 ** -rng.uniform(0.0, 3.0), LEAST_EPSILON)
    return Design(design.n_data, design.m, epsilon, alpha, design.growth)


def check_design(number: int, seed: int) -> Result:
    """Make design `number` of the sequence of this seed, and run all its checks."""
    rng, start = np.random.default_rng([seed, number]), time.process_time()
    design = random_design(rng)
    checks: Counter[str] = Counter()
    violations: list[Violation] = []
    failures, estimates, step_estimates = [], [], []

    def judge(missed: Missed, allowed: float) -> None:
        for theorem, by in missed:
            checks[theorem] += 1
            if not by <= allowed + ROUNDING:
                violations.append(Violation(theorem, by - allowed, shown(design)))

    try:
        curve = characteristics(design, random_drifts(rng))
        estimates.append(curve.estimate)
        judge(curve_theorems(design, curve), 2.0 * curve.estimate)
        if number % WIDER_EVERY == 0:
            other = characteristics(wider(rng, design), curve.mu_std)
            judge(bound_theorems(curve, other), curve.estimate + other.estimate)
        if number % STEP_EVERY == 0:
            step_estimates += [_check_steps(rng, design, curve, judge, barker) for barker in (False, True)]
        if number % NODES_EVERY == 0:
            judge([("estimate against twice the nodes", against_finer(design, curve))], curve.estimate)
        if number % DIGITS_EVERY == 0:
            _check_digits(rng, judge)
    except NumericalFailure as problem:
        failures.append(f"{shown(design)}: {problem}")
    taken = time.process_time() - start
    return Result(1, checks, violations, failures, estimates, step_estimates, (taken, shown(design)))


def _check_steps(rng: np.random.Generator, design: Design, curve: Characteristics, judge: Judge, barker: bool) -> float:
    """Check one step at extreme pairs; returns the estimate."""
    trial = random_pairs(rng, design.n_data)
    rule: Rule = "barker" if barker else "metropolis"
    step = acceptance(design, trial, rule)
    mirrored = acceptance(design, TrialRun(trial.n_data, -trial.mu, trial.sigma), rule)
    missed = step_theorems(step, mirrored, trial.log_acceptance, float(curve.error[0]), barker)
    judge(missed, 2.0 * step.estimate + mirrored.estimate + curve.estimate)
    judge(
        [("estimate of a step against finer panels", against_finer_panels(design, trial, step, barker))],
        step.estimate,
    )
    return step.estimate


def against_finer_panels(design: Design, trial: TrialRun, step: Acceptance, barker: bool) -> float:
    """How far Δ and the data use of a step are from those with every panel cut."""
    usual = curves(as_plan(design), reach_of(trial), 1e-10)
    better = cut(as_plan(design), usual, np.ones(usual.doubt.size, dtype=np.bool_), 1e-10)
    delta, usage, *_ = integrate(better, trial.log_acceptance, trial.kappa, barker)
    return max(float(np.abs(delta - step.delta).max()), float(np.abs(usage - step.usage).max()))


def against_finer(design: Design, curve: Characteristics) -> float:
    """How far the curves are from those with twice the nodes, and with looks merged at half the width."""
    plan = as_plan(design)
    usual = Resolution.reaching(1e-10, plan).finer()
    finer = Resolution(2.0 * usual.density, 0.5 * usual.r_star, usual.reach + 2.0, 1e-3 * usual.decided)
    better = sweep(plan, curve.mu_std, finer)
    return max(
        float(np.abs(better.error(curve.mu_std) - curve.error).max()), float(np.abs(better.usage - curve.usage).max())
    )


def _check_digits(rng: np.random.Generator, judge: Judge) -> None:
    """Check a separate design with few looks against 50-digit arithmetic."""
    design, mu = few_looks(rng)
    curve, exact = characteristics(design, [mu]), exact_curves(design, mu)
    missed = [("estimate against 50 digits", max(abs(exact[0] - curve.error[0]), abs(exact[1] - curve.usage[0])))]
    judge(missed, curve.estimate)


def shown(design: Design) -> str:
    """The parameters of a design, to make it again."""
    return f"Design({design.n_data}, {design.m}, {design.epsilon!r}, {design.alpha!r}, {design.growth!r})"


NOTHING = Result(0, Counter(), [], [], [], [], (0.0, ""))


def check_chunk(start: int, stop: int, seed: int, parts: Path | None = None) -> Result:
    """Check designs start ... stop - 1; the result is stored in a file of `parts`, or read from it."""
    file = parts / f"{seed}-{start}-{stop}.json" if parts else None
    if file and file.exists():
        return _read(file)
    result = sum((check_design(number, seed) for number in range(start, stop)), NOTHING)
    if file:
        write_whole(file, json.dumps(result))
    return result


def _read(file: Path) -> Result:
    designs, checks, violations, *lists, slowest = json.loads(file.read_text(encoding="utf-8"))
    return Result(designs, Counter(checks), [Violation(*one) for one in violations], *lists, tuple(slowest))


def stress(designs: int, seed: int = 0, processes: int = 1, parts: Path | None = None) -> Result:
    """Check so many random designs; they do not depend on the number of processes."""
    chunks = [(start, min(start + CHUNK, designs), seed, parts) for start in range(0, designs, CHUNK)]
    if processes == 1:
        return sum(starmap(check_chunk, chunks), NOTHING)
    with ProcessPoolExecutor(processes) as pool:
        return sum(pool.map(check_chunk, *zip(*chunks, strict=True)), NOTHING)


def report(designs: int = 100_000, seed: int = 0, processes: int = 2, parts: Path | None = None) -> list[str]:
    """The section of RESULTS.md: checks, violations, estimates and times."""
    result = stress(designs, seed, processes, parts)
    broken = Counter(violation.theorem for violation in result.violations)
    return [
        f"## Stress: {designs:,} random designs",
        "",
        "N 2 … 10¹², m 2 … N, ε 10⁻¹⁶ … 0.5, α 0.5 … 1, growth 1 or 1.05 … 10⁶; μ_std to 10⁶, κ 10⁻⁶ … 10⁶, A ±10⁴.",
        "A theorem may be violated by at most the estimates of the numbers in it.",
        "",
        "| theorem | checked | violated |",
        "|---|---|---|",
        *(f"| {_cell(name)} | {count:,} | {broken[name]:,} |" for name, count in result.checks.items()),
        "",
        f"Estimates of the curves: {_spread(result.estimates)}; of a step: {_spread(result.step_estimates)}.",
        f"The engine refused {len(result.failures):,} designs; the slowest design "
        f"took {result.slowest[0]:.1f} s of processor time: `{result.slowest[1]}`.",
        "",
        *(
            f"- {violation.theorem}: by {violation.excess:.1e}: `{violation.design}`"
            for violation in result.violations[:20]
        ),
        *(f"- refused: `{failure}`" for failure in result.failures[:20]),
    ]


def _cell(text: str) -> str:
    """`text` for a table, where a bar would start a new cell."""
    return text.replace("|", "\\|")


def _spread(values: list[float]) -> str:
    if not values:
        return "none"
    median, high, most = np.quantile(values, [0.5, 0.99, 1.0])
    return f"median {median:.0e}, 99% below {high:.0e}, largest {most:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Random designs against theorems.")
    parser.add_argument("--designs", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", type=Path, help="directory of finished parts, to continue a stopped run")
    options = parser.parse_args()
    if options.parts:
        options.parts.mkdir(parents=True, exist_ok=True)
    print("\n".join(report(options.designs, options.seed, options.processes, options.parts)))


if __name__ == "__main__":
    main()
