"""Generalised linear models with several predictors: classes (softmax), and shape parameters that are sampled.

θ holds the coefficients, class by class for softmax, then the logarithms of the shape parameters. Every datum's
log-likelihood is a function of q predictors, the linear ones and the log shapes; its control variate needs its q first
and q (q + 1) / 2 second derivatives in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from designer.core.arrays import Floats, Ints
from samplers.models import Rows
from samplers.models.arrays import as_indices, blocks, check_size
from samplers.models.common import WithPrior
from samplers.models.families.joint import JointFamily, joint_slopes, joint_values
from samplers.models.families.joint_sums import joint_sums, joint_values_many
from samplers.models.row_table import Names, RowTable

PRODUCTS = 2**18  # states times rows times columns: one thread multiplies so few, and their predictors stay near


@dataclass(frozen=True, eq=False, repr=False)
class MultiGLM(WithPrior):
    """A model with several predictors; make one with `glm_model`.

    Parameters
    ----------
    rows
        Covariates (N, D).
    numbers
        y, offset, weight and the like of each row.
    family
        With its shape parameters, sampled or fixed.
    linear
        Number of linear predictors: K - 1 for softmax, else 1.
    shapes
        Names of the shape parameters that are sampled.
    prior
        Of all parameters.
    names
        Of all parameters.

    Examples
    --------
    >>> from samplers import glm_model
    >>> model = glm_model(np.ones((4, 1)), [1.0, 2.0, 3.0, 6.0], "gaussian", names=["intercept"])
    >>> model.names
    ('intercept', 'log sigma')
    >>> from samplers import find_mode
    >>> np.exp(find_mode(model)[1]).round(1)  # the prior of log sigma is N(0, 5²)
    np.float64(1.9)
    """

    rows: Floats
    numbers: RowTable
    family: JointFamily
    linear: int
    shapes: tuple[str, ...]
    prior: Any
    names: Names = None
    finite: ClassVar[bool] = True  # log p, at every θ

    @property
    def n_data(self) -> int:
        """Number of data N."""
        return int(self.rows.shape[0])

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return self.linear * int(self.rows.shape[1]) + len(self.shapes)

    @property
    def predictors(self) -> int:
        """Number of predictors of a datum, q."""
        return self.linear + len(self.shapes)

    @cached_property
    def y(self) -> Floats:
        """The response of each row."""
        return self.numbers.column(0, slice(None), 0.0)

    def unpack(self, draws: Floats) -> dict[str, Floats]:
        """Draws (..., D) by name; shape parameters on their own scale."""
        count = self.dimension - len(self.shapes)
        names = self.names or tuple(str(k) for k in range(count))
        found = {name: draws[..., k] for k, name in enumerate(names[:count])}
        return found | {name: np.exp(draws[..., count + k]) for k, name in enumerate(self.shapes)}

    def __repr__(self) -> str:
        return f"MultiGLM({self.n_data:,} rows, {self.dimension:,} parameters)"

    def predictors_at(self, theta: Floats, indices: Rows) -> Floats:
        """Predictors (q, n) of these data; every column has the log shapes."""
        check_size(theta, self.dimension)
        rows = np.asarray(self.rows[indices], dtype=np.float64)
        count = self.linear * rows.shape[1]
        eta = np.empty((self.predictors, rows.shape[0]))
        eta[: self.linear] = theta[:count].reshape(self.linear, -1) @ rows.T
        if self.numbers.offset >= 0:
            eta[: self.linear] += self.numbers.table[indices][:, self.numbers.offset]
        eta[self.linear :] = theta[count:, None]
        return eta

    # --- many states --------------------------------------------------------------------------------------------------

    def predictors_many(self, states: Floats, rows: Floats, indices: Rows) -> Floats:
        """Linear predictors (S, linear, n) of these data, which are the given rows, at each state."""
        coefficients = np.ascontiguousarray(states[:, : self.linear * rows.shape[1]]).reshape(-1, rows.shape[1])
        eta: Floats = (coefficients @ rows.T).reshape(len(states), self.linear, -1)
        if self.numbers.offset >= 0:
            eta += self.numbers.table[indices][:, self.numbers.offset]
        return eta

    def log_likelihood_many(self, states: Floats, indices: Rows) -> Floats:
        """log p of each of these data at each state, (S, n)."""
        rows, numbers = np.asarray(self.rows[indices], dtype=np.float64), self.numbers.of_family(indices)
        shapes = states[:, self.dimension - len(self.shapes) :]
        found = np.empty((len(states), rows.shape[0]))
        for some in self._states_at_once(states, rows):
            eta = self.predictors_many(states[some], rows, indices)
            found[some] = joint_values_many(self.family, eta, shapes[some], numbers)
        return found

    def sums_many(self, states: Floats, indices: Rows) -> tuple[Floats, Floats]:
        """Sum of log p over these data (S,), and its gradient (S, D), at each state."""
        rows, numbers = np.asarray(self.rows[indices], dtype=np.float64), self.numbers.of_family(indices)
        count = self.dimension - len(self.shapes)
        sums, gradients = np.zeros(len(states)), np.zeros(states.shape)
        for some in self._states_at_once(states, rows) if rows.size else ():
            eta = self.predictors_many(states[some], rows, indices)
            sums[some], gradients[some, count:], slopes = joint_sums(self.family, eta, states[some, count:], numbers)
            gradients[some, :count] = (slopes.reshape(-1, rows.shape[0]) @ rows).reshape(len(slopes), count)
        return sums, gradients

    def _states_at_once(self, states: Floats, rows: Floats) -> list[slice]:
        """The states in pieces whose predictors stay in a near cache."""
        check_size(states[0], self.dimension)
        size = max(1, PRODUCTS // max(1, self.linear * rows.size))
        return [slice(first, first + size) for first in range(0, len(states), size)]

    # --- single states ------------------------------------------------------------------------------------------------

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """lᵢ of these data."""
        return self.log_likelihood(theta_new, indices) - self.log_likelihood(theta, indices)

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """log p of each of these data, up to a term of y alone."""
        return self.value(self.predictors_at(theta, indices), indices)

    def value(self, eta: Floats, indices: Rows) -> Floats:
        """The same, given the predictors."""
        return joint_values(self.family, eta, *self.numbers.of_family(indices))

    def slopes(self, eta: Floats, indices: Rows) -> tuple[Floats, Floats]:
        """First (q, n) and second derivatives (q (q + 1) / 2, n) in the predictors."""
        return joint_slopes(self.family, eta, *self.numbers.of_family(indices))

    def gradient(self, theta: Floats, indices: Rows) -> Floats:
        """Gradient of the sum of log p over these data."""
        return self.derivatives(theta, indices, 1)[0]

    def derivatives(self, theta: Floats, indices: Rows, order: int) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the sum of log p over these data; the Hessian is 0 at order 1."""
        rows, d = np.asarray(self.rows[indices], dtype=np.float64), self.rows.shape[1]
        slopes, curves = self.slopes(self.predictors_at(theta, indices), indices)
        count, q = self.linear * d, self.predictors
        gradient = np.concatenate([(slopes[: self.linear] @ rows).ravel(), slopes[self.linear :].sum(axis=1)])
        hessian = np.zeros((self.dimension, self.dimension))
        if order == 1:
            return gradient, hessian
        at = 0
        places = [slice(j * d, (j + 1) * d) if j < self.linear else count + j - self.linear for j in range(q)]
        for j in range(q):
            for i in range(j, q):
                if i < self.linear:
                    part: Any = (rows * curves[at][:, None]).T @ rows
                elif j < self.linear:
                    part = curves[at] @ rows
                else:
                    part = curves[at].sum()
                hessian[places[j], places[i]] = part
                hessian[places[i], places[j]] = part.T if np.ndim(part) == 2 else part
                at += 1
        return gradient, hessian

    def row_proxies(self, centre: Floats, order: int) -> MultiProxies:
        """Proxies of order 1 or 2 of every datum's log-likelihood around a centre."""
        return MultiProxies.of(self, centre, order)


