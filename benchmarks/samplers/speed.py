"""Chains on logistic regression with D = 50: steps, data and effective draws per second, one core."""

from __future__ import annotations

import statistics
import subprocess
import sys

from benchmarks.samplers.chains import BATCH, EPSILON, LOOSER, PRIOR_PRECISION, LogisticProblem, make_problem, measure
from samplers.decide.comparison import AcceptTest
from samplers.decide.exact import ExactTest
from samplers.models import Model
from samplers.proposals import Proposal

SIZES = (12_214, 100_000, 1_000_000)
FIRST_DRAW = """
import time
start = time.perf_counter()
from benchmarks.samplers.chains import make_problem
from samplers.chains.chain import Chain
from samplers.chains.parallel import streams
from samplers.compiled.block import run_block
imported = time.perf_counter()
problem = make_problem(12_214)
prepared = time.perf_counter()
Chain(problem.controlled, problem.proxy, problem.sequential(), problem.mode, streams(1, 1)[0]).advance(1)
done = time.perf_counter()
misses = sum(run_block.stats.cache_misses.values())
print(imported - start, prepared - imported, done - prepared, misses)
"""


def report(seconds: float) -> list[str]:
    """The section of RESULTS.md; each chain runs for so many seconds."""
    return [
        "## Samplers: logistic regression, D = 50, synthetic data, one core",
        "",
        f"m = {BATCH}, ε = {EPSILON:g} unless given; Gaussian prior with precision {PRIOR_PRECISION:g}.",
        "ESS is the smallest bulk ESS over the coordinates; sd is relative to the Laplace approximation (smallest to",
        "largest coordinate). Times do not include mode and proxies, which are given once per N.",
        "",
        "| N | chain | steps/s | acceptance | data per step | min ESS/s | sd ratio |",
        "|---|---|---|---|---|---|---|",
        *(row for n_data in SIZES for row in _rows(n_data, seconds)),
        "",
        *_first_draw(),
    ]


def _rows(n_data: int, seconds: float) -> list[str]:
    problem = make_problem(n_data)
    plain, controlled, sequential = problem.model, problem.controlled, problem.sequential()
    chains: list[tuple[str, Model, Proposal, AcceptTest]] = [
        ("sequential, control variates, random walk", controlled, problem.walk, sequential),
        ("sequential, control variates, proxy", controlled, problem.proxy, sequential),
        (
            f"sequential, control variates, proxy, ε = {LOOSER:g}",
            controlled,
            problem.proxy,
            problem.sequential(LOOSER),
        ),
        ("sequential, plain, random walk", plain, problem.walk, sequential),
        ("exact, proxy", controlled, problem.proxy, ExactTest()),
        ("exact, random walk", plain, problem.walk, ExactTest()),
    ]
    rows = [_row(problem, name, parts, seconds) for name, *parts in chains]
    return [*rows, f"| {n_data:,} | (mode and proxies: {problem.setup:.1f} s) | | | | | |"]


def _row(problem: LogisticProblem, name: str, parts: list, seconds: float) -> str:
    run, n_data = measure(problem, *parts, seconds), problem.model.n_data
    ratio = run.theta.std(axis=0) / problem.sd
    sd = f"{ratio.min():.2f}–{ratio.max():.2f}" if run.ess > 100 else "too few draws"
    rate = f"{run.steps_per_s:,.0f} | {run.acceptance:.2f}"
    return f"| {n_data:,} | {name} | {rate} | {run.used:,.0f} ({run.used / n_data:.3%}) | {run.ess_per_s:,.1f} | {sd} |"


def _first_draw() -> list[str]:
    """Start-up of a fresh process with compiled kernels on disk: nothing may be compiled again."""
    command = [sys.executable, "-c", FIRST_DRAW]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(6)][1:]
    imports, problem, first, misses = (statistics.median(float(run[k]) for run in runs) for k in range(4))
    return [
        f"Time to the first draw in a fresh process, N = 12,214: imports {imports:.2f} s, data, mode and proxies",
        f"{problem:.2f} s, first step {first:.2f} s; block kernels compiled again: {misses:.0f} (median of 5).",
        "",
    ]
