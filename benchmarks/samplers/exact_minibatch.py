"""The exact mini-batch test beside the sequential test: `python -m benchmarks exact_minibatch`.

Both chains run in turns, a block of steps each, and only processor time counts: other work of the machine hits both.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from benchmarks.samplers.chains import DIMENSION, LogisticProblem, ess, make_problem
from samplers.chains.chain import Chain
from samplers.chains.draws import Draws
from samplers.chains.parallel import streams
from samplers.decide.exact_minibatch import ExactMinibatchTest
from samplers.models.control import Controlled
from samplers.proposals import Proposal, ProxyStep
from samplers.study.predict_minibatch import predict_minibatch

CASES = ((12_214, DIMENSION), (100_000, DIMENSION), (1_000_000, DIMENSION), (2_000, 8), (100_000, 200))
STEPS = 256  # of one chain before it is the other's turn


class Both(NamedTuple):
    """One chain: draws and the processor time that they took."""

    draws: Draws
    seconds: float

    @property
    def rate(self) -> float:
        """Smallest effective sample size of a coordinate, per second."""
        return float(ess(self.draws.theta).min()) / self.seconds


def report(seconds: float) -> list[str]:
    """The section of RESULTS.md; each pair of chains runs for so many seconds each."""
    return [
        "## The exact mini-batch test, beside the sequential test (m = 100, ε = .01), one core",
        "",
        "Logistic regression as above, control variates of order 2. Both chains run in turns, in one process; ESS is",
        "the smallest bulk ESS over the coordinates, per second of processor time.",
        "",
        "| N, D | proposals | rows, predicted | chain | acceptance, predicted | chain | sequential: rows | acceptance "
        "| ESS/s, exact minibatch | sequential | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *(row for case in CASES for row in _rows(*case, seconds)),
        "",
        *_rare(seconds),
        "",
    ]


def _rows(n_data: int, dimension: int, seconds: float) -> list[str]:
    problem = make_problem(n_data, dimension)
    return [
        _row(problem, "proxy", problem.proxy, seconds),
        _row(problem, "random walk", problem.walk, seconds),
    ]


def _row(problem: LogisticProblem, name: str, proposal: Proposal, seconds: float) -> str:
    model, test = problem.controlled, ExactMinibatchTest()
    expected = predict_minibatch(np.random.default_rng(0), model, proposal, test)
    minibatch, sequential = in_turns([(model, proposal, test), (model, proposal, problem.sequential())], seconds)
    rows, accepted = (column.mean() for column in (minibatch.draws.n_used, minibatch.draws.accepted))
    beside = f"{sequential.draws.n_used.mean():,.0f} | {sequential.draws.accepted.mean():.3f}"
    return (
        f"| {model.n_data:,}, {model.dimension} | {name} | {expected.rows:,.1f} | {rows:,.1f} "
        f"| {expected.acceptance:.3f} | {accepted:.3f} | {beside} | {minibatch.rate:,.0f} | {sequential.rate:,.0f} "
        f"| {minibatch.rate / sequential.rate:.2f} |"
    )


def in_turns(chains: list[tuple], seconds: float) -> list[Both]:
    """Run chains (model, proposal, test) in turns until each has used so much processor time."""
    running = [Chain(*parts, parts[0].centre, streams(1, 1)[0]) for parts in chains]
    for chain in running:
        chain.advance(2)  # compile
    draws: list[list[Draws]] = [[] for _ in running]
    used = np.zeros(len(running))
    while used.min() < seconds:
        for k, chain in enumerate(running):
            start = time.process_time()
            draws[k].append(chain.advance(STEPS))
            used[k] += time.process_time() - start
    return [Both(Draws.joined(parts), float(spent)) for parts, spent in zip(draws, used, strict=True)]


def _rare(seconds: float) -> list[str]:
    """Heavy rows: the same test when the heaviest rows are read in every step."""
    problem = make_problem(100_000)
    lines = ["Heavy rows (N = 100,000, D = 50, proxy proposals): C is what is left for the rows that are drawn.", ""]
    lines += ["| heavy rows | C | rows drawn | acceptance | ESS/s |", "|---|---|---|---|---|"]
    for heavy in (0, 1_000, 10_000):
        model = Controlled.around(problem.model, problem.mode, heavy=heavy)
        (found,) = in_turns([(model, ProxyStep.of(model), ExactMinibatchTest())], seconds)
        total, drawn = model.residual_bounds.weights.total, found.draws.n_used.mean() - heavy
        lines.append(
            f"| {heavy:,} | {total:.3g} | {drawn:,.1f} | {found.draws.accepted.mean():.3f} | {found.rate:,.0f} |"
        )
    return lines
