"""How far the sequential chain is from the exact posterior, in means and standard deviations."""

from __future__ import annotations

import json

import numpy as np

from benchmarks.samplers.chains import BATCH, EPSILON, LOOSER, LogisticProblem, make_problem, measure
from benchmarks.samplers.reference import N_STORED, STORED, Reference, from_json, reference
from designer.core.arrays import Floats

SIZES = (12_214, N_STORED)


def report(seconds: float) -> list[str]:
    """The section of RESULTS.md; each chain runs ten times as long as `seconds`."""
    return [
        "## Accuracy: the sequential chain against the exact posterior, D = 50",
        "",
        f"Proxy proposals, m = {BATCH}. Means are compared in posterior sds, sds as",
        "ratios. The table gives the coordinate with the largest difference, and its standard error; among 50",
        "coordinates, chance alone makes the largest difference about 2.5 standard errors. The reference weights draws",
        "of the Laplace approximation by all data (`benchmarks/samplers/reference.py`).",
        "",
        "| N | ε | draws | data per step | min ESS | mean off, sd | s.e. | sd off | s.e. | s.e. of reference |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(row for n_data in SIZES for row in _rows(n_data, 10.0 * seconds)),
        "",
        *_check(),
    ]


def _rows(n_data: int, seconds: float) -> list[str]:
    problem = make_problem(n_data)
    truth = reference(problem)
    return [_row(problem, truth, epsilon, seconds) for epsilon in (EPSILON, LOOSER)]


def _row(problem: LogisticProblem, truth: Reference, epsilon: float, seconds: float) -> str:
    run = measure(problem, problem.controlled, problem.proxy, problem.sequential(epsilon), seconds)
    bulk, spread = effective(run.theta)
    mean, mean_at = _worst((run.theta.mean(axis=0) - truth.mean) / truth.sd)
    sd, sd_at = _worst(run.theta.std(axis=0) / truth.sd - 1.0)
    mean_se = np.hypot(bulk[mean_at] ** -0.5, truth.mean_se[mean_at])
    sd_se = np.hypot((2.0 * spread[sd_at]) ** -0.5, truth.sd_se[sd_at])
    known = f"{truth.mean_se.max():.4f}, {truth.sd_se.max():.2%}"
    figures = f"{mean:+.4f} | {mean_se:.4f} | {sd:+.2%} | {sd_se:.2%}"
    n_data = problem.model.n_data
    chain = f"{epsilon:g} | {len(run.theta):,} | {run.used / n_data:.3%} | {run.ess:,.0f}"
    return f"| {n_data:,} | {chain} | {figures} | {known} |"


def effective(theta: Floats) -> tuple[Floats, Floats]:
    """ESS of mean and of standard deviation, per coordinate."""
    from arviz_stats.base import array_stats

    kinds = ("mean", "sd")
    sizes = [[array_stats.ess(c[None, :], chain_axis=0, draw_axis=1, method=kind) for c in theta.T] for kind in kinds]
    return np.array(sizes[0], dtype=float), np.array(sizes[1], dtype=float)


def _worst(differences: Floats) -> tuple[float, int]:
    place = int(np.argmax(np.abs(differences)))
    return float(differences[place]), place


def _check() -> list[str]:
    """The stored reference beside the chain of the exact test that was run with it."""
    if not STORED.exists():
        return ["There is no stored reference; `python -m benchmarks.samplers.reference` makes one.", ""]
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    truth, chain = from_json(stored["importance"]), stored["exact_chain"]
    mean, sd = standardised(truth, *(np.array(chain[name]) for name in ("mean", "sd", "ess")))
    return [
        f"Stored reference, N = {stored['n_data']:,}: {truth.pairs:,} pairs, ESS of the weights {truth.ess:,.0f}.",
        f"A chain of the exact test ({chain['draws']:,} draws, acceptance {chain['acceptance']:.3f}, min ESS",
        f"{min(chain['ess']):,.0f}) differs from it by at most {mean:.1f} standard errors in the means",
        f"and {sd:.1f} in the sds.",
        "",
    ]


def standardised(truth: Reference, mean: Floats, sd: Floats, ess: Floats) -> tuple[float, float]:
    """Largest difference of means and of sds in standard errors of a chain with these effective draws."""
    off_mean = (mean - truth.mean) / truth.sd / np.hypot(ess**-0.5, truth.mean_se)
    off_sd = (sd / truth.sd - 1.0) / np.hypot((2.0 * ess) ** -0.5, truth.sd_se)
    return float(np.abs(off_mean).max()), float(np.abs(off_sd).max())
