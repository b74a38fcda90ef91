"""The quality of estimates from a chain: effective draws, standard errors, and risk = bias² + variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats

BLOCKS = 20  # blocks of a chain whose means are treated as independent


class Risk(NamedTuple):
    """Mean squared error against the truth, averaged over quantities and chains, with bands of two standard errors."""

    risk: Floats
    low: Floats
    high: Floats


def effective_size(draws: Floats) -> float:
    """The smallest number of effective draws over the columns of one chain's draws (steps, or steps x quantities).

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


def block_error(values: Floats, blocks: int = BLOCKS) -> float:
    """Standard error of the mean of a chain's values, which are correlated: from the means of its blocks.

    Examples
    --------
    >>> block_error(np.tile([0.0, 2.0], 10), blocks=2)
    0.0
    """
    means = np.array([float(block.mean()) for block in np.array_split(values, min(blocks, values.size))])
    return float(means.std(ddof=1) / math.sqrt(means.size)) if means.size > 1 else math.nan


def risk_of_means(means: Sequence[Floats], truth: Floats) -> Risk:
    """Risk of the running means of several chains (each points x quantities) at their points (K14 section 3).

    The band is two standard errors over the chains; a single chain has none.
    """
    squares = np.array([np.mean((chain - truth) ** 2, axis=1) for chain in means])
    risk = squares.mean(axis=0)
    spread = squares.std(axis=0, ddof=1) / math.sqrt(len(means)) if len(means) > 1 else np.zeros(risk.size)
    return Risk(risk, np.maximum(risk - 2.0 * spread, 0.0), risk + 2.0 * spread)