@dataclass(frozen=True, eq=False)
class MultiProxies:
    """Proxies in the predictors; `anchor` has predictors, slopes and curvatures at the centre, a row for each datum."""

    model: MultiGLM
    centre: Floats
    order: int
    anchor: Floats

    @classmethod
    def of(cls, model: MultiGLM, centre: Floats, order: int) -> MultiProxies:
        """One pass over the data."""
        q = model.predictors
        anchor = np.empty((model.n_data, 2 * q + q * (q + 1) // 2))
        for block in blocks(model.n_data):
            eta = model.predictors_at(centre, block)
            slopes, curves = model.slopes(eta, block)
            anchor[block] = np.concatenate([eta, slopes, curves if order == 2 else np.zeros(curves.shape)]).T
        return cls(model, centre.copy(), order, anchor)

    def residuals(self, theta: Floats, theta_new: Floats, indices: Rows) -> Floats:
        """r_i = lᵢ - [p_i(θ') - p_i(θ)]."""
        rows = as_indices(self.model.n_data, indices)
        old, new = self.model.predictors_at(theta, rows), self.model.predictors_at(theta_new, rows)
        exact = self.model.value(new, rows) - self.model.value(old, rows)
        return exact - self._change(new - old, old + new, rows)

    def residual(self, theta: Floats, indices: Rows) -> Floats:
        """log p_i(θ), less the proxy's change from the centre to θ."""
        rows = as_indices(self.model.n_data, indices)
        eta, q = self.model.predictors_at(theta, rows), self.model.predictors
        centre = self.anchor[rows, :q].T
        return self.model.value(eta, rows) - self._change(eta - centre, eta + centre, rows)

    def residual_many(self, states: Floats, indices: Rows) -> Floats:
        """The same at each of many states, (S, n)."""
        rows, model = as_indices(self.model.n_data, indices), self.model
        linear, shapes = model.linear, states[:, model.dimension - len(model.shapes) :]
        eta = np.empty((model.predictors, len(states), rows.size))
        eta[:linear] = model.predictors_many(states, np.asarray(model.rows[rows], dtype=np.float64), rows).swapaxes(
            0, 1
        )
        eta[linear:] = shapes.T[:, :, None]
        centre = self.anchor[rows, : model.predictors].T[:, None]
        return model.log_likelihood_many(states, rows) - self._change(eta - centre, eta + centre, rows)

    def _change(self, d: Floats, total: Floats, rows: Ints) -> Floats:
        """Of the proxies along d, (q, n) or (q, S, n), where `total` is the sum of the predictors at both ends."""
        q = self.model.predictors
        anchor = self.anchor[rows].T
        middle = [total[j] - 2.0 * anchor[j] for j in range(q)]
        change: Floats = sum((anchor[q + j] * d[j] for j in range(q)), np.zeros(d.shape[1:]))
        at = 2 * q
        for j in range(q):
            for i in range(j, q):
                product = d[j] * middle[i]
                change += 0.5 * anchor[at] * (product if i == j else product + d[i] * middle[j])
                at += 1
        return change
