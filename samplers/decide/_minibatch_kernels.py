"""Kernels of the exact mini-batch test: the alias table, drawing rows by their weights, and what the kept rows say."""

from __future__ import annotations

import math

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.jit import kernel

CUT, ALIAS, WEIGHT, ALIAS_WEIGHT = 0, 1, 2, 3  # columns of the table: one visit tells the row and its weight
RELATIVE = 1e-9  # an excess over a bound by this share of it is rounding
SMALL, LARGE = 1e-200, 1e200  # between them a product takes one more factor, at most 2^54, without overflow


@kernel
def fill_table(weights: Floats, total: float, table: Floats) -> None:
    """Walker's alias method, filled as Vose (1991) does: place k keeps row k with probability CUT, else its alias.

    All places are equally likely. A light row shares its place with a heavy one, which fills it up.
    """
    n = weights.size
    stack = np.empty(n, dtype=np.int64)  # light rows from the left, heavy ones from the right
    light, heavy = 0, n
    for k in range(n):
        table[k, CUT], table[k, ALIAS] = weights[k] / total * n, k
        if table[k, CUT] < 1.0:
            stack[light] = k
            light += 1
        else:
            heavy -= 1
            stack[heavy] = k
    while light > 0 and heavy < n:
        light -= 1
        small, large = stack[light], stack[heavy]
        table[small, ALIAS] = large
        table[large, CUT] = (table[large, CUT] + table[small, CUT]) - 1.0
        if table[large, CUT] < 1.0:
            heavy += 1
            stack[light] = large
            light += 1
    for k in range(light):  # what is left is 1, but for rounding
        table[stack[k], CUT] = 1.0
    for k in range(heavy, n):
        table[stack[k], CUT] = 1.0
    for k in range(n):
        table[k, WEIGHT], table[k, ALIAS_WEIGHT] = weights[k], weights[np.int64(table[k, ALIAS])]


@kernel
def draw_rows(rng: np.random.Generator, table: Floats, indices: Ints, weights: Floats, keeps: Floats) -> None:
    """Rows with probabilities in proportion to their weights, with replacement; their weights; and uniform numbers.

    All places are drawn first, so that the visits to the table wait for memory together.
    """
    for k in range(indices.size):
        indices[k] = np.int64(rng.random() * table.shape[0])
        weights[k] = rng.random()
        keeps[k] = rng.random()
    for k in range(indices.size):
        place = np.uint64(indices[k])
        own = weights[k] < table[place, CUT]
        indices[k] = np.int64(place) if own else np.int64(table[place, ALIAS])
        weights[k] = table[place, WEIGHT] if own else table[place, ALIAS_WEIGHT]


@kernel
def log_ratio_of_kept(
    terms: Floats, weights: Floats, reach: float, keeps: Floats, extra: float, rounding: float
) -> tuple[float, int]:
    """The sum of log(φ'/φ) over the rows that are kept, and the place of a term beyond its bound (-1: none).

    With x = r / (c M) and extra = 2 χ C M: a row is kept with probability (1 - x + extra) / (2 + extra), and
    φ'/φ = (1 + x + extra) / (1 - x + extra). One logarithm serves many factors.
    """
    total, product = 0.0, 1.0
    for k in range(terms.size):
        bound, r = weights[k] * reach, terms[k]
        if not abs(r) <= bound:
            if not abs(r) <= (1.0 + RELATIVE) * bound + rounding:  # also NaN
                return total, k
            r = math.copysign(bound, r)
        x = r / bound if bound > 0.0 else 0.0
        below = 1.0 - x + extra
        if keeps[k] * (2.0 + extra) < below:
            product *= (1.0 + x + extra) / below
            if not SMALL < product < LARGE:
                total += math.log(product) if product > 0.0 else -math.inf
                product = 1.0
    return total + math.log(product), -1
