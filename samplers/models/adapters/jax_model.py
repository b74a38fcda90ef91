"""Models in JAX: terms, control variates and derivatives of a log-likelihood that is written for one row.

Control variates need no Hessian of a row: with e = θ' - θ and m = (θ + θ') / 2 - centre the proxies change by

    p_i(θ') - p_i(θ) = D log p_i(centre)[e] + D² log p_i(centre)[e, m],

one directional derivative of another one (`jax.jvp` of `jax.jvp`). Sums of gradients and Hessians over all rows are
computed a block of rows at a time. Everything is in double precision, inside `jax.enable_x64`: the user's own setting
stays as it is. Rows are gathered by NumPy, which is faster on a CPU, and samples are padded to one of a few sizes, so
that a chain does not compile anew for each number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from samplers.models import Rows
from samplers.models.adapters.packages import jax_package, package
from samplers.models.adapters.parts import LEAST, Part, Rooms, padded_size, part_names, split_parts
from samplers.models.adapters.prior_moves import PriorMoves, slice_moves

AT_ONCE = 2**22  # numbers per array of a pass: rows times parameters, or rows times states
MOST_KEPT = 8192  # rows of a sample whose memory is kept
CHECKED = 8  # rows evaluated before anything else

Batch = Callable[[Any, Any], Any]


class Functions(NamedTuple):
    """The compiled functions of a model; θ is flat, rows are the given ones and `weights` is 0 for padding."""

    values: Callable[..., Any]
    terms: Callable[..., Any]
    residuals: Sequence[Callable[..., Any]]  # of order 1 and 2
    residual: Sequence[Callable[..., Any]]
    values_many: Callable[..., Any]
    residual_many: Sequence[Callable[..., Any]]
    sums_many: Callable[..., Any]
    gradient: Callable[..., Any]
    hessian: Callable[..., Any]
    log_prior: Callable[..., Any]
    prior_gradient: Callable[..., Any]
    prior_curvature: Callable[..., Any]


class JaxModel:
    """A `SmoothModel` whose log-likelihoods are computed by JAX; make one with `from_jax`.

    Parameters
    ----------
    batch
        batch(θ, rows) -> log p of each of these rows, for flat θ.
    log_prior
        log_prior(θ), for flat θ.
    data
        A pytree of NumPy arrays with N rows each.
    start
        Where to look for the mode.
    parts
        Names and shapes of the parameters, in the order of θ.
    names
        Of each number in θ.
    prior_only
        Numbers of the parameters that no row's likelihood contains.
    unpacked
        unpacked(draws) -> the user's quantities; None: the parts.
    """

    def __init__(
        self,
        batch: Batch,
        log_prior: Callable[[Any], Any],
        data: Any,
        start: Floats,
        parts: Sequence[Part],
        names: tuple[str, ...],
        prior_only: Ints | None = None,
        unpacked: Callable[[Floats], dict[str, Any]] | None = None,
    ) -> None:
        self._jax = jax_package()
        self._leaves, self._tree = self._jax.tree.flatten(data)
        self.n_data, self.dimension = int(self._leaves[0].shape[0]), start.size
        self.start, self.parts, self.names = start, tuple(parts), names
        self.prior_only = np.empty(0, dtype=np.int64) if prior_only is None else np.sort(prior_only)
        self._unpacked = unpacked
        self._functions = _compiled(self._jax, batch, log_prior)
        self._priors: dict[bytes, float] = {}
        self._rooms = Rooms()
        self._moves: PriorMoves | None = None
        if self.prior_only.size:
            with self._double():
                self._moves = slice_moves(self._jax, log_prior, self.prior_only, start)
            self.refresh = self._refresh

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_data:,} rows, {self.dimension:,} parameters)"

    def _double(self) -> Any:
        return self._jax.enable_x64(True)

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _gather(self, indices: Rows) -> tuple[Any, int]:
        """The rows as a pytree, padded if they are a sample, and their number."""
        if isinstance(indices, slice):
            rows = [leaf[indices] for leaf in self._leaves]
            return self._jax.tree.unflatten(self._tree, rows), rows[0].shape[0]
        n = int(indices.size)
        size = padded_size(n)
        if size > MOST_KEPT:
            padded = np.empty(size, dtype=np.int64)
            rooms: list[Any] = [None] * len(self._leaves)
        else:
            padded, rooms = self._rooms.of(size, self._leaves)
        padded[:n], padded[n:] = indices, indices[0] if n else 0
        mode = "raise" if rooms[0] is None else "clip"  # a check of indices would cost a copy
        if mode == "clip" and padded.view(np.uint64).max() >= self.n_data:  # negative ones are huge
            raise IndexError(f"rows must be from 0 to {self.n_data - 1:,}")
        rows = [leaf.take(padded, axis=0, out=room, mode=mode) for leaf, room in zip(self._leaves, rooms, strict=True)]
        return self._jax.tree.unflatten(self._tree, rows), n

    def _pieces(self, indices: Rows, width: int) -> list[Rows]:
        """The same rows in pieces, so that an array of rows times `width` stays small."""
        size = max(LEAST, AT_ONCE // max(1, width))
        if isinstance(indices, slice):
            low, high, step = indices.indices(self.n_data)
            return [slice(k, min(k + size * step, high), step) for k in range(low, high, size * step)]
        return [indices[k : k + size] for k in range(0, indices.size, size)]

    def _each(self, function: Callable[..., Any], states: Sequence[Floats], indices: Rows) -> Floats:
        """A function of states and rows, one number per row."""
        with self._double():
            rows, n = self._gather(indices)
            found: Floats = np.asarray(function(*states, rows))[..., :n]
        return found

    # --- what a chain needs -------------------------------------------------------------------------------------------

    def log_prior(self, theta: Floats) -> float:
        """Log prior; with the log Jacobian, if parameters are transformed."""
        key = theta.tobytes()
        known = self._priors.get(key)
        if known is None:
            with self._double():
                known = float(self._functions.log_prior(theta))
            if len(self._priors) > 64:
                self._priors = {}
            self._priors[key] = known
        return known

    def terms(self, theta: Floats, theta_new: Floats, indices: Rows) -> Floats:
        """lᵢ of these rows."""
        return self._each(self._functions.terms, (theta, theta_new), indices)

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """log p of each of these rows."""
        return self._each(self._functions.values, (theta,), indices)

    def _refresh(self, rng: np.random.Generator, theta: Floats) -> Floats:
        """Move the parameters that only the prior contains, given the others: reads no data."""
        assert self._moves is not None
        with self._double():
            return self._moves(rng, theta)

    # --- derivatives --------------------------------------------------------------------------------------------------

    def derivatives(self, theta: Floats, indices: Rows, order: int) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the sum of log p over these rows; the Hessian is 0 at order 1."""
        gradient, hessian = np.zeros(self.dimension), np.zeros((self.dimension, self.dimension))
        with self._double():
            for piece in self._pieces(indices, self.dimension):
                rows, n = self._gather(piece)
                weights = self._weights(rows, n)
                gradient += np.asarray(self._functions.gradient(theta, rows, weights))
                if order == 2:
                    hessian += np.asarray(self._functions.hessian(theta, rows, weights))
        return gradient, hessian

    def gradient(self, theta: Floats, indices: Rows) -> Floats:
        """Gradient of the sum of log p over these rows."""
        return self.derivatives(theta, indices, 1)[0]

    def _weights(self, rows: Any, n: int) -> Floats:
        weights = np.zeros(self._jax.tree.leaves(rows)[0].shape[0])
        weights[:n] = 1.0
        return weights

    def prior_gradient(self, theta: Floats) -> Floats:
        """Gradient of the log prior."""
        with self._double():
            return np.array(self._functions.prior_gradient(theta))

    def prior_curvature(self, theta: Floats) -> Floats:
        """Hessian of the log prior."""
        with self._double():
            return np.array(self._functions.prior_curvature(theta))

    def row_proxies(self, centre: Floats, order: int) -> JaxProxies:
        """Proxies of order 1 or 2 around a centre."""
        return JaxProxies(self, centre.copy(), order)

    # --- many states --------------------------------------------------------------------------------------------------

    def log_likelihood_many(self, states: Floats, indices: Rows) -> Floats:
        """log p of each of these rows at each state, (S, n)."""
        pieces = self._pieces(indices, len(states))
        parts = [self._each(self._functions.values_many, (states,), piece) for piece in pieces]
        return np.concatenate(parts, axis=1)

    def sums_many(self, states: Floats, indices: Rows) -> tuple[Floats, Floats]:
        """Sum of log p over these rows (S,), and its gradient (S, D), at each state."""
        sums, gradients = np.zeros(len(states)), np.zeros((len(states), self.dimension))
        with self._double():
            for piece in self._pieces(indices, len(states)):
                rows, n = self._gather(piece)
                value, gradient = self._functions.sums_many(states, rows, self._weights(rows, n))
                sums, gradients = sums + np.asarray(value), gradients + np.asarray(gradient)
        return sums, gradients

    # --- results ------------------------------------------------------------------------------------------------------

    def unpack(self, draws: Floats) -> dict[str, Any]:
        """Draws (..., D) under the model's own names and shapes, (..., *shape)."""
        draws = np.asarray(draws, dtype=np.float64)
        if draws.shape[-1:] != (self.dimension,):
            raise BadInput(f"draws have shape {draws.shape}: the last number must be {self.dimension}")
        if self._unpacked is None:
            return split_parts(self.parts, draws)
        flat = draws.reshape(-1, self.dimension)
        with self._double():
            found = self._unpacked(flat)
        return {name: np.asarray(value).reshape(draws.shape[:-1] + value.shape[1:]) for name, value in found.items()}


