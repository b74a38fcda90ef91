"""Control variates: the test sees only the residuals of a Taylor proxy of each datum's log-likelihood.

A controlled model is again a `Model`: its terms are the residuals r_i = lᵢ - [p_i(θ') - p_i(θ)], and the sum
of the proxies, O(D²) from precomputed moments, moves into the prior. So A is unchanged, κ shrinks, and every test,
proposal and trial run work as for any other model. Heavy rows (`samplers.models.control.heavy`), whose proxies are
poor, move into the prior as they are: they are read in every step, and the data of the model are the other rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from samplers.decide.alias import TermBounds
from samplers.models import LinearModel, RowProxies, Rows, SmoothModel
from samplers.models.control.expansion import LinearProxies, derivatives, expand
from samplers.models.control.heavy import RowSplit, Wish, split_rows
from samplers.models.control.residual_bounds import ResidualBounds
from samplers.models.control.scale_mode import prior_only
from samplers.models.control.support import check_support
from samplers.models.control.term_bounds import factor_of, precision_at


@dataclass(frozen=True, eq=False)
class Controlled:
    """A model with proxies p_i of first or second order of each datum's log-likelihood.

    It is again a `Model`: its terms are the residuals of the proxies, whose sum moves into the prior. Make one with
    `around`.

    Parameters
    ----------
    model
        A linear model, or one with derivatives of its own.
    centre
        Where the proxies are expanded.
    order
        1 or 2.
    proxies
        Of each datum.
    gradient, hessian
        Gradient and Hessian of the sum of the proxies, at the centre; without those of heavy rows.
    split
        Which rows are heavy.
    radius
        Within how many whitened standard deviations of the centre the residuals have bounds; None: √D + 5.

    Examples
    --------
    >>> from samplers import Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> mode = find_mode(model)
    >>> proxied, indices = Controlled.around(model, mode), np.arange(500)
    >>> bool(proxied.terms(mode, mode + 0.1, indices).std() < 0.1 * model.terms(mode, mode + 0.1, indices).std())
    True
    """

    model: LinearModel | SmoothModel
    centre: Floats
    order: int
    proxies: RowProxies
    gradient: Floats  # sum_i of the proxies' gradients at the centre, but not those of heavy rows
    hessian: Floats  # and of their Hessians
    split: RowSplit
    radius: float | None = None  # R of the bounds' ball; None: √D + 5

    @classmethod
    def around(
        cls,
        model: LinearModel | SmoothModel,
        centre: Floats,
        order: int = 2,
        stored: bool | None = None,
        heavy: Wish = 0,
    ) -> Controlled:
        """Expand at `centre`, which should be near the posterior mode (see `find_mode`): one pass over the data.

        A model of your own is then tried at a few states near the centre: if some row is impossible at one of them, as
        where the support of the data depends on parameters, it is refused, since tests that do not read that row would
        be wrong.

        Parameters
        ----------
        model
            A linear model, or one with derivatives of its own (`SmoothModel`).
        centre
            D numbers.
        order
            1 or 2.
        stored
            Of a linear model: keep each datum's expansion, 24 bytes; otherwise every datum read costs one more product
            with the centre. By default it is kept, unless the rows are in a file or more than MOST_ANCHORED.
        heavy
            Rows that every step reads: how many (those whose proxies can miss most), "auto" (as many as make decisions
            cheapest by far, often none), "bounds" (the same for the exact mini-batch test) or their numbers. The model
            then has N - H data, and so must its test.
        """
        if order not in (1, 2):
            raise BadInput(f"order = {order!r}: must be 1 or 2")
        none = RowSplit(model.n_data, np.empty(0, dtype=np.int64))
        centre = centre.copy()
        whole = cls(model, centre, order, *expand(model, centre, order, stored), none)
        if order == 2 and not isinstance(model, LinearModel) and not getattr(model, "finite", False):
            check_support(model, centre, *whole._posterior())
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
            split = split_rows(self.model, self.centre, self.order, self._posterior()[1], wish, self.proxies)
        without = replace(self, split=split)
        gradient, hessian = without._heavy_derivatives()
        return replace(without, gradient=self.gradient - gradient, hessian=self.hessian - hessian)

    def _posterior(self) -> tuple[Floats, Any]:
        """Gradient and precision at the centre; parameters of the prior alone count as if they were at their mode."""
        gradient = self.posterior_gradient()
        precision = self.posterior_precision() if self.order == 2 else precision_at(self.model, self.centre)
        alone = prior_only(self.model)
        if alone.size:  # they change no residual, and all parameters together need not have a mode
            gradient[alone] = 0.0
            precision[alone], precision[:, alone] = 0.0, 0.0
            precision[alone, alone] = 1.0
        return gradient, precision

    def recentred(self, centre: Floats, stored: bool | None = None) -> Controlled:
        """The same posterior, expanded elsewhere, stored or not (by default as now): one pass over the data.

        The heavy rows stay the same.
        """
        if stored is None and isinstance(self.proxies, LinearProxies):
            stored = self.anchor is not None
        return Controlled.around(self.model, centre, self.order, stored, self.split)

    @property
    def anchor(self) -> Floats | None:
        """Columns η_i*, slope and curvature there, if they are stored."""
        return self.proxies.anchor if isinstance(self.proxies, LinearProxies) else None

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
            known += self._heavy_log_likelihood(theta)
        return known

    def _heavy_log_likelihood(self, theta: Floats) -> float:
        if isinstance(self.model, LinearModel):
            return float(self.model.value(self.heavy_rows @ theta, self.heavy).sum())
        return float(self.model.log_likelihood(theta, self.heavy).sum())

    @cached_property
    def heavy_rows(self) -> Floats:
        """The heavy rows of a linear model, (H, D), one after the other in memory."""
        return np.ascontiguousarray(self.linear.rows[self.heavy], dtype=np.float64)

    @property
    def linear(self) -> LinearModel:
        """The model, if it is linear; BadInput if not."""
        if not isinstance(self.model, LinearModel):
            raise BadInput(f"model: {type(self.model).__name__} has no linear predictor")
        return self.model

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """The residual of each lᵢ."""
        return self.proxies.residuals(theta, theta_new, self.split.rows_of(indices))

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """The residual of each datum's log-likelihood."""
        return self.proxies.residual(theta, self.split.rows_of(indices))

    def refresh(self, rng: np.random.Generator, theta: Floats) -> Floats:
        """The model's own move without data, if it has one."""
        move = getattr(self.model, "refresh", None)
        return theta if move is None else move(rng, theta)

    @cached_property
    def residual_bounds(self) -> Any:
        """Bounds on the residuals, for the exact mini-batch test; a pass over the data, once."""
        own = getattr(self.model, "residual_bounds", None)
        if own is None and not isinstance(self.model, LinearModel):
            name = type(self.model).__name__
            raise BadInput(f"bounds: {name} has none, which the exact mini-batch test needs; use a sequential test")
        precision = self.posterior_precision() if self.order == 2 else precision_at(self.model, self.centre)
        rest = self.split.rows_of(slice(0, self.n_data))
        if own is not None:
            return own(self.centre, self.order, self.radius, precision, rest)
        return ResidualBounds.of(self.linear, self.centre, self.order, self.radius, factor_of(precision), rest)

    def bounds(self, theta: Floats, theta_new: Floats) -> TermBounds:
        """Bounds on the residual of each lᵢ."""
        found: TermBounds = self.residual_bounds.between(theta, theta_new)
        return found

    def posterior_gradient(self) -> Floats:
        """The gradient of the log posterior of all rows at the centre."""
        gradient: Floats = self.gradient + self.model.prior_gradient(self.centre)
        return gradient + self._heavy_derivatives()[0] if self.n_heavy else gradient

    def posterior_precision(self) -> Floats:
        """Minus the Hessian of the log posterior of all rows at the centre: needs order 2."""
        precision: Floats = -(self.hessian + self.model.prior_curvature(self.centre))
        return precision - self._heavy_derivatives()[1] if self.n_heavy else precision

    def _heavy_derivatives(self) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the heavy rows' log-likelihood at the centre."""
        return derivatives(self.model, self.centre, self.heavy, self.order)
