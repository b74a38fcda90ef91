"""`au.sample` beside NumPyro's NUTS and HMCECS on the same data: effective draws per second, distance from the truth.

Our chains run on one core, NumPyro's on all of them. The truth is the Laplace approximation, corrected by weighted
draws that read all data; for group effects, where there is no such approximation, a long chain with exact decisions.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import austerity as au
from benchmarks.any_model.problems import PROBLEMS, Problem
from benchmarks.samplers.chains import ess
from samplers.chains.draws import Draws
from samplers.chains.parallel import streams
from samplers.flow.result import SampleResult

WISH = 0.02  # posterior standard deviations
REFERENCE_DRAWS = 4000  # weighted draws, each of all data
EXACT_SECONDS = 60.0  # of the exact chain that is the truth for group effects
TIMEOUT = 900.0
ENOUGH = 20  # effective draws, for a figure per second


class Truth(NamedTuple):
    """Exact means and standard deviations, and the standard errors of both in standard deviations."""

    mean: np.ndarray
    sd: np.ndarray
    mean_se: float
    sd_se: float


class Figures(NamedTuple):
    """What one sampler did; `problem` says why there is nothing."""

    sampler: str
    setup: float = np.nan
    rows: float = np.nan
    acceptance: float = np.nan
    ess_per_s: float = np.nan
    effective: float = np.nan
    mean_error: float = np.nan
    sd_error: float = np.nan
    problem: str = ""


def report(seconds: float, sizes: tuple[int, ...] | None = None, only: str | None = None) -> list[str]:
    """The section of RESULTS.md; our chains run for so many seconds, NumPyro's six times as long."""
    lines = [
        "## Any model: families and group effects beside NumPyro",
        "",
        f'`au.sample(model, posterior_error={WISH}, laplace="never")`, then one of its chains for {seconds:g} s on one '
        f"core; NumPyro for {6 * seconds:g} s on all cores, in single precision, from the mode, with the scales of the "
        "normal approximation as mass matrix (group effects: default adaptation). The smallest number of effective "
        "draws of all parameters counts. Errors are the largest of all means in posterior sds, and of all "
        "sds relative; in brackets, three times their Monte Carlo error.",
        "",
        "| model | N | sampler | set-up | rows per step | acceptance | effective draws/s | against NUTS | means off "
        "| sds off |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for problem in PROBLEMS:
        for n in problem.sizes:
            if (sizes is None or n in sizes) and (only is None or problem.name == only):
                lines += measured(problem, n, seconds)
                print(*lines[-3:], sep="\n", file=sys.stderr, flush=True)
    return [*lines, ""]


def measured(problem: Problem, n: int, seconds: float) -> list[str]:
    """Rows of the table for one problem."""
    data = problem.draw(np.random.default_rng(1), n)
    begin = time.perf_counter()
    model = problem.model(data)
    result = au.sample(model, posterior_error=WISH, laplace="never", draws=200, chains=2, seed=1, progress=False)
    setup = time.perf_counter() - begin
    assert result.spec is not None
    truth = truth_of(result)
    ours = [_timed(result, seconds, truth, setup)]
    start, sd = _start(result), truth.sd
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "data.npz"
        np.savez(source, **{key: _single(value) for key, value in data.items()}, mode=start, sd=sd)
        methods = ["nuts"] if problem.name == "hierarchical logistic" else ["nuts", "hmcecs"]
        peers = [_peer(problem.name, method, source, n, 6.0 * seconds, truth) for method in methods]
    rate = peers[0].ess_per_s
    name = f"{problem.name} ({problem.words})"
    return [_row(name, n, figures, figures.ess_per_s / rate) for figures in [*ours, *peers]]


def _single(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32) if values.dtype.kind == "f" else values.astype(np.int32)


def _start(result: SampleResult) -> np.ndarray:
    assert result.spec is not None
    return np.asarray(result.spec.start)


def truth_of(result: SampleResult) -> Truth:
    """Exact moments of the posterior."""
    assert result.spec is not None
    model: Any = result.spec.model
    if hasattr(model.model, "find_centre"):
        return _exact_chain(result)
    drawn = au.weighted_draws(model, np.random.default_rng(5), REFERENCE_DRAWS)
    verdict = au.laplace_verdict(model, np.random.default_rng(6), REFERENCE_DRAWS, wish=1e-9)
    assert drawn.ess > 100
    sd = verdict.laplace.sd / (1.0 + verdict.sd_error)
    mean = verdict.laplace.centre - verdict.mean_error * sd
    return Truth(mean, sd, float(verdict.mean_se.max()), float(verdict.sd_se.max()))


def _exact_chain(result: SampleResult) -> Truth:
    assert result.spec is not None
    spec = result.spec._replace(test=au.ExactTest())
    theta = _advance(spec.chain(streams(9, 1)[0]), EXACT_SECONDS).theta
    theta = theta[len(theta) // 10 :]
    effective = float(ess(theta).min())
    return Truth(theta.mean(axis=0), theta.std(axis=0), effective**-0.5, (2.0 * effective) ** -0.5)


def _advance(chain: Any, seconds: float) -> Draws:
    parts, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds:
        parts.append(chain.advance(64))
    return Draws.joined(parts)


def _timed(result: SampleResult, seconds: float, truth: Truth, setup: float) -> Figures:
    """One chain with the parts that `sample` has chosen, after a warm-up."""
    assert result.spec is not None
    chain = result.spec.chain(streams(2, 1)[0])
    chain.advance(500)
    begin = time.perf_counter()
    draws = _advance(chain, seconds)
    elapsed = time.perf_counter() - begin
    effective = float(ess(draws.theta).min())
    rows, accepted = float(draws.n_used.mean()), float(draws.accepted.mean())
    return Figures(
        f"austerity, {result.method}", setup, rows, accepted, effective / elapsed, effective, *_off(draws.theta, truth)
    )


def _off(theta: np.ndarray, truth: Truth) -> tuple[float, float]:
    """Largest error of a mean in standard deviations, and of a standard deviation relative."""
    means = float(np.abs((theta.mean(axis=0) - truth.mean) / truth.sd).max())
    return means, float(np.abs(theta.std(axis=0) / truth.sd - 1.0).max())


def _peer(name: str, method: str, source: Path, n: int, seconds: float, truth: Truth) -> Figures:
    block = max(1, min(50, 2 * 10**6 // n))
    warmup = 200 if n <= 10**5 else 60
    options = {
        "name": name,
        "method": method,
        "seed": 1,
        "warmup": warmup,
        "block": block,
        "seconds": seconds,
        "draws": 20_000,
    }
    target = source.with_name("result.npz")
    target.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.any_model.nuts", str(source), str(target), json.dumps(options)]
    sampler = {"nuts": "NumPyro NUTS", "hmcecs": "NumPyro HMCECS"}[method]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return Figures(sampler, problem=f"not finished in {TIMEOUT:g} s")
    if run.returncode:
        return Figures(sampler, problem=(run.stderr.strip().splitlines() or ["failed"])[-1][:100])
    made = np.load(target)
    theta, elapsed = made["theta"].astype(np.float64), float(made["seconds"])
    effective = float(ess(theta).min()) if len(theta) >= ENOUGH else np.nan
    return Figures(
        sampler,
        float(made["compiling"] + made["warmup"]),
        np.nan,
        np.nan,
        effective / elapsed,
        effective,
        *_off(theta, truth),
    )


def _row(name: str, n: int, f: Figures, ratio: float) -> str:
    if f.problem:
        return f"| {name} | {n:,} | {f.sampler} | {f.problem} | | | | | | |"
    noise = 3.0 * f.effective**-0.5
    shown = [
        f"{f.setup:.1f} s",
        _or_none(f.rows, ",.0f"),
        _or_none(f.acceptance, ".2f"),
        f"{f.ess_per_s:,.3g} ({f.effective:,.0f})",
        _or_none(ratio, ",.3g"),
        f"{f.mean_error:.3f} ({noise:.3f})",
        f"{100 * f.sd_error:.1f}% ({100 * noise / 2**0.5:.1f}%)",
    ]
    return f"| {name} | {n:,} | {f.sampler} | " + " | ".join(shown) + " |"


def _or_none(value: float, style: str) -> str:
    return format(value, style) if np.isfinite(value) else "–"
