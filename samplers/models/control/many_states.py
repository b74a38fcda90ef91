"""Many states at once: log posteriors, gradients and residuals of S states for some rows of data.

Linear models do it by matrix products. Other models may offer the optional methods of `ManyStates`, one vectorised call
for all states; without them the states are looped over.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from designer.core.arrays import Floats
from samplers.models import LinearModel, RowProxies, Rows, SmoothModel
from samplers.models.arrays import at_each, value_and_slope

AT_ONCE = 2**19  # numbers in an array of a pass: states times rows


@runtime_checkable
class ManyStates(Protocol):
    """What a smooth model may offer so that many states need one call; `states` are (S, D).

    Its proxies may have `residual_many(states, indices) -> (S, n)`, likewise.
    """

    def log_likelihood_many(self, states: Floats, indices: Rows) -> Floats:
        """log p of each of the given data at each state, (S, n)."""

    def sums_many(self, states: Floats, indices: Rows) -> tuple[Floats, Floats]:
        """Sum of log p over the given data (S,), and its gradient (S, D), at each state."""


def row_blocks(n_rows: int, states: int) -> list[slice]:
    """The rows in pieces, so many at a time that an array of `states` times rows stays small."""
    size = max(64, AT_ONCE // max(1, states))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def sums_at(model: LinearModel | SmoothModel, states: Floats, indices: Rows) -> tuple[Floats, Floats]:
    """Sum of log p over these data (S,) and its gradient (S, D) at each state.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> model = Logistic.from_data([[1.0], [2.0]], [1, 0])
    >>> sums, gradients = sums_at(model, np.zeros((2, 1)), slice(0, 2))
    >>> sums.round(3), gradients.tolist()  # 2 log 0.5; 0.5 - 1
    (array([-1.386, -1.386]), [[-0.5], [-0.5]])
    """
    if isinstance(model, LinearModel):
        rows = np.asarray(model.rows[indices], dtype=np.float64)
        value, slope = value_and_slope(model, states @ rows.T, indices)
        return value.sum(axis=1), slope @ rows
    if isinstance(model, ManyStates):
        return model.sums_many(states, indices)
    sums = np.array([float(model.log_likelihood(state, indices).sum()) for state in states])
    return sums, np.stack([model.derivatives(state, indices, 1)[0] for state in states])


def log_likelihoods_at(model: LinearModel | SmoothModel, states: Floats, indices: Rows) -> Floats:
    """log p of each of these data at each state, (S, n)."""
    if isinstance(model, LinearModel):
        rows = np.asarray(model.rows[indices], dtype=np.float64)
        return at_each(model.value, states @ rows.T, indices)
    if isinstance(model, ManyStates):
        return model.log_likelihood_many(states, indices)
    return np.stack([model.log_likelihood(state, indices) for state in states])


def residuals_at(proxies: RowProxies, states: Floats, indices: Rows) -> Floats:
    """What proxies miss of each row's log-likelihood at each state, (S, n), up to a constant of the row."""
    together: Any = getattr(proxies, "residual_many", None)
    if together is not None:
        residuals: Floats = together(states, indices)
        return residuals
    return np.stack([proxies.residual(state, indices) for state in states])
