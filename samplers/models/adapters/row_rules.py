"""How elementary operations of JAX carry the axis that counts the rows: from a result to its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Shape = tuple[int, ...]
Axes = Sequence[int | None]
Params = Callable[[int], dict[str, Any]]
Found = tuple[Axes, Params]

_EACH = """
abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp convert_element_type
copy copy_p cos cosh digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a igammac
integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not or polygamma pow reduce_precision
regularized_incomplete_beta rem round rsqrt select_n sharding_constraint shift_left shift_right_arithmetic
shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor zeta
"""
ELEMENTWISE = frozenset(_EACH.split())
_REDUCE = "reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or reduce_xor argmax argmin"
REDUCTIONS = frozenset(_REDUCE.split())
CUMULATIVE = frozenset(["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
CALLS = {  # operations that run another program, and where they keep it
    "pjit": "jaxpr",
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "checkpoint": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
}


class NoRule(Exception):
    """Why the rows cannot be followed through an operation."""


def inner_program(equation: Any) -> tuple[Any, Sequence[Any]]:
    """The program that an operation runs, and its constants."""
    inner = equation.params[CALLS[equation.primitive.name]]
    return (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())


def inputs_of(name: str, params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    """Which axis of each input counts the rows, if `axis` of the result does; and the parameters for n rows."""
    n_rows = shape[axis]
    if name in ELEMENTWISE:
        same = [axis if len(each) == len(shape) and each[axis] == n_rows else None for each in shapes]
        return same, lambda n: params
    if name in REDUCTIONS:
        kept = [k for k in range(len(shapes[0])) if k not in params["axes"]]
        return [kept[axis]], lambda n: params
    if name in CUMULATIVE:
        if params["axis"] == axis:
            raise NoRule("runs over the rows")
        return [axis], lambda n: params
    rule = RULES.get(name)
    if rule is None:
        raise NoRule("is not known")
    return rule(params, shapes, shape, axis)


def _with(params: dict[str, Any], name: str, values: Sequence[int], place: int) -> Params:
    """The parameters with one number of a list replaced by that of the rows."""
    return lambda n: {**params, name: tuple(n if k == place else value for k, value in enumerate(values))}


def _broadcast(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    dimensions = tuple(params["broadcast_dimensions"])
    place = dimensions.index(axis) if axis in dimensions else None
    if place is not None and shapes[0][place] != shape[axis]:
        place = None  # one value for all rows: an axis of length 1 is broadcast to any number of them
    return [place, *([None] * (len(shapes) - 1))], _with(params, "shape", params["shape"], axis)


def _reshape(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    before = math.prod(shape[:axis])
    for place, size in enumerate(shapes[0]):
        if size == shape[axis] and math.prod(shapes[0][:place]) == before:
            if params.get("dimensions") is not None:
                raise NoRule("reorders the rows")
            return [place, *([None] * (len(shapes) - 1))], _with(params, "new_sizes", params["new_sizes"], axis)
    raise NoRule("merges the rows with another axis")


def _transpose(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    return [params["permutation"][axis]], lambda n: params


def _squeeze(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    kept = [k for k in range(len(shapes[0])) if k not in params["dimensions"]]
    return [kept[axis]], lambda n: params


def _dot(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    (left, right), (left_batch, right_batch) = params["dimension_numbers"]
    if axis < len(left_batch):
        return [left_batch[axis], right_batch[axis]], lambda n: params
    free = [k for k in range(len(shapes[0])) if k not in (*left, *left_batch)]
    place = axis - len(left_batch)
    if place < len(free):
        return [free[place], None], lambda n: params
    others = [k for k in range(len(shapes[1])) if k not in (*right, *right_batch)]
    return [None, others[place - len(free)]], lambda n: params


def _concatenate(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    if params["dimension"] == axis:
        raise NoRule("puts the rows together from several arrays")
    return [axis] * len(shapes), lambda n: params


def _stack(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    new = next((params[name] for name in ("axis", "dimension") if name in params), None)
    if new is None or new == axis:
        raise NoRule("puts the rows together from several arrays")
    return [axis - (axis > new)] * len(shapes), lambda n: params


def _split(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    if params["axis"] == axis:
        raise NoRule("splits the rows")
    return [axis], lambda n: params


def _slice(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    if shapes[0][axis] != shape[axis]:
        raise NoRule("takes some of the rows")
    return [axis], _with(params, "limit_indices", params["limit_indices"], axis)


def _dynamic_slice(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    if shapes[0][axis] != shape[axis]:
        raise NoRule("takes some of the rows")
    return [axis, *([None] * (len(shapes) - 1))], _with(params, "slice_sizes", params["slice_sizes"], axis)


def _pad(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    if tuple(params["padding_config"][axis]) != (0, 0, 0):
        raise NoRule("adds rows")
    return [axis, None], lambda n: params


def _reverse(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    if axis in params["dimensions"]:
        raise NoRule("reorders the rows")
    return [axis], lambda n: params


def _sort(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    if params["dimension"] == axis:
        raise NoRule("sorts the rows")
    return [axis] * len(shapes), lambda n: params


def _gather(params: dict[str, Any], shapes: Sequence[Shape], shape: Shape, axis: int) -> Found:
    numbers = params["dimension_numbers"]
    sizes = tuple(params["slice_sizes"])
    if axis in numbers.offset_dims:  # rows of what is indexed: all of them, or none of its business
        gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
        kept = [k for k in range(len(shapes[0])) if k not in gone]
        place = kept[tuple(numbers.offset_dims).index(axis)]
        if shapes[0][place] != shape[axis] or place in numbers.start_index_map:
            raise NoRule("takes some of the rows")
        return [place, None], _with(params, "slice_sizes", sizes, place)
    of_indices = [k for k in range(len(shape)) if k not in numbers.offset_dims].index(axis)
    batched = tuple(numbers.start_indices_batching_dims)
    operand = numbers.operand_batching_dims[batched.index(of_indices)] if of_indices in batched else None
    return [operand, of_indices], lambda n: params


RULES: dict[str, Callable[[dict[str, Any], Sequence[Shape], Shape, int], Found]] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": _concatenate,
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "gather": _gather,
    "pad": _pad,
    "reshape": _reshape,
    "rev": _reverse,
    "slice": _slice,
    "sort": _sort,
    "split": _split,
    "squeeze": _squeeze,
    "stack": _stack,
    "transpose": _transpose,
}
