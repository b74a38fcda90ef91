"""Control variates: the test sees only the residuals of a Taylor proxy of each datum's log-likelihood.

A controlled model is again a `Model`: its terms are the residuals r_i = lᵢ - [p_i(θ') - p_i(θ)], and the sum
of the proxies, O(D²) from precomputed moments, moves into the prior. So A is unchanged, κ shrinks, and every test,
proposal and trial run work as for any other model. Heavy rows (`samplers.models.heavy`), whose proxies are poor, move
into the prior as they are: they are read in every step, and the data of the model are the other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, NumericalFailure
from samplers.data.memory import in_a_file
from samplers.decide.alias import TermBounds
from samplers.models import LinearModel, Rows
from samplers.models.arrays import blocks
from samplers.models.heavy import RowSplit, Wish, split_rows
from samplers.models.propriety import check_columns, check_precision, check_step, flat_columns
from samplers.models.residual_bounds import ResidualBounds
from samplers.models.term_bounds import factor_of, precision_at

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
        Gradient and Hessian of the sum of the proxies, at the centre; without those of heavy rows.
    split
        Which rows are heavy.
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
    gradient: Floats  # sum_i of the proxies' gradients at the centre, but not those of heavy rows
    hessian: Floats  # and of their Hessians
    split: RowSplit
    radius: float | None = None  # R of the bounds' ball; None: √D + 5

    @classmethod
    def around(
        cls, model: LinearModel, centre: Floats, order: int = 2, stored: bool | None = None, heavy: Wish = 0
    ) -> Controlled:
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
        heavy
            Rows that every step reads: how many (those whose proxies can miss most), "auto" (as many as make decisions
            cheapest by far, often none), "bounds" (the same for the exact mini-batch test) or their numbers. The model
            then has N - H data, and so must its test.
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
        none = RowSplit(model.n_data, np.empty(0, dtype=np.int64))
        whole = cls(model, centre.copy(), order, anchor, gradient, hessian, none)
        return whole.with_heavy(heavy)

    def with_heavy(self, wish: Wish) -> Controlled:
        """The same posterior with heavy rows, if there are none yet; `around` explains what can be wished."""
        if self.n_heavy:
            raise BadInput(f"heavy: {self.n_heavy:,} rows are heavy already")
        if isinstance(wish, int) and wish == 0:
            return self
        if isinstance(wish, RowSplit):
            split = wish
        else:
            precision = self.posterior_precision() if self.order == 2 else precision_at(self.model, self.centre)
            split = split_rows(self.model, self.centre, self.order, precision, wish)
        without = replace(self, split=split)
        gradient, hessian = without._heavy_derivatives(self.centre)
        return replace(without, gradient=self.gradient - gradient, hessian=self.hessian - hessian)

    def recentred(self, centre: Floats, stored: bool | None = None) -> Controlled:
        """The same posterior, expanded elsewhere, stored or not (by default as now): one pass over the data.

        The heavy rows stay the same.
        """
        kept = self.anchor is not None if stored is None else stored
        return Controlled.around(self.model, centre, self.order, kept, self.split)

    @property
    def n_data(self) -> int:
        """Number of data that a test can sample: N - H."""
        return self.split.n_rest

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return self.split.n_rows

    @property
    def heavy(self) -> Ints:
        """Numbers of the rows that every step reads, sorted."""
        return self.split.heavy

    @property
    def n_heavy(self) -> int:
        """Their number H."""
        return self.split.heavy.size

    def row_number(self, index: int) -> int:
        """Which row a datum is: heavy rows are not data of a test, and the others are numbered without them."""
        return int(np.asarray(self.split.rows_of(np.array([index])))[0])

    @property
    def dimension(self) -> int:
        """Number of parameters D."""
        return self.centre.size

    def log_prior(self, theta: Floats) -> float:
        """The log prior plus the sum of the proxies and the log-likelihood of the heavy rows."""
        d = theta - self.centre
        known = self.model.log_prior(theta) + float(self.gradient @ d + 0.5 * d @ self.hessian @ d)
        if self.n_heavy:
            known += float(self.model.value(self.heavy_rows @ theta, self.heavy).sum())
        return known

    @cached_property
    def heavy_rows(self) -> Floats:
        """The heavy rows, (H, D), one after the other in memory."""
        return np.ascontiguousarray(self.model.rows[self.heavy], dtype=np.float64)

    def _heavy_derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the heavy rows' log-likelihood; the Hessian is 0 for proxies of order 1."""
        rows = self.heavy_rows
        part = expansion(self.model, rows @ theta, self.heavy, self.order)
        return rows.T @ part[:, 1], (rows * part[:, 2, None]).T @ rows

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """The residual of each lᵢ."""
        at = self.split.rows_of(indices)
        rows = self.model.rows[at]
        old, new, (centre, slope, curvature) = rows @ theta, rows @ theta_new, self._expansion(rows, at).T
        exact = self.model.value(new, at) - self.model.value(old, at)
        residual: Floats = exact - (new - old) * (slope + 0.5 * curvature * (new + old - 2.0 * centre))
        return residual

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """The residual of each datum's log-likelihood."""
        at = self.split.rows_of(indices)
        rows = self.model.rows[at]
        eta, (centre, slope, curvature) = rows @ theta, self._expansion(rows, at).T
        residual: Floats = self.model.value(eta, at) - (eta - centre) * (slope + 0.5 * curvature * (eta - centre))
        return residual

    @cached_property
    def residual_bounds(self) -> ResidualBounds:
        """Bounds on the residuals, for the exact mini-batch test; a pass over the data, once."""
        precision = self.posterior_precision() if self.order == 2 else precision_at(self.model, self.centre)
        rest = self.split.rows_of(slice(0, self.n_data))
        return ResidualBounds.of(self.model, self.centre, self.order, self.radius, factor_of(precision), rest)

    def bounds(self, theta: Floats, theta_new: Floats) -> TermBounds:
        """Bounds on the residual of each lᵢ."""
        return self.residual_bounds.between(theta, theta_new)

    def _expansion(self, rows: Floats, at: Rows) -> Floats:
        if self.anchor is not None:
            return self.anchor[at]
        return expansion(self.model, rows @ self.centre, at, self.order)

    def posterior_gradient(self) -> Floats:
        """The gradient of the log posterior of all rows at the centre."""
        return self.gradient + self.model.prior_gradient(self.centre) + self._heavy_derivatives(self.centre)[0]

    def posterior_precision(self) -> Floats:
        """Minus the Hessian of the log posterior of all rows at the centre: needs order 2."""
        precision: Floats = np.negative(self.hessian + self.model.prior_curvature(self.centre))
        return precision - self._heavy_derivatives(self.centre)[1] if self.n_heavy else precision


