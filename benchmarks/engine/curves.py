"""The speed of the engine, beside one recursion per μ_std with the same accuracy."""

from __future__ import annotations

import statistics
import subprocess
import sys

import numpy as np

from benchmarks.engine.alternatives import characteristics_one_by_one
from benchmarks.timing import best_ms
from designer import Design, TrialRun, acceptance, characteristics
from designer.engine.look_grid import Resolution
from designer.engine.walk import sweep
from designer.rule.boundary import threshold
from designer.rule.plan import as_plan

MU_STD = np.linspace(0.0, 20.0, 200)
IMPORT = "import time, numba; s = time.perf_counter(); import designer; print(time.perf_counter() - s)"


def report() -> list[str]:
    """The section of RESULTS.md."""
    return [
        "## Engine: a curve of 200 standardised means in [0, 20], one core",
        "",
        "Constant bounds, batches of 500. `one by one` is the same Gauss–Legendre recursion, compiled, with nodes of",
        "the same density, run once per μ_std (1000 looks: timed at 3 points and scaled; `difference` is at those).",
        "",
        "| looks | ε | ms | estimate | one by one, ms | ratio | difference |",
        "|---|---|---|---|---|---|---|",
        *(_row(looks, epsilon) for looks in (20, 100, 1000) for epsilon in (0.05, 0.001)),
        *(_row(looks, 0.05, rival=False) for looks in (4000, 10**4, 10**6, 2 * 10**6)),
        "",
        "## Engine: the error of merging looks",
        "",
        "Largest difference of error and data use from the walk with every look, at 64 standardised means in [0, 100].",
        "",
        "| looks | ε | α | width 0.2 | width 0.1 | width 0.057 |",
        "|---|---|---|---|---|---|",
        *(
            _merging_row(looks, *knobs)
            for looks in (3333, 10_000)
            for knobs in ((0.05, 0.5), (0.001, 0.5), (0.05, 1.0))
        ),
        "",
        "## Engine: Δ and data use of 100 pairs",
        "",
        "| looks | α | ms |",
        "|---|---|---|",
        *(_pairs_row(looks, alpha) for looks in (20, 100, 1000) for alpha in (0.5, 0.75)),
        "",
        f"Importing `designer` after numba: {_import_seconds():.3f} s (median of 7 fresh processes).",
        "",
    ]


def _row(looks: int, epsilon: float, *, rival: bool = True) -> str:
    design = Design(500 * looks, 500, epsilon)
    ms = best_ms(lambda: characteristics(design, MU_STD), 7 if looks <= 1000 else 3)
    curve = characteristics(design, MU_STD)
    start = f"| {looks:,} | {epsilon:g} | {ms:.2f} | {curve.estimate:.0e} |"
    if not rival:
        return f"{start} – | – | – |"
    some = np.arange(200) if looks <= 100 else np.array([0, 20, 100])
    slow = best_ms(lambda: characteristics_one_by_one(design.n_data, 500, threshold(epsilon), MU_STD[some]), 1)
    error, usage = characteristics_one_by_one(design.n_data, 500, threshold(epsilon), MU_STD[some])
    difference = max(np.abs(error - curve.error[some]).max(), np.abs(usage - curve.usage[some]).max())
    slow *= 200 / some.size
    return f"{start} {slow:,.0f} | {slow / ms:,.0f} | {difference:.0e} |"


def _merging_row(looks: int, epsilon: float, alpha: float) -> str:
    plan, mu = as_plan(Design(500 * looks, 500, epsilon, alpha)), np.geomspace(0.01, 100.0, 64)
    fine = Resolution.reaching(1e-10, plan).finer()._replace(density=2.1, reach=8.0, decided=1e-13)
    exact = sweep(plan, mu, fine._replace(r_star=0.0))
    cells = []
    for width in (0.2, 0.1, 0.057):
        merged = sweep(plan, mu, fine._replace(r_star=width))
        error = np.abs(merged.error(mu) - exact.error(mu)).max()
        cells.append(f"{max(error, np.abs(merged.usage - exact.usage).max()):.0e}")
    return f"| {looks:,} | {epsilon:g} | {alpha:g} | {' | '.join(cells)} |"


def _pairs_row(looks: int, alpha: float) -> str:
    trial = TrialRun.at_stationarity(500 * looks, 0.5, 100, np.random.default_rng(0))
    design = Design(500 * looks, 500, 0.05, alpha)
    return f"| {looks:,} | {alpha:g} | {best_ms(lambda: acceptance(design, trial)):.2f} |"


def _import_seconds() -> float:
    runs = [
        subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True) for _ in range(7)
    ]
    return statistics.median(float(run.stdout) for run in runs)
