"""Compiled kernels of the dense Markov random field: the terms of a variable's log-odds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.jit import inlined, kernel

Bits = npt.NDArray[np.int8]
Pairs = npt.NDArray[np.int16]


@kernel
def fill_steps(table: Floats, steps: Floats) -> None:
    """steps[i, p, 2 x_j + x_k] = log psi(X_i = 1, x_j, x_k) - log psi(X_i = 0, x_j, x_k), p the pair (j, k) of others.

    Rows of the table are triples a < b < c sorted by c, then b, then a; columns count x_a x_b x_c in binary.
    """
    row = 0
    for c in range(2, steps.shape[0]):
        for b in range(1, c):
            for a in range(b):
                for bits in range(4):
                    high, low = bits // 2, bits % 2
                    at = 4 * high + 2 * low
                    steps[c, b * (b - 1) // 2 + a, bits] = table[row, at + 1] - table[row, at]
                    at = 4 * high + low
                    steps[b, (c - 1) * (c - 2) // 2 + a, bits] = table[row, at + 2] - table[row, at]
                    steps[a, (c - 1) * (c - 2) // 2 + b - 1, bits] = table[row, 4 + bits] - table[row, bits]
                row += 1


@inlined
def pair_term(steps: Floats, pairs: Pairs, x: Bits, i: int, p: int) -> float:
    """Term p of the log-odds of X_i. pairs[p] = (j, k), j < k, numbered as if variable i did not exist."""
    j, k = pairs[p, 0], pairs[p, 1]
    return steps[i, p, 2 * x[j + (j >= i)] + x[k + (k >= i)]]  # type: ignore[no-any-return]


@kernel
def pair_terms(steps: Floats, pairs: Pairs, x: Bits, i: int, indices: Ints, out: Floats) -> None:
    """The given terms of the log-odds of X_i."""
    for n in range(indices.size):
        out[n] = pair_term(steps, pairs, x, i, indices[n])


@kernel
def log_odds(steps: Floats, pairs: Pairs, x: Bits, i: int) -> float:
    """log P(X_i = 1 | x_-i) / P(X_i = 0 | x_-i): the sum of all terms (K14 Eqn 47)."""
    total = 0.0
    for p in range(pairs.shape[0]):
        total += pair_term(steps, pairs, x, i, p)
    return total
