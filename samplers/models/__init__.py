"""Models: what a chain asks of the data. One file per built-in model; a user's own needs three names."""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

from designer.schedule import Floats, Ints

Rows: TypeAlias = Ints | slice


@runtime_checkable
class Model(Protocol):
    """All that a chain needs. `terms` returns l_i = log p(x_i; theta_new) - log p(x_i; theta) for the given data."""

    @property
    def n_data(self) -> int: ...

    def log_prior(self, theta: Floats) -> float: ...

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats: ...


@runtime_checkable
class LinearModel(Model, Protocol):
    """A model whose data enter through a linear predictor eta_i = rows_i . theta: control variates know what to do.

    `value`, `slope` and `curvature` are log p(x_i; eta_i) and its first two derivatives in eta, for the given data.
    """

    @property
    def rows(self) -> Floats: ...

    def value(self, eta: Floats, indices: Rows) -> Floats: ...

    def slope(self, eta: Floats, indices: Rows) -> Floats: ...

    def curvature(self, eta: Floats, indices: Rows) -> Floats: ...

    def prior_curvature(self, theta: Floats) -> Floats: ...

    def prior_gradient(self, theta: Floats) -> Floats: ...