def find_mode(
    model: LinearModel, start: Floats | None = None, tolerance: float = 1e-8, names: Sequence[str] | None = None
) -> Floats:
    """The posterior mode: Newton on some rows, evenly spread, then on all of them.

    Steps are halved while they do not raise the log posterior. A posterior without a mode is refused, with the columns
    that are the reason (`samplers.models.propriety`).

    Parameters
    ----------
    model
        A linear model, with its prior.
    start
        Zeros by default.
    tolerance
        Largest change of a coefficient in the last step, in posterior standard deviations.
    names
        Of the columns, for messages.

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
        flat = flat_columns(model, theta)
        check_columns(model, flat, names)
        if model.n_data > 2 * SUBSAMPLE:
            some = slice(None, None, model.n_data // SUBSAMPLE)
            with suppress(NumericalFailure):
                theta = _newton(model, theta, [some], 1e-3, ridge=_ridge(model, flat, some))
        return _newton(model, theta, blocks(model.n_data), tolerance, names)


def expansion(model: LinearModel, eta: Floats, indices: Rows, order: int) -> Floats:
    """Columns η, slope and curvature (0 at order 1) of each datum's log-likelihood at the centre."""
    curvature = model.curvature(eta, indices) if order == 2 else np.zeros(eta.size)
    return np.stack([eta, model.slope(eta, indices), curvature], axis=1)


def rows_of(model: LinearModel, block: slice) -> Floats:
    """Some rows in full precision, converted once."""
    return np.asarray(model.rows[block], dtype=np.float64)


def _ridge(model: LinearModel, flat: Ints, some: slice) -> Floats:
    """A weak prior where there is none, for some rows, which may have no mode although all together do."""
    ridge, largest = np.zeros(model.rows.shape[1]), np.abs(rows_of(model, some)[:, flat]).max(axis=0, initial=0.0)
    ridge[flat] = np.where(largest > 0.0, 0.01 * largest**2, 1.0)
    return ridge


def _newton(
    model: LinearModel,
    theta: Floats,
    parts: list[slice],
    tolerance: float,
    names: Sequence[str] | None = None,
    ridge: Floats | None = None,
) -> Floats:
    """Newton on some of the rows, their likelihood scaled up to all; with a ridge, a mode exists for sure."""
    scale = model.n_data / sum(model.rows[part].shape[0] for part in parts)
    added = np.zeros(theta.size) if ridge is None else ridge
    value = _log_posterior(model, theta, parts, scale, added)
    for _ in range(100):
        gradient = model.prior_gradient(theta) - added * theta
        hessian = model.prior_curvature(theta) - np.diag(added)
        for block in parts:
            rows = rows_of(model, block)
            eta = rows @ theta
            gradient += scale * (rows.T @ model.slope(eta, block))
            hessian += scale * ((rows * model.curvature(eta, block)[:, None]).T @ rows)
        if not (np.all(np.isfinite(hessian)) and np.all(np.isfinite(gradient))):
            raise BadInput("no mode: sums of the columns' squares are not finite; the columns are too large")
        if ridge is None:
            check_precision(model, theta, -hessian, names)
        try:
            step: Floats = np.linalg.solve(-hessian, gradient).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            raise NumericalFailure("no mode: the log posterior is flat somewhere; add a prior") from None
        if ridge is None:
            check_step(model, theta, step, float(np.sqrt(abs(step @ gradient))), names)
        length = 1.0
        while length > 1e-6:
            candidate = theta + length * step
            new_value = _log_posterior(model, candidate, parts, scale, added)
            if new_value >= value - 1e-9 * abs(value):
                break
            length *= 0.5
        theta, value = candidate, new_value
        if length * float(np.sqrt(abs(step @ gradient))) < tolerance:  # in posterior standard deviations
            return theta
    raise NumericalFailure("no mode found in 100 Newton steps")


def _log_posterior(model: LinearModel, theta: Floats, parts: list[slice], scale: float, ridge: Floats) -> float:
    likelihood = sum(float(model.value(rows_of(model, block) @ theta, block).sum()) for block in parts)
    return model.log_prior(theta) - 0.5 * float(np.sum(ridge * theta * theta)) + scale * likelihood
