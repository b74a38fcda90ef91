"""Chains on logistic regression with D = 50: steps, data and effective draws per second, one core."""

from __future__ import annotations

import time

import numpy as np

from designer import Design
from designer.schedule import Floats
from samplers.accept.comparison import AcceptTest
from samplers.accept.exact import ExactTest
from samplers.accept.sequential import SequentialTest
from samplers.chain import Chain, streams
from samplers.control import Controlled, find_mode
from samplers.models import Model
from samplers.models.logistic import Logistic
from samplers.proposals import Proposal, ProxyStep, RandomWalk

DIMENSION = 50
SIZES = (12_214, 100_000, 1_000_000)
SECONDS = 4.0  # per chain


def report() -> list[str]:
    """The section of RESULTS.md."""
    return [
        "## Samplers: logistic regression, D = 50, synthetic data, one core",
        "",
        "m = 100, epsilon = 0.01, Gaussian prior with precision 10. ESS is the smallest bulk ESS over the coordinates;",
        "sd is relative to the Laplace approximation (smallest to largest coordinate). Finding the mode and building",
        "the proxies is not counted; it is given once per N.",
        "",
        "| N | chain | steps/s | acceptance | data per step | min ESS/s | sd ratio |",
        "|---|---|---|---|---|---|---|",
        *(row for n_data in SIZES for row in _rows(n_data)),
        "",
    ]


def _rows(n_data: int) -> list[str]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_data, DIMENSION))
    y = rng.random(n_data) < 1.0 / (1.0 + np.exp(-x @ rng.normal(0.0, 0.3, DIMENSION)))
    start = time.perf_counter()
    model = Logistic.from_data(x, y, prior_precision=10.0)
    mode = find_mode(model)
    controlled = Controlled.around(model, mode)
    setup = time.perf_counter() - start
    covariance = np.linalg.inv(controlled.posterior_precision())
    walk, proxy = RandomWalk.with_covariance(covariance), ProxyStep.of(controlled)
    test = SequentialTest.from_design(Design(n_data, 100, 0.01))
    rows = [
        _row("sequential, control variates, random walk", controlled, walk, test, mode, covariance),
        _row("sequential, control variates, proxy", controlled, proxy, test, mode, covariance),
        _row("sequential, plain, random walk", model, walk, test, mode, covariance),
        _row("exact, proxy", controlled, proxy, ExactTest(), mode, covariance),
        _row("exact, random walk", model, walk, ExactTest(), mode, covariance),
    ]
    return [*rows, f"| {n_data:,} | (mode and proxies: {setup:.1f} s) | | | | | |"]


def _row(name: str, model: Model, proposal: Proposal, test: AcceptTest, mode: Floats, covariance: Floats) -> str:
    from arviz_stats.base import array_stats

    chain = Chain(model, proposal, test, mode, streams(1, 1)[0])
    chain.advance(2)  # compile
    parts, start = [], time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        parts.append(chain.advance(64))
    elapsed = time.perf_counter() - start
    theta = np.concatenate([part.theta for part in parts])
    ess = min(float(array_stats.ess(theta[None, :, k], chain_axis=0, draw_axis=1)) for k in range(DIMENSION))
    ratio = theta.std(axis=0) / np.sqrt(np.diag(covariance))
    used = float(np.mean([part.n_used.mean() for part in parts]))
    moved = float(np.mean([part.accepted.mean() for part in parts]))
    sd = f"{ratio.min():.2f}–{ratio.max():.2f}" if ess > 100 else "too few draws"
    rate = f"{len(theta) / elapsed:,.0f} | {moved:.2f}"
    n_data = model.n_data
    return f"| {n_data:,} | {name} | {rate} | {used:,.0f} ({used / n_data:.3%}) | {ess / elapsed:,.1f} | {sd} |"