class JaxProxies:
    """Taylor proxies of the rows of a JAX model."""

    def __init__(self, model: JaxModel, centre: Floats, order: int) -> None:
        self.model, self.centre, self.order = model, centre, order

    def residuals(self, theta: Floats, theta_new: Floats, indices: Rows) -> Floats:
        """r_i = lᵢ - [p_i(θ') - p_i(θ)]."""
        function = self.model._functions.residuals[self.order - 1]
        return self.model._each(function, (theta, theta_new, self.centre), indices)

    def residual(self, theta: Floats, indices: Rows) -> Floats:
        """log p_i(θ) less the proxy's change from the centre to θ."""
        function = self.model._functions.residual[self.order - 1]
        return self.model._each(function, (theta, self.centre), indices)

    def residual_many(self, states: Floats, indices: Rows) -> Floats:
        """The same at each of many states, (S, n)."""
        function = self.model._functions.residual_many[self.order - 1]
        pieces = self.model._pieces(indices, len(states))
        parts = [self.model._each(function, (states, self.centre), piece) for piece in pieces]
        return np.concatenate(parts, axis=1)


def _compiled(jax: Any, batch: Batch, log_prior: Callable[[Any], Any]) -> Functions:
    def terms(theta: Any, new: Any, rows: Any) -> Any:
        return batch(new, rows) - batch(theta, rows)

    def change(order: int, centre: Any, e: Any, m: Any, rows: Any) -> Any:
        """D log p [e] + D² log p [e, m] at the centre."""

        def first(at: Any) -> Any:
            return jax.jvp(lambda theta: batch(theta, rows), (at,), (e,))[1]

        return first(centre) if order == 1 else sum(jax.jvp(first, (centre,), (m,)))

    def residuals(order: int) -> Callable[..., Any]:
        def found(theta: Any, new: Any, centre: Any, rows: Any) -> Any:
            middle = 0.5 * (theta + new) - centre
            return terms(theta, new, rows) - change(order, centre, new - theta, middle, rows)

        return found

    def residual(order: int) -> Callable[..., Any]:
        def found(theta: Any, centre: Any, rows: Any) -> Any:
            away = theta - centre
            return batch(theta, rows) - change(order, centre, away, 0.5 * away, rows)

        return found

    def total(theta: Any, rows: Any, weights: Any) -> Any:
        return jax.numpy.sum(jax.numpy.where(weights > 0.0, batch(theta, rows), 0.0))

    orders, jit = (1, 2), jax.jit
    return Functions(
        values=jit(batch),
        terms=jit(terms),
        residuals=[jit(residuals(order)) for order in orders],
        residual=[jit(residual(order)) for order in orders],
        values_many=jit(jax.vmap(batch, (0, None))),
        residual_many=[jit(jax.vmap(residual(order), (0, None, None))) for order in orders],
        sums_many=jit(jax.vmap(jax.value_and_grad(total), (0, None, None))),
        gradient=jit(jax.grad(total)),
        hessian=jit(jax.hessian(total)),
        log_prior=jit(log_prior),
        prior_gradient=jit(jax.grad(log_prior)),
        prior_curvature=jit(jax.hessian(log_prior)),
    )


