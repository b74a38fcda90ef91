"""Control variates: the test sees only the residuals of a Taylor proxy of each datum's log-likelihood.

A controlled model is again a `Model`: its terms are the residuals r_i = lᵢ - [p_i(θ') - p_i(θ)], and the sum
of the proxies, O(D²) from precomputed moments, moves into the prior. So A is unchanged, κ shrinks, and every test,
proposal and trial run work as for any other model.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, NumericalFailure
from samplers.data.memory import in_a_file
from samplers.decide.alias import TermBounds
from samplers.models import LinearModel, Rows
from samplers.models.arrays import blocks
from samplers.models.residual_bounds import ResidualBounds
from samplers.models.term_bounds import factor_of

SUBSAMPLE = 20_000  # rows of the first Newton iterations, about
MOST_ANCHORED = 2**23  # data whose expansion at the centre is stored, 24 bytes each; beyond, it is computed when read


@dataclass(frozen=True, eq=False)
class Controlled:
    """A linear model with proxies p_i of first or second order in η_i around η_i* = rows_i . centre.

    It is again a `Model`: its terms are the residuals of the proxies, whose sum moves into the prior. Make one with
    `around`.

    Parameters
    ----------
    model
        The linear model.
    centre
        Where the proxies are expanded.
    order
        1 or 2.
    anchor
        Columns η_i*, slope and curvature there; None: computed whenever a datum is read.
    gradient, hessian
        Gradient and Hessian of the sum of the proxies, at the centre.
    radius
        Within how many whitened standard deviations of the centre the residuals have bounds; None: √D + 5.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> mode = find_mode(model)
    >>> proxied, indices = Controlled.around(model, mode), np.arange(500)
    >>> bool(proxied.terms(mode, mode + 0.1, indices).std() < 0.1 * model.terms(mode, mode + 0.1, indices).std())
    True
    """

    model: LinearModel
    centre: Floats
    order: int
    anchor: Floats | None  # η_i*, slope and curvature there: columns; None: computed whenever a datum is read
    gradient: Floats  # sum_i of the proxies' gradients at the centre
    hessian: Floats  # and of their Hessians
    radius: float | None = None  # R of the bounds' ball; None: √D + 5

    @classmethod
    def around(cls, model: LinearModel, centre: Floats, order: int = 2, stored: bool | None = None) -> Controlled:
        """Expand at `centre`, which should be near the posterior mode (see `find_mode`): one pass over the data.

        Parameters
        ----------
        model
            The linear model.
        centre
            D numbers.
        order
            1 or 2.
        stored
            Keep each datum's expansion, 24 bytes; otherwise every datum read costs one more product with the centre.
            By default it is kept, unless the rows are in a file or more than MOST_ANCHORED.
        """
        if order not in (1, 2):
            raise BadInput(f"order = {order!r}: must be 1 or 2")
        if stored is None:
            stored = model.n_data <= MOST_ANCHORED and not in_a_file(model.rows)
        anchor = np.empty((model.n_data, 3)) if stored else None
        gradient, hessian = np.zeros(centre.size), np.zeros((centre.size, centre.size))
        for block in blocks(model.n_data):
            rows = rows_of(model, block)
            part = expansion(model, rows @ centre, block, order)
            gradient += rows.T @ part[:, 1]
            hessian += (rows * part[:, 2, None]).T @ rows
            if anchor is not None:
                anchor[block] = part
        return cls(model, centre.copy(), order, anchor, gradient, hessian)

    def recentred(self, centre: Floats, stored: bool | None = None) -> Controlled:
        """The same posterior, expanded elsewhere, stored or not (by default as now): one pass over the data."""
        return Controlled.around(self.model, centre, self.order, self.anchor is not None if stored is None else stored)

    @property
    def n_data(self) -> int:
        """Number of data N."""
        return self.model.n_data

    @property
    def dimension(self) -> int:
        """Number of parameters D."""
        return self.centre.size

    def log_prior(self, theta: Floats) -> float:
        """The log prior plus the sum of the proxies."""
        d = theta - self.centre
        return self.model.log_prior(theta) + float(self.gradient @ d + 0.5 * d @ self.hessian @ d)

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """The residual of each lᵢ."""
        rows = self.model.rows[indices]
        old, new, (centre, slope, curvature) = rows @ theta, rows @ theta_new, self._expansion(rows, indices).T
        exact = self.model.value(new, indices) - self.model.value(old, indices)
        residual: Floats = exact - (new - old) * (slope + 0.5 * curvature * (new + old - 2.0 * centre))
        return residual

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """The residual of each datum's log-likelihood."""
        rows = self.model.rows[indices]
        eta, (centre, slope, curvature) = rows @ theta, self._expansion(rows, indices).T
        residual: Floats = self.model.value(eta, indices) - (eta - centre) * (slope + 0.5 * curvature * (eta - centre))
        return residual

    @cached_property
    def residual_bounds(self) -> ResidualBounds:
        """Bounds on the residuals, for the exact minibatch test; a pass over the data, once."""
        factor = factor_of(self.posterior_precision()) if self.order == 2 else None
        return ResidualBounds.of(self.model, self.centre, self.order, self.radius, factor)

    def bounds(self, theta: Floats, theta_new: Floats) -> TermBounds:
        """Bounds on the residual of each lᵢ."""
        return self.residual_bounds.between(theta, theta_new)

    def _expansion(self, rows: Floats, indices: Rows) -> Floats:
        if self.anchor is not None:
            return self.anchor[indices]
        return expansion(self.model, rows @ self.centre, indices, self.order)

    def posterior_precision(self) -> Floats:
        """Minus the Hessian of the log posterior at the centre, by the proxies: needs order 2."""
        precision: Floats = np.negative(self.hessian + self.model.prior_curvature(self.centre))
        return precision


