"""Jitted functions of the reversible-jump and Gibbs samplers: terms of a move, conditionals of a dense MRF, sweeps."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.jit import inlined, kernel
from samplers.compiled.logistic import log_sigmoid
from samplers.decide._moments import decide
from samplers.decide._permutation import Permutation, draw, put_back

Bits = npt.NDArray[np.int8]
Pairs = npt.NDArray[np.int16]


# --- reversible jump ----------------------------------------------------------------------------------------------


@inlined
def move_term(row: Floats, active: Ints, beta: Floats, j: int, change: float) -> float:
    """l_i of a move that adds `change` to coefficient j; beta are the coefficients of the active columns before it."""
    eta = 0.0
    for a in range(active.size):
        eta += row[active[a]] * beta[a]
    return log_sigmoid(eta + change * row[j]) - log_sigmoid(eta)  # type: ignore[no-any-return]


@kernel
def move_terms(rows: Floats, active: Ints, beta: Floats, j: int, change: float, indices: Ints, out: Floats) -> None:
    """l_i of the given data."""
    for n in range(indices.size):
        out[n] = move_term(rows[indices[n]], active, beta, j, change)


@kernel
def move_total(rows: Floats, active: Ints, beta: Floats, j: int, change: float) -> float:
    """The sum of all l_i."""
    total = 0.0
    for n in range(rows.shape[0]):
        total += move_term(rows[n], active, beta, j, change)
    return total


# --- dense Markov random field ------------------------------------------------------------------------------------


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


@inlined
def logit_threshold(rng: np.random.Generator) -> float:
    """v = logit u, from the same random number as `draw_threshold`."""
    u = 1.0 - rng.random()
    return math.log(u) - math.log1p(-min(u, 1.0 - 2.0**-53))


@kernel
def update_exactly(rng: np.random.Generator, steps: Floats, pairs: Pairs, sites: Ints, x: Bits, value: Bits) -> None:
    """Gibbs updates of the given sites in turn; x in place, value[s] is what was assigned in update s."""
    for s in range(sites.size):
        i = sites[s]
        v = logit_threshold(rng)
        x[i] = value[s] = log_odds(steps, pairs, x, i) > v


@kernel
def update_sequentially(
    rng: np.random.Generator,
    steps: Floats,
    pairs: Pairs,
    sites: Ints,
    x: Bits,
    looks: Ints,
    lower: Floats,
    upper: Floats,
    permutation: Permutation,
    value: Bits,
    n_used: Ints,
    n_looks: Ints,
) -> None:
    """`update_exactly` with the sequential test (K14 Alg. 1, mu_0 = logit u / N), as `SequentialTest.decide`."""
    n_data = pairs.shape[0]
    for s in range(sites.size):
        i = sites[s]
        v = logit_threshold(rng)
        n, shift, total, squares, verdict, j = 0, 0.0, 0.0, 0.0, 0, 0
        while verdict == 0:
            permutation, new = draw(rng, permutation, n, looks[j], looks[j])
            for k in range(new.size):
                term = pair_term(steps, pairs, x, i, new[k])
                if n == 0:
                    shift = term
                total += term - shift
                squares += (term - shift) * (term - shift)
                n += 1
            if n < n_data:
                verdict = decide(total, squares, n, n_data, shift - v / n_data, lower[j], upper[j])
            else:
                verdict = 1 if n_data * shift + total > v else -1
            j += 1
        permutation = put_back(permutation, n)
        x[i] = value[s] = verdict > 0
        n_used[s], n_looks[s] = n, j
