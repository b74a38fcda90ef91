"""Any model with its likelihood, not its prior, to the power 1 / temperature (S17 section 6.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, real
from samplers.decide.alias import TermBounds
from samplers.models import LinearModel, Model, RowProxies, Rows, SmoothModel
from samplers.models.arrays import value_and_slope
from samplers.models.control import Controlled
from samplers.models.control.expansion import LinearProxies
from samplers.models.control.many_states import log_likelihoods_at, residuals_at, sums_at
from samplers.models.control.scale_mode import prior_only
from samplers.models.control.term_bounds import BoundedModel
from samplers.models.mixture import Mixture


@dataclass(frozen=True, eq=False)
class Tempered:
    """A model whose log-likelihoods are multiplied by `scale` = 1 / temperature; make one with `tempered`."""

    model: Any
    scale: float

    @property
    def n_data(self) -> int:
        return int(self.model.n_data)

    @property
    def dimension(self) -> int | None:
        return getattr(self.model, "dimension", None)

    @property
    def names(self) -> tuple[str, ...] | None:
        return getattr(self.model, "names", None)

    def log_prior(self, theta: Floats) -> float:
        return float(self.model.log_prior(theta))

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        scaled: Floats = self.scale * self.model.terms(theta, theta_new, indices)
        return scaled

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        scaled: Floats = self.scale * self.model.log_likelihood(theta, indices)
        return scaled

    def gradient(self, theta: Floats, indices: Ints) -> Floats:
        scaled: Floats = self.scale * self.model.gradient(theta, indices)
        return scaled

    def prior_gradient(self, theta: Floats) -> Floats:
        prior: Floats = self.model.prior_gradient(theta)
        return prior

    def refresh(self, rng: np.random.Generator, theta: Floats) -> Floats:
        """The model's own move without data, if it has one: the prior is not tempered."""
        move = getattr(self.model, "refresh", None)
        return theta if move is None else move(rng, theta)

    def range_bound(self, theta: Floats, theta_new: Floats) -> float | None:
        """C >= max |lᵢ|; None if the model has no bound."""
        bound = getattr(self.model, "range_bound", None)
        return None if bound is None else self.scale * bound(theta, theta_new)

    def bounds(self, theta: Floats, theta_new: Floats) -> TermBounds | None:
        """Bounds on each |lᵢ|; None if the model has none."""
        bounds = getattr(self.model, "bounds", None)
        found: TermBounds | None = None if bounds is None else bounds(theta, theta_new)
        return None if found is None else found.times(self.scale)


@dataclass(frozen=True, eq=False)
class TemperedLinear(Tempered):
    """A tempered linear model, whose modes and control variates are those of the tempered posterior."""

    model: LinearModel

    @property
    def rows(self) -> Floats:
        return self.model.rows

    def value(self, eta: Floats, indices: Rows) -> Floats:
        return self.scale * self.model.value(eta, indices)

    def slope(self, eta: Floats, indices: Rows) -> Floats:
        return self.scale * self.model.slope(eta, indices)

    def curvature(self, eta: Floats, indices: Rows) -> Floats:
        return self.scale * self.model.curvature(eta, indices)

    def second_bound(self, low: Floats, high: Floats, indices: Rows) -> Floats:
        return self.scale * _bounded(self.model).second_bound(low, high, indices)

    def third_bound(self, low: Floats, high: Floats, indices: Rows) -> Floats:
        return self.scale * _bounded(self.model).third_bound(low, high, indices)

    def value_and_slope(self, eta: Floats, indices: Rows) -> tuple[Floats, Floats]:
        value, slope = value_and_slope(self.model, eta, indices)
        return self.scale * value, self.scale * slope

    def prior_curvature(self, theta: Floats) -> Floats:
        return self.model.prior_curvature(theta)