def find_mode(model: LinearModel, start: Floats | None = None, tolerance: float = 1e-8) -> Floats:
    """The posterior mode: Newton on some rows, evenly spread, then on all of them.

    Steps are halved while they do not raise the log posterior.

    Parameters
    ----------
    model
        A linear model, with its prior.
    start
        Zeros by default.
    tolerance
        Largest change of a coefficient in the last step, in posterior standard deviations.

    Returns
    -------
    array
        D numbers: a centre for `Controlled.around`, and a start for a chain.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> model = Logistic.from_data([[1.0], [1.0], [1.0]], [1, 1, 0])
    >>> find_mode(model).round(6)  # log 2: two of three
    array([0.693147])
    """
    theta = np.zeros(model.rows.shape[1]) if start is None else np.array(start, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # non-finite values are refused
        if model.n_data > 2 * SUBSAMPLE:
            with suppress(NumericalFailure):  # some rows may have no mode although all together do
                theta = _newton(model, theta, [slice(None, None, model.n_data // SUBSAMPLE)], 1e-3)
        return _newton(model, theta, blocks(model.n_data), tolerance)


def expansion(model: LinearModel, eta: Floats, indices: Rows, order: int) -> Floats:
    """Columns η, slope and curvature (0 at order 1) of each datum's log-likelihood at the centre."""
    curvature = model.curvature(eta, indices) if order == 2 else np.zeros(eta.size)
    return np.stack([eta, model.slope(eta, indices), curvature], axis=1)


def rows_of(model: LinearModel, block: slice) -> Floats:
    """Some rows in full precision, converted once."""
    return np.asarray(model.rows[block], dtype=np.float64)


def _newton(model: LinearModel, theta: Floats, parts: list[slice], tolerance: float) -> Floats:
    """Newton on some of the rows, their likelihood scaled up to all."""
    scale, information = model.n_data / sum(model.rows[part].shape[0] for part in parts), 0.0
    value = _log_posterior(model, theta, parts, scale)
    for _ in range(100):
        gradient, hessian = model.prior_gradient(theta).copy(), model.prior_curvature(theta).copy()
        for block in parts:
            rows = rows_of(model, block)
            eta = rows @ theta
            gradient += scale * (rows.T @ model.slope(eta, block))
            hessian += scale * ((rows * model.curvature(eta, block)[:, None]).T @ rows)
        if not (np.all(np.isfinite(hessian)) and np.all(np.isfinite(gradient))):
            raise BadInput("no mode: sums of the columns' squares are not finite; the columns are too large")
        information = max(information, -float(np.trace(hessian)))
        proper = bool(np.all(np.diag(model.prior_curvature(theta)) < 0.0))  # then a mode exists, however far away
        if not proper and not -float(np.trace(hessian)) > 1e-7 * information:
            raise NumericalFailure("no mode: the data are separable; add a prior")
        try:
            step = np.linalg.solve(-hessian, gradient)
        except np.linalg.LinAlgError:
            raise NumericalFailure("no mode: the log posterior is flat somewhere; add a prior") from None
        length = 1.0
        while length > 1e-6:
            candidate = theta + length * step
            new_value = _log_posterior(model, candidate, parts, scale)
            if new_value >= value - 1e-9 * abs(value):
                break
            length *= 0.5
        theta, value = candidate, new_value
        if length * float(np.sqrt(abs(step @ gradient))) < tolerance:  # in posterior standard deviations
            return theta
    raise NumericalFailure("no mode found in 100 Newton steps")


def _log_posterior(model: LinearModel, theta: Floats, parts: list[slice], scale: float) -> float:
    likelihood = sum(float(model.value(rows_of(model, block) @ theta, block).sum()) for block in parts)
    return model.log_prior(theta) + scale * likelihood
