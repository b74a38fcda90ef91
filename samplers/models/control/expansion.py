"""Taylor expansions of each datum's log-likelihood: all that control variates ask of a model.

A linear model is expanded in its predictor, here. Any other model brings its own expansion (`SmoothModel`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.data.memory import in_a_file
from samplers.models import LinearModel, RowProxies, Rows, SmoothModel
from samplers.models.arrays import blocks, value_and_slope

MOST_ANCHORED = 2**23  # data whose expansion at the centre is stored, 24 bytes each; beyond, it is computed when read


class Expansion(NamedTuple):
    """The proxies of all rows around a centre, and gradient and Hessian there of their sum."""

    proxies: RowProxies
    gradient: Floats
    hessian: Floats


def expand(model: LinearModel | SmoothModel, centre: Floats, order: int, stored: bool | None = None) -> Expansion:
    """Expand every datum's log-likelihood at `centre`: one pass over the data; `Controlled.around` explains `stored`.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> model = Logistic.from_data([[1.0], [2.0]], [1, 0])
    >>> expand(model, np.zeros(1), 2).hessian  # minus 1 / 4 for each squared covariate
    array([[-1.25]])
    """
    if not isinstance(model, LinearModel):
        first, *others = blocks(model.n_data)
        gradient, hessian = derivatives(model, centre, first, order)  # the Hessian's type is the model's own
        for block in others:
            slope, curvature = derivatives(model, centre, block, order)
            gradient, hessian = gradient + slope, hessian + curvature
        return Expansion(check_smooth(model).row_proxies(centre, order), gradient, hessian)
    gradient, hessian = np.zeros(centre.size), np.zeros((centre.size, centre.size))
    if stored is None:
        stored = model.n_data <= MOST_ANCHORED and not in_a_file(model.rows)
    anchor = np.empty((model.n_data, 3)) if stored else None
    for block in blocks(model.n_data):
        rows = rows_of(model, block)
        part = expansion(model, rows @ centre, block, order)
        gradient += rows.T @ part[:, 1]
        hessian += (rows * part[:, 2, None]).T @ rows
        if anchor is not None:
            anchor[block] = part
    return Expansion(LinearProxies(model, centre, order, anchor), gradient, hessian)


@dataclass(frozen=True, eq=False)
class LinearProxies:
    """Proxies of first or second order in the predictor η_i, around η_i* = rows_i . centre.

    Parameters
    ----------
    model
        The linear model.
    centre, order
        Where, and how far: 1 or 2.
    anchor
        Columns η_i*, slope and curvature there; None: computed whenever a datum is read.
    """

    model: LinearModel
    centre: Floats
    order: int
    anchor: Floats | None

    def residuals(self, theta: Floats, theta_new: Floats, indices: Rows) -> Floats:
        """r_i = lᵢ - [p_i(θ') - p_i(θ)]."""
        rows = self.model.rows[indices]
        old, new, (centre, slope, curvature) = rows @ theta, rows @ theta_new, self._expansion(rows, indices).T
        exact = self.model.value(new, indices) - self.model.value(old, indices)
        residual: Floats = exact - (new - old) * (slope + 0.5 * curvature * (new + old - 2.0 * centre))
        return residual

    def residual(self, theta: Floats, indices: Rows) -> Floats:
        """log p_i(θ) less the proxy's change from the centre to θ."""
        rows = self.model.rows[indices]
        eta, (centre, slope, curvature) = rows @ theta, self._expansion(rows, indices).T
        residual: Floats = self.model.value(eta, indices) - (eta - centre) * (slope + 0.5 * curvature * (eta - centre))
        return residual

    def residual_many(self, states: Floats, indices: Rows) -> Floats:
        """The same at each of many states, (S, rows)."""
        rows = np.asarray(self.model.rows[indices], dtype=np.float64)
        eta, (centre, slope, curvature) = states @ rows.T, self._expansion(rows, indices).T
        away = eta - centre
        residual: Floats = value_and_slope(self.model, eta, indices)[0] - away * (slope + 0.5 * curvature * away)
        return residual

    def _expansion(self, rows: Floats, indices: Rows) -> Floats:
        if self.anchor is not None:
            return self.anchor[indices]
        return expansion(self.model, rows @ self.centre, indices, self.order)


def derivatives(model: LinearModel | SmoothModel, theta: Floats, indices: Rows, order: int) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the log-likelihood of these data; the Hessian is 0 at order 1."""
    if not isinstance(model, LinearModel):
        return check_smooth(model).derivatives(theta, indices, order)
    rows = np.asarray(model.rows[indices], dtype=np.float64)
    part = expansion(model, rows @ theta, indices, order)
    return rows.T @ part[:, 1], (rows * part[:, 2, None]).T @ rows


def check_smooth(model: object) -> SmoothModel:
    """A model that brings its own expansion, or BadInput."""
    if not isinstance(model, SmoothModel):
        raise BadInput(
            f"model: {type(model).__name__} has neither a linear predictor (`LinearModel`) nor derivatives "
            "(`SmoothModel`), which control variates need"
        )
    return model


def expansion(model: LinearModel, eta: Floats, indices: Rows, order: int) -> Floats:
    """Columns η, slope and curvature (0 at order 1) of each datum's log-likelihood at the centre."""
    curvature = model.curvature(eta, indices) if order == 2 else np.zeros(eta.size)
    return np.stack([eta, model.slope(eta, indices), curvature], axis=1)


def rows_of(model: LinearModel, block: slice) -> Floats:
    """Some rows in full precision, converted once."""
    return np.asarray(model.rows[block], dtype=np.float64)