def from_jax(
    log_likelihood: Callable[[Any, Any], Any], log_prior: Callable[[Any], Any], data: Any, start: Any
) -> JaxModel:
    """A model of your own, written in JAX, with control variates and everything that follows.

    Parameters
    ----------
    log_likelihood
        log_likelihood(theta, row) -> log p of one row: a number. `theta` is like `start`, and `row` like `data` without
        its first axis. It must have two derivatives that JAX can find.
    log_prior
        log_prior(theta) -> log prior density, up to a constant. All of it must be unconstrained: a positive parameter
        enters by its logarithm, with the Jacobian in the prior.
    data
        An array whose first axis counts the rows, or a dict, tuple or other pytree of such arrays.
    start
        A possible θ, and where to look for the mode: a number, an array, or a dict or other pytree of them.

    Returns
    -------
    JaxModel
        A `SmoothModel`, for `Controlled.around`, `find_mode`, `run` and so on. Its `unpack(draws)` gives draws under
        the names and with the shapes of `start`.

    Raises
    ------
    BadInput
        If JAX is not installed, or if the functions do not return one finite number at the start.

    Examples
    --------
    >>> from samplers import Controlled, find_mode
    >>> import jax.numpy as jnp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((1000, 2))
    >>> y = rng.poisson(np.exp(0.5 + x @ [0.3, -0.2]))
    >>> def log_likelihood(theta, row):
    ...     eta = theta["a"] + row["x"] @ theta["b"]
    ...     return row["y"] * eta - jnp.exp(eta)
    >>> def log_prior(theta):
    ...     return -0.5 * theta["a"] ** 2 - 0.5 * jnp.sum(theta["b"] ** 2)
    >>> model = from_jax(log_likelihood, log_prior, {"x": x, "y": y}, {"a": 0.0, "b": jnp.zeros(2)})
    >>> model.names
    ('a', 'b[0]', 'b[1]')
    >>> mode = find_mode(model)
    >>> model.unpack(mode)["b"].shape
    (2,)
    >>> theta, rows = mode + 0.05, np.arange(1000)
    >>> plain, left = model.terms(mode, theta, rows), Controlled.around(model, mode).terms(mode, theta, rows)
    >>> bool(left.std() < 0.03 * plain.std())
    True
    """
    jax = jax_package()
    with jax.enable_x64(True):
        rows = _checked_data(jax, data)
        begin, parts, unravel = _checked_start(jax, start)

        def batch(theta: Any, some: Any) -> Any:
            return jax.vmap(log_likelihood, (None, 0))(unravel(theta), some)

        def prior(theta: Any) -> Any:
            return log_prior(unravel(theta))

        _check_values(jax, batch, prior, rows, begin)
        leaves, tree = jax.tree.flatten(unravel(begin))
        some = jax.tree.map(lambda array: array[:2], rows)

        def of_parts(*each: Any) -> Any:
            return jax.vmap(log_likelihood, (None, 0))(jax.tree.unflatten(tree, each), some)

        alone = prior_only_parts(jax, of_parts, leaves)
    return JaxModel(batch, prior, rows, begin, parts, part_names(parts), alone)


