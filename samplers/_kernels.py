"""Jitted functions shared by the samplers: drawing without replacement, and the statistics of a sequential test."""

from __future__ import annotations

import numpy as np

from designer._jit import kernel


@kernel
def draw(rng, order, picks, start, stop):
    """Extend a sample without replacement from `start` to `stop` items: partial Fisher-Yates on `order`.

    order[:stop] is the sample; picks[k] remembers which place item k came from, for `put_back`.
    """
    n = order.size
    for k in range(start, stop):
        pick = k + int(rng.random() * (n - k))
        picks[k] = pick
        drawn = order[pick]
        order[pick] = order[k]
        order[k] = drawn


@kernel
def put_back(order, picks, n):
    """Make `order` the identity again after n draws: every place that was touched is known."""
    for k in range(n):
        order[k] = k
        order[picks[k]] = picks[k]


@kernel
def moments(values, total, squares):
    """Add values to a running sum and sum of squares."""
    for i in range(values.size):
        total += values[i]
        squares += values[i] * values[i]
    return total, squares


def fresh_order(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The two arrays that `draw` works on, for n data."""
    return np.arange(n), np.empty(n, dtype=np.int64)
