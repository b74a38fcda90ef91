"""How good an estimate from a chain is: effective sample sizes, and risk = bias² + variance against time and data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from designer.schedule import Floats


class Risk(NamedTuple):
    """Mean squared error of running means against the truth, averaged over quantities and chains, at some steps."""

    step: Floats
    risk: Floats
    low: Floats
    high: Floats


def effective_size(draws: Floats) -> float:
    """The least effective sample size over the columns of one chain's draws (steps, or steps x quantities).

    Examples
    --------
    >>> independent = np.random.default_rng(1).standard_normal(1000)
    >>> 800 < effective_size(independent) < 1200
    True
    """
    from arviz_stats import base

    stats: Any = base.array_stats  # type: ignore[attr-defined]
    columns = draws[:, None] if draws.ndim == 1 else draws
    return min(float(stats.ess(column[None, :], chain_axis=0, draw_axis=1)) for column in columns.T)


def running_risk(chains: list[Floats], truth: Floats, points: int = 60) -> Risk:
    """Risk of the running mean of each quantity, at log-spaced steps (K14 section 3).

    `chains` hold the values (steps x quantities) of some functions of the state, `truth` their expectations. The band
    is two standard errors over the chains (none with one chain).
    """
    steps = min(chain.shape[0] for chain in chains)
    at = np.unique(np.geomspace(min(10, steps), steps, points).astype(np.int64))
    squares = np.empty((len(chains), at.size))
    for k, chain in enumerate(chains):
        means = np.cumsum(chain[:steps], axis=0)[at - 1] / at[:, None]
        squares[k] = np.mean((means - truth) ** 2, axis=1)
    risk = squares.mean(axis=0)
    spread = squares.std(axis=0, ddof=1) / np.sqrt(len(chains)) if len(chains) > 1 else np.zeros(at.size)
    return Risk(at.astype(np.float64), risk, np.maximum(risk - 2.0 * spread, 0.0), risk + 2.0 * spread)