def _checked_data(jax: Any, data: Any) -> Any:
    """The data as NumPy arrays, or BadInput."""
    leaves, tree = jax.tree.flatten(data)
    arrays = [np.asarray(leaf) for leaf in leaves]
    if not arrays or any(array.ndim < 1 or array.dtype.kind not in "biuf" for array in arrays):
        raise BadInput("data: must be arrays of numbers whose first axis counts the rows, one or several")
    sizes = sorted({array.shape[0] for array in arrays})
    if len(sizes) > 1 or sizes[0] < 2:
        found = " and ".join(f"{size:,}" for size in sizes)
        raise BadInput(f"data: have {found} rows; all arrays must have the same number of rows, 2 or more")
    for array in arrays:
        if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
            raise BadInput("data: have values that are not finite; leave those rows out")
    return jax.tree.unflatten(tree, arrays)


def _checked_start(jax: Any, start: Any) -> tuple[Floats, list[Part], Callable[[Any], Any]]:
    """The start as a flat array, its parts, and how to go back."""
    paths, tree = jax.tree_util.tree_flatten_with_path(start)
    if not paths:
        raise BadInput("start: has no parameters")
    parts, leaves = [], []
    for path, leaf in paths:
        name = ".".join(_key(entry) for entry in path) or "theta"
        value = np.asarray(leaf)
        if value.dtype.kind not in "biuf" or not np.all(np.isfinite(value)):
            raise BadInput(f"start: {name} must be finite numbers")
        leaves.append(value.astype(np.float64))
        parts.append((name, value.shape))
    flat, unravel = package("jax.flatten_util", "jax").ravel_pytree(jax.tree_util.tree_unflatten(tree, leaves))
    return np.array(flat), parts, unravel


