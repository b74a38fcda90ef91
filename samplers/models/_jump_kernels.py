"""Compiled kernels of reversible-jump logistic regression: the lᵢ of a move that changes one coefficient."""

from __future__ import annotations

from designer.core.arrays import Floats, Ints
from designer.core.jit import inlined, kernel
from samplers.compiled.logistic import log_sigmoid


@inlined
def move_term(row: Floats, active: Ints, beta: Floats, j: int, change: float) -> float:
    """lᵢ of a move that adds `change` to coefficient j; beta are the coefficients of the active columns before it."""
    eta = 0.0
    for a in range(active.size):
        eta += row[active[a]] * beta[a]
    return log_sigmoid(eta + change * row[j]) - log_sigmoid(eta)  # type: ignore[no-any-return]


@kernel
def move_terms(rows: Floats, active: Ints, beta: Floats, j: int, change: float, indices: Ints, out: Floats) -> None:
    """lᵢ of the given data."""
    for n in range(indices.size):
        out[n] = move_term(rows[indices[n]], active, beta, j, change)


@kernel
def move_total(rows: Floats, active: Ints, beta: Floats, j: int, change: float) -> float:
    """The sum of all lᵢ."""
    total = 0.0
    for n in range(rows.shape[0]):
        total += move_term(rows[n], active, beta, j, change)
    return total
