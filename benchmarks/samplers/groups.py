"""Group effects with sampled scales: `python -m benchmarks groups`. Only processor time counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit

from benchmarks.samplers.chains import ess
from designer import Design
from samplers.chains.chain import Chain
from samplers.chains.draws import Draws
from samplers.decide import ExactMinibatchTest, ExactTest, SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.glm import glm_model
from samplers.models.groups import Groups
from samplers.proposals import ArrowStep

DIMENSION, SCALE = 10, 0.7
CASES = ((100_000, 200), (1_000_000, 200), (1_000_000, 2_000))  # N, groups
SECONDS = 8.0  # of each chain
FEW = 50  # steps of the warm-up, and of a block
BATCHES = 20
T = TypeVar("T")


class Problem(NamedTuple):
    """A hierarchical logistic regression, and what it took to prepare it."""

    proxied: Controlled
    proposal: ArrowStep
    seconds: tuple[float, float, float]  # the centre; expansion and proposal; bounds


def report() -> list[str]:
    """The section of RESULTS.md."""
    return [
        "## Group effects, one core",
        "",
        f"Hierarchical logistic regression (1 | g) with {DIMENSION} coefficients and a sampled scale τ. Preparation:",
        "the centre, control variates and proposal, bounds. ESS is the smallest bulk ESS of the coefficients, of the",
        "effects, and of log τ, per second of processor time.",
        "",
        "| N, groups | preparation (s) | test | beta | rows per step | acceptance | steps/s | ESS/s, coefficients "
        "| effects | log τ |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(row for case in CASES for row in _rows(*case)),
        "",
        *_agreement(),
        "",
    ]


def make(n: int, groups: int, seed: int = 1) -> Problem:
    """Simulated rows, evenly spread over the groups."""
    rng = np.random.default_rng(seed)
    x, index = rng.standard_normal((n, DIMENSION)), rng.permutation(n) % groups
    x[:, 0] = 1.0
    eta = x @ (0.5 * rng.standard_normal(DIMENSION)) + SCALE * rng.standard_normal(groups)[index]
    y = (rng.random(n) < expit(eta)).astype(float)
    model = glm_model(x, y, prior=1.0, groups=[Groups(index, name="g")])
    centre, first = timed(lambda: find_mode(model))
    made, second = timed(lambda: expanded(model, centre))
    _, third = timed(lambda: made[0].residual_bounds)
    return Problem(*made, (first, second, third))


def expanded(model: Any, centre: Any) -> tuple[Controlled, ArrowStep]:
    proxied = Controlled.around(model, centre)
    return proxied, ArrowStep.of(proxied)


def timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.process_time()
    value = work()
    return value, time.process_time() - begin


def _rows(n: int, groups: int) -> list[str]:
    problem = make(n, groups)
    tests = {
        "exact mini-batch": ExactMinibatchTest(),
        "sequential, m = 500, ε = .01": SequentialTest.from_design(Design(n, 500, 0.01)),
    }
    return [_row(problem, name, test) for name, test in tests.items()]


def run(problem: Problem, test: Any, seconds: float = SECONDS) -> tuple[Draws, float]:
    """A chain from the centre, after a short warm-up, for so much processor time."""
    chain = Chain(problem.proxied, problem.proposal, test, problem.proxied.centre, np.random.default_rng(2))
    chain.advance(FEW)
    parts, used = [], 0.0
    while used < seconds:
        part, spent = timed(lambda: chain.advance(FEW))
        parts.append(part)
        used += spent
    return Draws.joined(parts), used


def _row(problem: Problem, name: str, test: Any) -> str:
    draws, used = run(problem, test)
    effective = ess(draws.theta) / used
    model: Any = problem.proxied.model
    parts = effective[:DIMENSION].min(), effective[DIMENSION : model.layout.first].min(), effective[-1]
    prepared = " + ".join(f"{seconds:.1f}" for seconds in problem.seconds)
    return (
        f"| {model.n_data:,}, {model.groups[0].n_groups:,} | {prepared} | {name} | {problem.proposal.beta:g} "
        f"| {draws.n_used.mean():,.0f} | {draws.accepted.mean():.2f} | {draws.accepted.size / used:,.0f} "
        f"| {parts[0]:,.0f} | {parts[1]:,.0f} | {parts[2]:,.0f} |"
    )


def _agreement() -> list[str]:
    """Means and standard deviations beside those of a chain of the same kind that reads all data."""
    problem = make(20_000, 50)
    exact, _ = run(problem, ExactTest(), 2.0 * SECONDS)
    lines = []
    for name, test in {
        "exact mini-batch": ExactMinibatchTest(),
        "sequential": SequentialTest.from_design(Design(20_000, 500, 0.01)),
    }.items():
        draws, _ = run(problem, test)
        sd = exact.theta.std(axis=0)
        away, sizes = (np.abs(of(draws.theta) - of(exact.theta)) for of in (_mean, _size))
        errors = [np.hypot(_error(draws.theta, of), _error(exact.theta, of)) for of in (_mean, _size)]
        lines.append(
            f"- {name}: means within {(away / sd).max():.3f} sd of the exact chain's ({(away / errors[0]).max():.1f} "
            f"standard errors), sds within {(sizes / sd).max():.1%} ({(sizes / errors[1]).max():.1f} standard errors)"
        )
    return [
        "At N = 20,000 with 50 groups, beside a chain that reads all data, the largest of 61 parameters:",
        "",
        *lines,
    ]


def _mean(draws: Any) -> Any:
    return draws.mean(axis=0)


def _size(draws: Any) -> Any:
    return draws.std(axis=0)


def _error(draws: Any, of: Callable[[Any], Any]) -> Any:
    """Standard error by batch means."""
    rows = draws.shape[0] // BATCHES * BATCHES
    each = np.array([of(part) for part in np.split(draws[:rows], BATCHES)])
    return each.std(axis=0, ddof=1) / np.sqrt(BATCHES)
