"""PyMC models as they are, through PyTensor's compilation to JAX.

The likelihood is that of the observed variables whose log densities have an entry for each row; PyMC's own program for
all rows is turned into one for some rows (`samplers.models.adapters.row_program`), and compared with PyMC's log density
before it is used. Free variables, potentials and Jacobians make the prior.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from samplers.models.adapters.jax_model import JaxModel
from samplers.models.adapters.packages import jax_package, package
from samplers.models.adapters.parts import Part, part_names
from samplers.models.adapters.pymc_functions import add_missing
from samplers.models.adapters.site_model import Sites, site_model

SHARE = 10  # an observed variable or potential without an axis of N rows and with more than N / 10 numbers has its own


def from_pymc(model: Any) -> JaxModel:
    """A PyMC model with its data, unmodified, with control variates and everything that follows.

    Parameters
    ----------
    model
        A `pymc.Model`. Its observed variables have an axis that counts the rows. Variables and potentials with as many
        rows as the longest one belong to the same rows; others with many rows, as censored times beside observed ones,
        are further data.

    Returns
    -------
    JaxModel
        θ are the free variables on PyMC's unconstrained scale. Its `unpack(draws)` gives them under their names,
        constrained, and the deterministic variables that have no value per row.

    Raises
    ------
    BadInput
        If PyMC or JAX is not installed; with the reason, if the model has discrete free variables, no observed ones,
        free variables for single rows, or a likelihood that does not factorise over its rows.

    Examples
    --------
    >>> import pymc as pm
    >>> x = np.linspace(-1.0, 1.0, 200)
    >>> with pm.Model() as regression:
    ...     slope = pm.Normal("slope", 0.0, 10.0)
    ...     sigma = pm.HalfNormal("sigma", 5.0)
    ...     seen = pm.StudentT("y", nu=4.0, mu=slope * x, sigma=sigma, observed=np.sin(5.0 * x))
    >>> model = from_pymc(regression)
    >>> model.n_data, model.names
    (200, ('slope', 'log sigma'))
    >>> sorted(model.unpack(np.zeros((5, 2))))
    ['sigma', 'slope']
    """
    package("pymc", "pymc")
    jax = jax_package()
    setting = bool(jax.config.jax_enable_x64)
    try:
        package("pytensor.link.jax.dispatch", "pymc")
    finally:
        jax.config.update("jax_enable_x64", setting)  # PyTensor changes it
    add_missing(jax)
    _check(model)
    values = list(model.value_vars)
    first = {name: np.asarray(value, dtype=np.float64) for name, value in model.initial_point().items()}
    with jax.enable_x64(True):
        starts = [first[variable.name] for variable in values]
        parts: list[Part] = [(model.values_to_rvs[variable].name, first[variable.name].shape) for variable in values]
        labels: list[Part] = [(_label(model, variable), first[variable.name].shape) for variable in values]
        each = _function(values, [*model.logp(vars=list(model.observed_RVs), sum=False), *model.potentials], model)
        shapes = [tuple(value.shape) for value in jax.eval_shape(each, *starts)]
        sets = _sets(shapes, len(model.observed_RVs))
        inside = {k for rows in sets for k in rows.axes}
        sizes = {rows.size for rows in sets} | {sum(rows.size for rows in sets)}
        free = _function(values, [model.logp(vars=list(model.free_RVs), sum=True)], model)
        wanted = [variable for variable in model.unobserved_value_vars if variable not in values]
        wanted = [variable for variable in wanted if variable.name is not None]
        computed = _function(values, wanted, model)
        total = _function(values, [model.logp()], model)

        def likelihood(rows: _Rows, *leaves: Any) -> Any:
            found = each(*leaves)
            return sum(_summed(jax, found[k], axis) for k, axis in rows.axes.items())

        def log_prior(*leaves: Any) -> Any:
            found = each(*leaves)
            rest = [jax.numpy.sum(value) for k, value in enumerate(found) if k not in inside]
            return sum(rest, free(*leaves)[0])

        plain = {variable.name for variable in values}

        def quantities(*leaves: Any) -> dict[str, Any]:
            found = {variable.name: value for variable, value in zip(wanted, computed(*leaves), strict=True)}
            known = {variable.name: leaf for variable, leaf in zip(values, leaves, strict=True)}
            named = {name: known[name] for name, _ in parts if name in plain}
            return named | {name: value for name, value in found.items() if not sizes & set(value.shape)}

        sites = Sites(parts, part_names(labels), starts, starts)
        functions = [partial(likelihood, rows) for rows in sets]
        return site_model(jax, sites, functions, log_prior, lambda *leaves: total(*leaves)[0], quantities, "PyMC")


def _check(model: Any) -> None:
    if not hasattr(model, "value_vars") or not hasattr(model, "observed_RVs"):
        raise BadInput(f"model: a {type(model).__name__}; must be a pymc.Model")
    if not model.observed_RVs:
        raise BadInput("model: has no observed variables")
    if not model.free_RVs:
        raise BadInput("model: has no free variables to sample")
    if model.discrete_value_vars:
        names = ", ".join(model.values_to_rvs[variable].name for variable in model.discrete_value_vars)
        raise BadInput(f"model: free variable {names} is discrete; sum it out of the likelihood")


def _label(model: Any, value: Any) -> str:
    variable = model.values_to_rvs[value]
    transform = model.rvs_to_transforms.get(variable)
    if transform is None:
        return str(variable.name)
    return f"log {variable.name}" if getattr(transform, "name", "") == "log" else f"unconstrained {variable.name}"


def _function(inputs: Sequence[Any], outputs: Sequence[Any], model: Any) -> Callable[..., Any]:
    """A JAX function of the free variables' values; data are constants in it."""
    mode = package("pytensor.compile.mode", "pymc")
    graphs = package("pytensor.graph.fg", "pymc")
    replace = package("pytensor.graph.replace", "pymc")
    tensor = package("pytensor.tensor", "pymc")
    shared_type = package("pytensor.compile.sharedvalue", "pymc").SharedVariable
    basic = package("pytensor.graph.traversal", "pymc")
    dispatch = package("pytensor.link.jax.dispatch", "pymc")
    outputs = model.replace_rvs_by_values(list(outputs))
    shared = [variable for variable in basic.graph_inputs(outputs) if isinstance(variable, shared_type)]
    constants = {variable: tensor.constant(variable.get_value(borrow=True)) for variable in shared}
    outputs = replace.clone_replace(outputs, constants) if constants else outputs
    graph = graphs.FunctionGraph(inputs=list(inputs), outputs=list(outputs), clone=True)
    mode.JAX.optimizer.rewrite(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # checks of parameters are left out: values are then not finite
        try:
            function: Callable[..., Any] = dispatch.jax_funcify(graph)
        except NotImplementedError as error:
            why = (str(error).strip().splitlines() or ["unknown"])[0]
            raise BadInput(f"model: PyTensor cannot compile a part of it to JAX: {why}") from None
    return function


class _Rows(NamedTuple):
    """The number of rows, and the axis that counts them in each log density that has one."""

    size: int
    axes: dict[int, int]


def _sets(shapes: Sequence[tuple[int, ...]], n_observed: int) -> list[_Rows]:
    """The rows of the longest observed variable, and of others with many numbers that have not as many rows."""
    size = max((max(shape, default=0) for shape in shapes[:n_observed]), default=0)
    if size < 2:
        raise BadInput(
            "model: the log densities of its observed variables are single numbers: there are no rows to sample"
        )
    found = [_of_size(shapes, size, range(len(shapes)))]
    while True:
        done = {k for rows in found for k in rows.axes}
        many = [k for k, shape in enumerate(shapes) if max(shape, default=1) > 1 and math.prod(shape) * SHARE > size]
        left = [k for k in many if k not in done]
        if not left:
            return found
        found.append(_of_size(shapes, max(max(shapes[k]) for k in left), left))


def _of_size(shapes: Sequence[tuple[int, ...]], size: int, among: Sequence[int]) -> _Rows:
    return _Rows(size, {k: shapes[k].index(size) for k in among if size in shapes[k]})


def _summed(jax: Any, values: Any, axis: int) -> Any:
    return jax.numpy.sum(values, axis=tuple(k for k in range(values.ndim) if k != axis))