@dataclass(frozen=True, eq=False)
class TemperedSmooth(Tempered):
    """A tempered model with derivatives of its own, and so with control variates."""

    model: SmoothModel

    @property
    def dimension(self) -> int:
        return self.model.dimension

    def derivatives(self, theta: Floats, indices: Rows, order: int) -> tuple[Floats, Floats]:
        gradient, hessian = self.model.derivatives(theta, indices, order)
        return self.scale * gradient, self.scale * hessian

    @property
    def finite(self) -> bool:
        return bool(getattr(self.model, "finite", False))

    @property
    def prior_only(self) -> Ints:
        return prior_only(self.model)

    def row_proxies(self, centre: Floats, order: int) -> ScaledProxies:
        return ScaledProxies(self.model.row_proxies(centre, order), self.scale)

    def prior_curvature(self, theta: Floats) -> Floats:
        return self.model.prior_curvature(theta)

    def log_likelihood_many(self, states: Floats, indices: Rows) -> Floats:
        return self.scale * log_likelihoods_at(self.model, states, indices)

    def sums_many(self, states: Floats, indices: Rows) -> tuple[Floats, Floats]:
        sums, gradients = sums_at(self.model, states, indices)
        return self.scale * sums, self.scale * gradients


class ScaledProxies(NamedTuple):
    """The proxies of a tempered model: those of the model, scaled."""

    proxies: RowProxies
    scale: float

    def residuals(self, theta: Floats, theta_new: Floats, indices: Rows) -> Floats:
        return self.scale * self.proxies.residuals(theta, theta_new, indices)

    def residual(self, theta: Floats, indices: Rows) -> Floats:
        return self.scale * self.proxies.residual(theta, indices)

    def residual_many(self, states: Floats, indices: Rows) -> Floats:
        return self.scale * residuals_at(self.proxies, states, indices)


def _bounded(model: LinearModel) -> BoundedModel:
    if not isinstance(model, BoundedModel):
        raise BadInput(f"bounds: {type(model).__name__} has no second_bound and third_bound")
    return model


def _controlled(model: Controlled, scale: float) -> Controlled:
    """The tempered model with the same control variates, scaled."""
    gradient, hessian = scale * model.gradient, scale * model.hessian
    if not isinstance(model.model, LinearModel):
        smooth = TemperedSmooth(model.model, scale)
        proxied = ScaledProxies(model.proxies, scale)
        return replace(model, model=smooth, proxies=proxied, gradient=gradient, hessian=hessian)
    base: LinearModel = TemperedLinear(model.model, scale)
    anchor = None if model.anchor is None else model.anchor * np.array([1.0, scale, scale])
    proxies = LinearProxies(base, model.centre, model.order, anchor)
    return replace(model, model=base, proxies=proxies, gradient=gradient, hessian=hessian)


def tempered(model: Model, temperature: float) -> Model:
    """The model with its likelihood, not its prior, to the power 1 / temperature (S17 section 6.1).

    Parameters
    ----------
    model
        Any model.
    temperature
        At 1 the model itself is returned.

    Returns
    -------
    Model
        Linear or smooth if the model is, so that control variates apply.

    Examples
    --------
    >>> import numpy as np
    >>> from samplers.models.logistic import Logistic
    >>> model = Logistic.from_data(np.eye(3), [1, 0, 1])
    >>> tempered(model, 2.0).terms(np.zeros(3), np.ones(3), np.array([0, 1])).round(3)
    array([ 0.19, -0.31])
    """
    temperature = real("temperature", temperature, 0.0, 1e300, open_low=True)
    if temperature == 1.0:
        return model
    if type(model) is Mixture:  # has its own temperature
        return replace(model, temperature=model.temperature * temperature)
    if isinstance(model, LinearModel):
        return TemperedLinear(model, 1.0 / temperature)
    if type(model) is Controlled:  # its prior holds proxies and heavy rows, which are likelihoods
        return _controlled(model, 1.0 / temperature)
    if isinstance(model, SmoothModel):
        return TemperedSmooth(model, 1.0 / temperature)
    return Tempered(model, 1.0 / temperature)