def _key(entry: Any) -> str:
    """A step of a path into a pytree: a key, an index or the name of a field."""
    for name in ("key", "idx", "name"):
        if hasattr(entry, name):
            return str(getattr(entry, name))
    return str(entry)


def _check_values(jax: Any, batch: Batch, prior: Callable[[Any], Any], rows: Any, start: Floats) -> None:
    """Evaluate both functions once, and say what is wrong with them if something is."""
    some = jax.tree.map(lambda array: array[:CHECKED], rows)
    n = jax.tree.leaves(some)[0].shape[0]
    wanted: tuple[tuple[str, Callable[[], Any], tuple[int, ...]], ...] = (
        ("log_likelihood", lambda: batch(start, some), (n,)),
        ("log_prior", lambda: prior(start), ()),
    )
    for name, function, shape in wanted:
        try:
            value: Any = np.asarray(function())
        except Exception as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else ""
            raise BadInput(f"{name}: fails at the start: {type(error).__name__}: {first}") from error
        if value.shape != shape:
            one = "for one row" if shape else "for θ"
            raise BadInput(
                f"{name}: must return one number {one}, has shape {value.shape[len(shape) :] or value.shape}"
            )
        if not np.all(np.isfinite(value)):
            raise BadInput(f"{name}: is {value.ravel()[np.argmin(np.isfinite(value))]} at the start; start elsewhere")


def prior_only_parts(jax: Any, likelihood: Callable[..., Any], leaves: Sequence[Any]) -> Ints:
    """Numbers of the parameters that the program of the likelihood, a function of all parts, does not contain."""
    program = jax.make_jaxpr(likelihood)(*leaves).jaxpr
    needed, sizes = _needed(program), [int(np.size(leaf)) for leaf in leaves]
    ends = np.cumsum(sizes)
    alone = [
        np.arange(end - size, end)
        for end, size, variable in zip(ends, sizes, program.invars, strict=True)
        if variable not in needed
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *alone])


def _needed(program: Any) -> set[Any]:
    """The variables of a program that its outputs depend on; constants in its text have a value."""
    needed = {variable for variable in program.outvars if not hasattr(variable, "val")}
    for equation in reversed(program.eqns):
        if any(variable in needed for variable in equation.outvars):
            needed |= {variable for variable in equation.invars if not hasattr(variable, "val")}
    return needed
