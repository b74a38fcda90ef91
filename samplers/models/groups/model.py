"""A linear model with group effects: η_i = x_i . β + z_i . b_g(i), b_g ~ N(0, τ²), the scales τ sampled.

θ = (β, effects of each term group by group, log scales). The scales enter the prior alone, so the likelihood has
control variates in (β, b), and the scales are drawn given the effects without data (`refresh`). The term with the most
groups comes last among the effects: its part of the Hessian is block diagonal, so that the whole is an `Arrow`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from samplers.models import LinearModel, Rows
from samplers.models.arrays import as_indices, at_each, blocks, check_size, value_and_slope
from samplers.models.control.expansion import expansion
from samplers.models.groups import _scale_kernels
from samplers.models.groups.arrow import Arrow
from samplers.models.groups.bounds import GroupedBounds
from samplers.models.groups.centre import find_centre
from samplers.models.groups.terms import Groups
from samplers.models.logistic import Logistic

MOST_ROOT = 1000  # coefficients and effects of all terms but the largest: they are dense in the Hessian


class Layout(NamedTuple):
    """Where the terms are in θ: starts, groups, widths and prior of each; where the log scales begin."""

    starts: Ints
    groups: Ints
    widths: Ints
    scales: Floats
    degrees: Floats
    first: int


@dataclass(frozen=True, eq=False, repr=False)
class Grouped:
    """A linear model with group effects; make one with `of`.

    Parameters
    ----------
    model
        The likelihood and the coefficients with their prior.
    groups
        Terms; the one with the most groups last.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> model = Logistic.mapped(rng.standard_normal((200, 2)), rng.random(200) < 0.5, prior_precision=1.0)
    >>> grouped = Grouped.of(model, [Groups(rng.integers(0, 3, 200), name="agent")])
    >>> grouped.names
    ('0', '1', 'agent[0]', 'agent[1]', 'agent[2]', 'log scale agent')
    >>> grouped.unpack(np.zeros((10, 6)))["agent"].shape
    (10, 3)
    """

    model: LinearModel
    groups: tuple[Groups, ...]
    finite: ClassVar[bool] = True  # log p, at every θ

    @classmethod
    def of(cls, model: LinearModel, groups: Sequence[Groups]) -> Grouped:
        """Add group terms to a linear model."""
        if not isinstance(model, LinearModel):
            raise BadInput(f"groups: {type(model).__name__} has no single linear predictor to add group effects to")
        if isinstance(model, Logistic) and model.labels is None:
            raise BadInput("groups: labels are folded into the rows; make the model with Logistic.mapped or glm")
        terms = tuple(groups)
        if not terms or not all(isinstance(term, Groups) for term in terms):
            raise BadInput("groups: must be a list of Groups")
        names = [term.name for term in terms]
        if len(set(names)) != len(names):
            raise BadInput(f"groups: two terms are called {max(names, key=names.count)!r}; name each differently")
        for term in terms:
            if term.n_rows != model.n_data:
                raise BadInput(f"groups {term.name!r}: has {term.n_rows:,} rows, the model {model.n_data:,}")
        last = max(range(len(terms)), key=lambda t: terms[t].size)
        ordered = (*terms[:last], *terms[last + 1 :], terms[last])
        root = model.rows.shape[1] + sum(term.size for term in ordered[:-1])
        if root > MOST_ROOT:
            raise BadInput(
                f"groups: {root:,} coefficients and effects besides those of {ordered[-1].name!r}: at most "
                f"{MOST_ROOT:,}; only one term may have thousands of groups"
            )
        return cls(model, ordered)

    @property
    def n_data(self) -> int:
        """Number of data N."""
        return int(self.model.n_data)

    @property
    def n_coefficients(self) -> int:
        """Number of coefficients D."""
        return int(self.model.rows.shape[1])

    @cached_property
    def dimension(self) -> int:
        """Coefficients, effects and scales."""
        return self.n_coefficients + sum(term.size + term.width for term in self.groups)

    @cached_property
    def layout(self) -> Layout:
        """Where the terms are in θ."""
        sizes = [term.size for term in self.groups]
        starts = self.n_coefficients + np.cumsum([0, *sizes])
        each = [(term.n_groups, term.width, term.scale, term.degrees) for term in self.groups]
        groups, widths, scales, degrees = (np.array(column) for column in zip(*each, strict=True))
        return Layout(starts[:-1], groups, widths, scales.astype(float), degrees.astype(float), int(starts[-1]))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of all parameters, in the order of θ."""
        given = getattr(self.model, "names", None)
        names = [str(k) for k in range(self.n_coefficients)] if given is None else list(given)
        for term in self.groups:
            names += term.names
        return (*names, *(name for term in self.groups for name in term.scale_names))

    def unpack(self, draws: Floats) -> dict[str, Floats]:
        """Draws (..., D) by name: coefficients, effects (..., G) or (..., G, k), and scales on their natural scale."""
        found = {name: draws[..., k] for k, name in enumerate(self.names[: self.n_coefficients])}
        at = self.layout.first
        for term, start in zip(self.groups, self.layout.starts, strict=True):
            effects = draws[..., start : start + term.size]
            shape = (term.n_groups,) if term.width == 1 else (term.n_groups, term.width)
            found[term.name] = effects.reshape(*draws.shape[:-1], *shape)
            scales = np.exp(draws[..., at : at + term.width])
            found[f"scale {term.name}"] = scales[..., 0] if term.width == 1 else scales
            at += term.width
        return found

    @property
    def coordinates(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """Labels of the axes of what `unpack` gives: groups, and their columns if there are several."""
        found: dict[str, tuple[tuple[str, ...], ...]] = {}
        for term in self.groups:
            labels, columns = tuple(map(str, term.labels or ())), tuple(map(str, term.column_names or ()))
            found[term.name] = (labels,) if term.width == 1 else (labels, columns)
            if term.width > 1:
                found[f"scale {term.name}"] = (columns,)
        return found

    # --- likelihood ---------------------------------------------------------------------------------------------------

    def predictor(self, theta: Floats, indices: Rows) -> Floats:
        """η of these data."""
        rows = np.asarray(self.model.rows[indices], dtype=np.float64)
        eta: Floats = rows @ theta[: self.n_coefficients]
        for term, start in zip(self.groups, self.layout.starts, strict=True):
            effects = theta[start : start + term.size].reshape(term.n_groups, term.width)[term.index[indices]]
            eta += effects[:, 0] if term.columns is None else np.einsum("ij,ij->i", effects, term.columns[indices])
        return eta

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """lᵢ of these data."""
        return self.log_likelihood(theta_new, indices) - self.log_likelihood(theta, indices)

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """log p of each of these data."""
        check_size(theta, self.dimension)
        return self.model.value(self.predictor(theta, indices), indices)

    def predictor_many(self, states: Floats, indices: Rows) -> Floats:
        """η of these data at each state, (S, n)."""
        eta: Floats = states[:, : self.n_coefficients] @ np.asarray(self.model.rows[indices], dtype=np.float64).T
        every = as_indices(self.n_data, indices)
        for term, start in zip(self.groups, self.layout.starts, strict=True):
            at = start + term.width * term.index[every].astype(np.int64)
            for j, column in enumerate(_columns(term, every).T):
                eta += states[:, at + j] * column
        return eta

    def log_likelihood_many(self, states: Floats, indices: Rows) -> Floats:
        """log p of each of these data at each state, (S, n)."""
        check_size(states[0], self.dimension)
        return at_each(self.model.value, self.predictor_many(states, indices), indices)

    def sums_many(self, states: Floats, indices: Rows) -> tuple[Floats, Floats]:
        """Sum of log p over these data (S,), and its gradient (S, D), at each state."""
        check_size(states[0], self.dimension)
        value, slope = value_and_slope(self.model, self.predictor_many(states, indices), indices)
        gradients, every = np.zeros(states.shape), as_indices(self.n_data, indices)
        gradients[:, : self.n_coefficients] = slope @ np.asarray(self.model.rows[indices], dtype=np.float64)
        for term, start in zip(self.groups, self.layout.starts, strict=True):
            place = np.arange(len(states))[:, None] * term.n_groups + term.index[every]
            parts = [(slope * column).ravel() for column in _columns(term, every).T]
            effects = [np.bincount(place.ravel(), part, len(states) * term.n_groups) for part in parts]
            gradients[:, start : start + term.size] = np.stack(effects, axis=1).reshape(len(states), term.size)
        return value.sum(axis=1), gradients

    def derivatives(self, theta: Floats, indices: Rows, order: int) -> tuple[Floats, Any]:
        """Gradient and Hessian (an `Arrow`, 0 at order 1) of the sum of log p over these data."""
        check_size(theta, self.dimension)
        return self.derivatives_at(self.predictor(theta, indices), indices, order)

    def derivatives_at(self, eta: Floats, indices: Rows, order: int, *, concave: bool = False) -> tuple[Floats, Arrow]:
        """The same from the predictors of these data; `concave`: as if no log p were convex there."""
        _, slope, curvature = expansion(self.model, eta, indices, order).T
        if concave:
            curvature = -np.abs(curvature)
        gradient, hessian = np.zeros(self.dimension), self.no_curvature()
        rows = np.asarray(self.model.rows[indices], dtype=np.float64)
        d = self.n_coefficients
        gradient[:d] = rows.T @ slope
        hessian.root[:d, :d] = (rows * curvature[:, None]).T @ rows
        every = as_indices(self.n_data, indices)
        for t, (term, start) in enumerate(zip(self.groups, self.layout.starts, strict=True)):
            index, z = term.index[every], _columns(term, every)
            gradient[start : start + term.size] = _by_group(index, z * slope[:, None], term.n_groups).ravel()
            weighted = z * curvature[:, None]
            self._fill(hessian, t, slice(0, d), _by_group(index, _outer(weighted, rows), term.n_groups))
            own = _by_group(index, _outer(weighted, z), term.n_groups).reshape(term.n_groups, term.width, term.width)
            if t == len(self.groups) - 1:
                hessian.leaves[:] = own
            else:
                for g in range(term.n_groups):
                    at = slice(start + g * term.width, start + (g + 1) * term.width)
                    hessian.root[at, at] = own[g]
            for other, its in zip(self.groups[:t], self.layout.starts, strict=False):
                both = index.astype(np.int64) * other.n_groups + other.index[every]
                crossed = _outer(weighted, _columns(other, every))
                block = _by_group(both, crossed, term.n_groups * other.n_groups)
                block = block.reshape(term.n_groups, other.n_groups, term.width, other.width).swapaxes(1, 2)
                self._fill(hessian, t, slice(its, its + other.size), block)
        return gradient, hessian

    def _fill(self, hessian: Arrow, t: int, columns: slice, block: Floats) -> None:
        """Put the block of term t with these columns of the root in its place."""
        term, start, width = self.groups[t], self.layout.starts[t], columns.stop - columns.start
        if t == len(self.groups) - 1:
            hessian.side[:, :, columns] = block.reshape(term.n_groups, term.width, width)
        else:
            flat = block.reshape(term.size, width)
            hessian.root[start : start + term.size, columns] = flat
            hessian.root[columns, start : start + term.size] = flat.T

    def arrow_rows(self, indices: Rows) -> tuple[Floats, Ints, Floats]:
        """Of these rows their part in the Hessian's root, (n, R), and their group and columns among the leaves."""
        every = as_indices(self.n_data, indices)
        root = np.zeros((every.size, int(self.layout.starts[-1])))
        root[:, : self.n_coefficients] = self.model.rows[indices]
        for term, start in zip(self.groups[:-1], self.layout.starts, strict=False):
            at = start + term.width * term.index[every].astype(np.int64)
            for j, column in enumerate(_columns(term, every).T):
                root[np.arange(every.size), at + j] = column
        last = self.groups[-1]
        return root, last.index[every].astype(np.int64), _columns(last, every)

    def residual_bounds(
        self, centre: Floats, order: int, radius: float | None, precision: Arrow, rest: Rows
    ) -> GroupedBounds:
        """Bounds on the residuals of control variates, for the exact mini-batch test."""
        return GroupedBounds.of(self, centre, order, radius, precision.factor(), rest)

    def no_curvature(self) -> Arrow:
        """A Hessian of zeros."""
        term, start = self.groups[-1], int(self.layout.starts[-1])
        return Arrow.zeros(start, term.n_groups, term.width, self.dimension - self.layout.first)

    def row_proxies(self, centre: Floats, order: int) -> GroupedProxies:
        """Taylor proxies in the predictor of every datum."""
        parts = [expansion(self.model, self.predictor(centre, b), b, order) for b in blocks(self.n_data)]
        return GroupedProxies(self, np.concatenate(parts))

    def __repr__(self) -> str:
        terms = ", ".join(f"{term.n_groups:,} groups of {term.name!r}" for term in self.groups)
        return f"Grouped({self.model!r}, {terms})"

    # --- prior --------------------------------------------------------------------------------------------------------

    def log_prior(self, theta: Floats) -> float:
        """Of coefficients, effects and log scales."""
        prior = self.model.log_prior(theta[: self.n_coefficients])
        return float(prior + _scale_kernels.log_prior_of_effects(theta, *self.layout))

    def effect_precisions(self, theta: Floats) -> Floats:
        """1 / τ² at each effect, 0 elsewhere."""
        found, at = np.zeros(theta.size), self.layout.first
        for term, start in zip(self.groups, self.layout.starts, strict=True):
            each = np.exp(-2.0 * theta[at : at + term.width])
            found[start : start + term.size] = np.tile(each, term.n_groups)
            at += term.width
        return found

    def prior_gradient(self, theta: Floats) -> Floats:
        """Of the log prior given the scales: 0 at the scales."""
        gradient = -self.effect_precisions(theta) * theta
        gradient[: self.n_coefficients] = self.model.prior_gradient(theta[: self.n_coefficients])
        return gradient

    def prior_curvature(self, theta: Floats) -> Any:
        """An `Arrow`: Hessian of the log prior given the scales."""
        d = self.n_coefficients
        curvature = self.no_curvature().with_diagonal(-self.effect_precisions(theta))
        curvature.root[:d, :d] = self.model.prior_curvature(theta[:d])
        return curvature

    def find_centre(self, start: Floats | None = None, tolerance: float = 1e-3) -> Floats:
        """Where to expand: the mode of coefficients and effects, given scales near their marginal maximum."""
        return find_centre(self, start, tolerance)

    def refresh(self, rng: np.random.Generator, theta: Floats) -> Floats:
        """Draw the scales given the effects: no data are read."""
        new = theta.copy()
        _scale_kernels.refresh_scales(rng, new, *self.layout)
        return new


@dataclass(frozen=True, eq=False)
class GroupedProxies:
    """Second-order proxies in the predictor; `anchor` has η*, slope and curvature of every datum."""

    model: Grouped
    anchor: Floats

    def residuals(self, theta: Floats, theta_new: Floats, indices: Rows) -> Floats:
        """r_i = lᵢ - [p_i(θ') - p_i(θ)]."""
        old, new = self.model.predictor(theta, indices), self.model.predictor(theta_new, indices)
        centre, slope, curvature = self.anchor[indices].T
        value = self.model.model.value
        exact = value(new, indices) - value(old, indices)
        residual: Floats = exact - (new - old) * (slope + 0.5 * curvature * (new + old - 2.0 * centre))
        return residual

    def residual(self, theta: Floats, indices: Rows) -> Floats:
        """log p_i(θ) less the proxy's change from the centre to θ."""
        eta, (centre, slope, curvature) = self.model.predictor(theta, indices), self.anchor[indices].T
        away = eta - centre
        residual: Floats = self.model.model.value(eta, indices) - away * (slope + 0.5 * curvature * away)
        return residual

    def residual_many(self, states: Floats, indices: Rows) -> Floats:
        """The same at each of many states, (S, n)."""
        eta, (centre, slope, curvature) = self.model.predictor_many(states, indices), self.anchor[indices].T
        away = eta - centre
        residual: Floats = at_each(self.model.model.value, eta, indices) - away * (slope + 0.5 * curvature * away)
        return residual


def _columns(term: Groups, indices: Ints) -> Floats:
    return np.ones((indices.size, 1)) if term.columns is None else term.columns[indices]


def _outer(left: Floats, right: Floats) -> Floats:
    """Products of all columns of the two, (n, columns of left x columns of right)."""
    width = left.shape[1] * right.shape[1]
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(left.shape[0], width))


def _by_group(index: Any, values: Floats, groups: int) -> Floats:
    """Sums of each column of the values by group, (groups, columns)."""
    return np.stack([np.bincount(index, column, groups) for column in values.T], axis=1)
