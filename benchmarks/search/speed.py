"""The speed of the search: grid, continuous and frontier, beside one recursion per (pair, u-node)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.engine.alternatives import characteristics_one_by_one
from benchmarks.timing import best_ms
from designer import Grid, Space, TrialRun, acceptance, frontier, search
from designer.rule.boundary import threshold

N_DATA, U_NODES = 1_950_000, 50


def report() -> list[str]:
    """The section of RESULTS.md."""
    trial, fresh = (TrialRun.at_stationarity(N_DATA, 0.5, 100, np.random.default_rng(seed)) for seed in (0, 1))
    space = Space(m_low=500)
    m = np.unique(np.round(np.geomspace(500, N_DATA, 20)).astype(int)).tolist()
    grid = Grid(m, np.geomspace(0.001, 0.4, 20).tolist(), np.linspace(0.5, 1.0, 6).tolist())
    search(trial, 0.05, space=Space(5000, 50_000))  # compile
    took, result = _timed(lambda: search(trial, 0.01, grid=grid))
    rows = [f"| plain grid, {len(result.evaluated):,} designs | {took} |"]
    for criterion in ("average", "worst-case", "fixed-m", "quantile"):
        for tolerance in (0.1, 0.01, 0.001):
            took, _ = _timed(lambda c=criterion, t=tolerance: search(trial, t, c, space=space))
            rows.append(f"| continuous, {criterion}, tolerance {tolerance:g} | {took} |")
    took, _ = _timed(lambda: frontier(trial, np.geomspace(1e-3, 0.1, 10).tolist(), fresh, space=space))
    rows.append(f"| frontier, 10 tolerances × 3 criteria, train and test | {took} |")
    return [
        "## Search: 100 pairs, N = 1.95·10⁶, m from 500",
        "",
        "Best of three runs: elapsed seconds on all cores, and processor seconds, which a busy machine changes less.",
        "",
        "| task | s | processor s |",
        "|---|---|---|",
        *rows,
        "",
        *_accuracy(result, trial),
        *_ratio(trial),
    ]


def _accuracy(result: Any, trial: TrialRun) -> list[str]:
    full = acceptance(result.best, trial, tolerance=1e-11)
    difference = max(abs(full.mean_abs_delta - result.error), abs(full.mean_usage - result.usage))
    return [f"The grid's best design and the engine at tolerance 1e-11 differ by {difference:.0e}.", ""]


def _ratio(trial: TrialRun) -> list[str]:
    """One design evaluated as the paper describes: a recursion for each pair and each of 50 values of u."""
    lines = ["| design | this, ms | one recursion per (pair, u), ms | ratio |", "|---|---|---|---|"]
    for m in (20_000, 5_000):
        design = search(trial, 0.05, grid=Grid([m], [0.05])).best or search(trial, 1.0, grid=Grid([m], [0.05])).best
        assert design is not None
        fast = best_ms(lambda d=design: acceptance(d, trial, tolerance=1e-7))
        few = np.linspace(0.0, 5.0, 10)
        slow = best_ms(lambda m=m, few=few: characteristics_one_by_one(N_DATA, m, threshold(0.05), few), 1)
        slow *= len(trial) * U_NODES / few.size
        lines.append(f"| m = {m:,}, ε = 0.05 | {fast:.2f} | {slow:,.0f} (scaled from 10) | {slow / fast:,.0f} |")
    return [*lines, ""]


def _timed(task: Callable[[], Any]) -> tuple[str, Any]:
    """Two cells of the table, and the result."""
    elapsed, worked, result = [], [], None
    for _ in range(3):
        start = time.perf_counter(), time.process_time()
        result = task()
        elapsed.append(time.perf_counter() - start[0])
        worked.append(time.process_time() - start[1])
    return f"{min(elapsed):.2f} | {min(worked):.2f}", result
