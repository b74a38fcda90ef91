"""Models: what a chain needs to know about the data.

Your own model needs three names (see `Model`). Built-in models, one file each, exported by `samplers`:

logistic
    `Logistic` regression; a `LinearModel`, for control variates.
ica
    `ICA`, with `whiten` and `amari`.
mixture
    `Mixture` of two Gaussians.
lasso
    `Lasso`: linear regression with a Laplace prior.
rj_logistic
    `RJLogistic`: logistic regression with variable selection.
mrf, mrf_values
    `DenseMRF` and `ValuedMRF`: Markov random fields, for `samplers.chains.gibbs` and `samplers.chains.gibbs_values`.
tempered
    `tempered`: any of them with its likelihood to the power 1 / temperature.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

from designer.core.arrays import Floats, Ints

__all__ = ["LinearModel", "Model", "RowProxies", "Rows", "SmoothModel"]

Rows: TypeAlias = Ints | slice


@runtime_checkable
class Model(Protocol):
    """What a chain needs. Your own model has these three, in NumPy or numba.

    Optional: `dimension`, to check starts; `log_likelihood(theta, indices)`, so that an exact chain evaluates each
    datum once per step; `gradient` and `prior_gradient`, for `Langevin`; `range_bound(theta, theta_new)`, for the
    concentration test; `bounds(theta, theta_new)` -> `TermBounds`, for the exact mini-batch test; `refresh(rng, theta)`
    -> θ, a move that leaves the posterior invariant and changes only parameters that no datum's likelihood contains,
    such as the scales of a hierarchical prior: the chain makes it after every decision, and it reads no data.

    Examples
    --------
    >>> import numpy as np
    >>> class Mean:
    ...     def __init__(self, x):
    ...         self.x, self.n_data = x, x.size
    ...     def log_prior(self, theta):
    ...         return 0.0
    ...     def terms(self, theta, theta_new, indices):
    ...         return 0.5 * (self.x[indices] - theta[0]) ** 2 - 0.5 * (self.x[indices] - theta_new[0]) ** 2
    >>> isinstance(Mean(np.zeros(10)), Model)
    True
    """

    @property
    def n_data(self) -> int:
        """Number of data N."""

    def log_prior(self, theta: Floats) -> float:
        """Log prior, up to a constant; -inf where the prior vanishes."""

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """lᵢ = log p(xᵢ; θ') - log p(xᵢ; θ) for the given data."""


@runtime_checkable
class LinearModel(Model, Protocol):
    """A model whose data enter through a linear predictor η_i = rows_i . θ, as control variates need.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> isinstance(Logistic.from_data([[1.0], [2.0]], [1, 0]), LinearModel)
    True
    """

    @property
    def rows(self) -> Floats:
        """Predictors, (N, D)."""

    def value(self, eta: Floats, indices: Rows) -> Floats:
        """log p(xᵢ; η_i) for the given data."""

    def slope(self, eta: Floats, indices: Rows) -> Floats:
        """Its first derivative in η."""

    def curvature(self, eta: Floats, indices: Rows) -> Floats:
        """Its second derivative in η."""

    def prior_curvature(self, theta: Floats) -> Floats:
        """Hessian of the log prior, (D, D)."""

    def prior_gradient(self, theta: Floats) -> Floats:
        """Gradient of the log prior."""


class RowProxies(Protocol):
    """Taylor proxies p_i of each datum's log-likelihood, around a centre.

    Optional: `residual_many(states, indices)`, the residuals of all states (S, D) at once, (S, n).

    Examples
    --------
    >>> import numpy as np
    >>> from samplers import Controlled, Logistic
    >>> proxies: RowProxies = Controlled.around(Logistic.from_data([[1.0], [2.0]], [1, 0]), np.zeros(1)).proxies
    >>> proxies.residuals(np.zeros(1), np.full(1, 0.1), np.arange(2)).round(7)
    array([5.0e-07, 8.3e-06])
    """

    def residuals(self, theta: Floats, theta_new: Floats, indices: Rows) -> Floats:
        """r_i = lᵢ - [p_i(θ') - p_i(θ)] of the given data."""

    def residual(self, theta: Floats, indices: Rows) -> Floats:
        """log p_i(θ), less the proxy's change from the centre to θ, of the given data."""


@runtime_checkable
class SmoothModel(Model, Protocol):
    """A model whose log-likelihoods it can differentiate itself: control variates need no linear predictor then.

    Optional: `start`, where to look for its mode; `names` of its parameters; `finite`, True if log p is finite at every
    θ (otherwise `Controlled.around` tries a few); `log_likelihood_many` and `sums_many`
    (`samplers.models.control.many_states`), for many states in one call.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> isinstance(Logistic.from_data([[1.0], [2.0]], [1, 0]), SmoothModel)  # linear: needs no derivatives of its own
    False
    """

    @property
    def dimension(self) -> int:
        """Number of parameters D."""

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """log p of each of the given data."""

    def derivatives(self, theta: Floats, indices: Rows, order: int) -> tuple[Floats, Floats]:
        """Gradient (D) and Hessian (D, D) of the sum of log p over the given data; the Hessian is 0 at order 1."""

    def row_proxies(self, centre: Floats, order: int) -> RowProxies:
        """Proxies of order 1 or 2 of every datum's log-likelihood around a centre."""

    def prior_curvature(self, theta: Floats) -> Floats:
        """Hessian of the log prior, (D, D)."""

    def prior_gradient(self, theta: Floats) -> Floats:
        """Gradient of the log prior."""
