"""Sums of log p over all data, for many states at once: one pass, by matrix products where the model is linear."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.jit import kernel
from samplers.compiled.logistic import ROOM, fill_factors, sum_with_factors
from samplers.models import LinearModel, SmoothModel
from samplers.models.arrays import at_each
from samplers.models.control.many_states import log_likelihoods_at
from samplers.models.logistic import Logistic
from samplers.models.tempered import TemperedLinear

NUMBERS = 2**20  # predictors computed at once: rows times states


def log_posteriors(model: LinearModel | SmoothModel, states: Floats) -> Floats:
    """Log posterior of each state, up to one constant: reads the data once.

    Parameters
    ----------
    model
        A linear model, or one with derivatives of its own.
    states
        (S, D).

    Returns
    -------
    array
        S numbers.

    Examples
    --------
    >>> model = Logistic.from_data([[1.0], [2.0]], [1, 0], prior_precision=1.0)
    >>> log_posteriors(model, np.array([[0.0], [1.0]])).round(3)
    array([-1.386, -2.94 ])
    """
    totals = np.array([model.log_prior(state) for state in states])
    size = max(1, NUMBERS // len(states))
    for start in range(0, model.n_data, size):
        block = slice(start, min(start + size, model.n_data))
        if isinstance(model, LinearModel):
            totals += _sums(model, states @ np.asarray(model.rows[block], dtype=np.float64).T, block)
        else:
            totals += log_likelihoods_at(model, states, block).sum(axis=1)
    return totals


def _sums(model: Any, eta: Floats, block: slice) -> Floats:
    """Sums over a block of rows of log p, for each row of η."""
    if type(model) is TemperedLinear:
        scaled: Floats = model.scale * _sums(model.model, eta, block)
        return scaled
    if type(model) is not Logistic:
        values: Floats = at_each(model.value, eta, block).sum(axis=1)
        return values
    if model.labels is not None:
        eta *= np.where(model.labels[block] > 0, 1.0, -1.0)
    out = np.empty(len(eta))
    sum_rows(eta, np.empty(ROOM), out)
    return out


@kernel
def sum_rows(eta: Floats, factors: Floats, out: Floats) -> None:
    """out[s]: the sum of log sigmoid(η) along row s."""
    for s in range(eta.shape[0]):
        total = 0.0
        for first in range(0, eta.shape[1], factors.size):
            some = eta[s, first : first + factors.size]
            fill_factors(some, factors[: some.size])
            total += sum_with_factors(some, factors[: some.size])
        out[s] = total
