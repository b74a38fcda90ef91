"""The terms of some rows, out of a program that computes those of all rows.

A NumPyro or PyMC model computes the log-likelihoods of all N rows at once. JAX shows this computation as a list of
elementary operations. Starting from the result, whose axis counts the rows, each operation is asked which axis of its
inputs counts the rows; in the end it is known which axis of which constant array does. The same operations on some rows
of these arrays give the terms of those rows, and nothing else is evaluated. What does not depend on the parameters is
computed once, beforehand.

Where an operation mixes rows (a cumulative sum over them, a parameter of their own), there is no such program, and the
model is refused with the operation's name.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from samplers.models.adapters.row_rules import CALLS, NoRule, inner_program, inputs_of

Key = tuple[int, int | None]  # a variable, and which of its axes counts the rows


class _Constant(NamedTuple):
    value: Any


class _Parameter(NamedTuple):
    place: int


class _Step(NamedTuple):
    """An operation that depends on parameters; its inputs are variables, by number."""

    primitive: Any
    params: dict[str, Any]
    inputs: list[int]
    shapes: list[tuple[int, ...]]  # of the inputs
    output: int  # which of its results
    shape: tuple[int, ...]  # of that result


class _Instruction(NamedTuple):
    """A step of the program for n rows: keys of its inputs, and its parameters for n rows."""

    key: Key
    bind: Callable[..., Any]
    params: Callable[[int], dict[str, Any]]
    inputs: list[Key]
    output: int


class RowProgram:
    """The program for some rows of a function of parameters that returns a number for each of N rows.

    Parameters
    ----------
    jax
        The package.
    function
        function(*leaves) -> (N,), traceable by JAX.
    leaves
        Examples of the parameters, for shapes and types.
    names
        Of the parameters, for messages.

    Attributes
    ----------
    data
        Arrays with N rows each: the constants that count the rows, that axis first.
    used
        Numbers of the parameters that the result depends on.
    """

    def __init__(self, jax: Any, function: Callable[..., Any], leaves: Sequence[Any], names: Sequence[str]) -> None:
        self._jax, self._names = jax, names
        self._variables: list[_Constant | _Parameter | _Step] = []
        closed = jax.make_jaxpr(function)(*leaves)
        begin = [self._add(_Parameter(k)) for k in range(len(leaves))]
        (result,) = self._inline(closed.jaxpr, closed.consts, begin)
        self.n_rows = int(closed.out_avals[0].shape[0])
        self._instructions: dict[Key, _Instruction] = {}
        self._rows: dict[Key, int] = {}
        self._equal: dict[Key, Any] = {}  # constants whose rows are all equal: one of them
        self._known: dict[tuple[Any, ...], int] = {}  # which of the data an array is
        self.data: list[Any] = []
        self.used: set[int] = set()
        self._result = self._plan(result, 0)
        if not self.data:
            raise BadInput("the likelihood has no array with a row for each datum: it may not depend on the data")

    def __call__(self, leaves: Sequence[Any], rows: Sequence[Any]) -> Any:
        """The terms of these rows; `rows` are some rows of `data`."""
        n, known = int(rows[0].shape[0]), dict[Key, Any]()

        def value(key: Key) -> Any:
            number, axis = key
            if key in known:
                return known[key]
            if key in self._rows:
                return self._jax.numpy.moveaxis(rows[self._rows[key]], 0, axis)
            if key in self._equal:
                row = self._equal[key]
                return self._jax.numpy.moveaxis(self._jax.numpy.broadcast_to(row, (n, *row.shape)), 0, axis)
            variable = self._variables[number]
            assert not isinstance(variable, _Step)
            return leaves[variable.place] if isinstance(variable, _Parameter) else variable.value

        for key, step in self._instructions.items():
            results = step.bind(*(value(each) for each in step.inputs), **step.params(n))
            known[key] = results[step.output] if isinstance(results, (list, tuple)) else results
        result = value(self._result)
        return self._jax.numpy.broadcast_to(result, (n,))

    # --- reading the program ------------------------------------------------------------------------------------------

    def _add(self, variable: _Constant | _Parameter | _Step) -> int:
        self._variables.append(variable)
        return len(self._variables) - 1

    def _inline(self, program: Any, constants: Sequence[Any], inputs: Sequence[int]) -> list[int]:
        """Read a program, with the programs that it calls; what depends on no parameter is computed."""
        numbers: dict[Any, int] = dict(zip(program.invars, inputs, strict=True))
        for variable, value in zip(program.constvars, constants, strict=True):
            numbers[variable] = self._add(_Constant(value))

        def number(variable: Any) -> int:
            return self._add(_Constant(variable.val)) if hasattr(variable, "val") else numbers[variable]

        for equation in program.eqns:
            name, places = equation.primitive.name, [number(variable) for variable in equation.invars]
            kinds = [self._variables[place] for place in places]
            values = [kind.value for kind in kinds if isinstance(kind, _Constant)]
            if len(values) == len(places):
                found = self._computed(equation, values)
            elif name in CALLS:
                found = self._inline(*inner_program(equation), places)
            else:
                shapes = [tuple(variable.aval.shape) for variable in equation.invars]
                found = [
                    self._add(_Step(equation.primitive, equation.params, places, shapes, k, tuple(variable.aval.shape)))
                    for k, variable in enumerate(equation.outvars)
                ]
            numbers.update(zip(equation.outvars, found, strict=True))
        return [number(variable) for variable in program.outvars]

    def _computed(self, equation: Any, values: list[Any]) -> list[int]:
        results = equation.primitive.bind(*values, **equation.params)
        several = results if equation.primitive.multiple_results else [results]
        return [self._add(_Constant(result)) for result in several]

    # --- which axis counts the rows -----------------------------------------------------------------------------------

    def _plan(self, number: int, axis: int | None) -> Key:
        """Make sure that a variable, or its rows, can be computed; its key."""
        key = number, axis
        variable = self._variables[number]
        if isinstance(variable, _Constant):
            if axis is not None and key not in self._rows and key not in self._equal:
                self._read(key, np.ascontiguousarray(np.moveaxis(np.asarray(variable.value), axis, 0)))
        elif isinstance(variable, _Parameter):
            if axis is not None:
                raise BadInput(
                    f"{self._names[variable.place]} has one value for each row: local variables are not supported; "
                    "integrate them out"
                )
            self.used.add(variable.place)
        elif key not in self._instructions:
            self._instruct(key, variable)
        return key

    def _read(self, key: Key, array: Any) -> None:
        """Take an array as data, unless its rows are all equal or it is known already."""
        if np.array_equal(array, np.broadcast_to(array[:1], array.shape)):
            self._equal[key] = array[0]
            return
        mark = array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest()
        if mark not in self._known:
            self._known[mark] = len(self.data)
            self.data.append(array)
        self._rows[key] = self._known[mark]

    def _instruct(self, key: Key, step: _Step) -> None:
        name, axis = step.primitive.name, key[1]
        if axis is None:
            if self.n_rows in step.shape and math.prod(step.shape) >= self.n_rows:
                raise BadInput(
                    f"the likelihood does not factorise over rows: operation '{name}' needs all {self.n_rows:,} of them"
                )
            axes: Sequence[int | None] = [None] * len(step.inputs)
            params: Callable[[int], dict[str, Any]] = lambda n: step.params  # noqa: E731
        elif (own := self._own_row(step, axis)) is not None:
            self._pick(key, step, own)
            return
        else:
            try:
                axes, params = inputs_of(step.primitive.name, step.params, step.shapes, step.shape, axis)
            except NoRule as reason:
                raise BadInput(f"the likelihood may not factorise over rows: operation '{name}' {reason}") from None
        inputs = [self._plan(number, each) for number, each in zip(step.inputs, axes, strict=True)]
        self._instructions[key] = _Instruction(key, step.primitive.bind, params, inputs, step.output)

    def _own_row(self, step: _Step, axis: int) -> int | None:
        """Which index of a gather is the row's own number, as in p[arange(n), y]; None if there is none."""
        if step.primitive.name != "gather" or axis in step.params["dimension_numbers"].offset_dims:
            return None
        indices, numbers = self._variables[step.inputs[1]], step.params["dimension_numbers"]
        if not isinstance(indices, _Constant):
            return None
        values = np.moveaxis(np.asarray(indices.value), self._batch_axis(step, axis), 0)
        own = np.arange(self.n_rows).reshape(-1, *([1] * (values.ndim - 2)))
        for place, dimension in enumerate(numbers.start_index_map):
            taken = dimension in numbers.collapsed_slice_dims and step.shapes[0][dimension] == self.n_rows
            if taken and np.array_equal(values[..., place], np.broadcast_to(own, values.shape[:-1])):
                return place
        return None

    @staticmethod
    def _batch_axis(step: _Step, axis: int) -> int:
        """The axis of a gather's indices that becomes this axis of its result."""
        offsets = step.params["dimension_numbers"].offset_dims
        return [k for k in range(len(step.shape)) if k not in offsets].index(axis)

    def _pick(self, key: Key, step: _Step, place: int) -> None:
        """Plan a gather in which each row picks from itself."""
        assert key[1] is not None
        batch = self._batch_axis(step, key[1])
        dimension = step.params["dimension_numbers"].start_index_map[place]
        inputs = [self._plan(step.inputs[0], dimension), self._plan(step.inputs[1], batch)]
        jnp = self._jax.numpy

        def bind(operand: Any, indices: Any, **params: Any) -> Any:
            shape = [1] * (indices.ndim - 1)
            shape[batch] = indices.shape[batch]
            own = jnp.arange(indices.shape[batch], dtype=indices.dtype).reshape(shape)
            own = jnp.broadcast_to(own, indices.shape[:-1])
            return step.primitive.bind(operand, indices.at[..., place].set(own), **params)

        self._instructions[key] = _Instruction(key, bind, lambda n: step.params, inputs, step.output)
