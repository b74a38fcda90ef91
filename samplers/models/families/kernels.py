"""The functions of a family for many rows at once, compiled with one signature for all families.

Whole blocks of steps call them by their address, a few hundred rows at a time: so a block is compiled once for all
families, and a further family costs only these loops.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import float64, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from designer.core.arrays import Floats
from designer.core.jit import kernel_with
from samplers.models.arrays import frozen
from samplers.models.families.binary import Cloglog, Probit
from samplers.models.families.counts import Gamma, Poisson
from samplers.models.families.errors import Gaussian, Student
from samplers.models.families.logit import Bernoulli, Binomial, NegativeBinomial
from samplers.models.families.scalar import change, curvature, second_bound, slope, third, third_bound, value

BUILT_IN = (Bernoulli, Binomial, NegativeBinomial, Probit, Cloglog, Poisson, Gamma, Gaussian, Student)
CONTRACT = {"contract"}
ROW = float64[::1]
CHANGES = types.void(ROW, ROW, ROW, ROW, ROW, ROW, float64, ROW, ROW)
VALUES = types.void(ROW, ROW, ROW, ROW, ROW, ROW)
EXPANSIONS = types.void(ROW, ROW, ROW, ROW, ROW, ROW, ROW, float64, float64)


class Kernels(NamedTuple):
    """A family's loops over rows.

    changes(shape, old, new, y, extra, weight, scale, proxy, out): lᵢ less the change of its proxy.
    values(shape, eta, y, extra, weight, out): log p.
    expansions(shape, old, new, centre, y, extra, weight, scale, second): in place of η*, the change of the proxy that
    is expanded there; its curvature is multiplied by `second`.
    each(shape, order, eta, y, extra, weight, out): log p or a derivative, for several states.
    bounds(shape, order, low, high, y, extra, weight, out): the largest |derivative|; None if there is no bound.
    """

    changes: Any
    values: Any
    expansions: Any
    each: Any
    bounds: Any


class CompiledFamily(NamedTuple):
    """A family in the form that compiled blocks take, its loops by their addresses: the same type for all families."""

    shape: Floats
    changes: int
    values: int
    expansions: int


class Address(NamedTuple):
    """Where a kernel's machine code is: compiled code calls it there (`by_address`). The kernel keeps it in memory.

    A number passes from Python into a compiled block at once; a function as numba knows it takes 0.1 ms each time.
    """

    kernel: Any
    number: int

    @classmethod
    def of(cls, kernel: Any, signature: Any) -> Address:
        """Compile the kernel."""
        kernel.compile(signature.args)
        result = kernel.overloads[signature.args]
        return cls(kernel, int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)))


def by_address(signature: Any) -> Any:
    """call(address, arguments): the kernel with this signature, which returns nothing, at this address."""

    @intrinsic  # type: ignore[untyped-decorator]
    def call(typing: Any, _address: Any, arguments: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            values = cgutils.unpack_tuple(builder, given[1], len(signature.args))
            pairs = zip(values, arguments.types, signature.args, strict=True)
            cast = [context.cast(builder, value, have, want) for value, have, want in pairs]
            kinds = [context.get_value_type(kind) for kind in signature.args]
            function = ir.FunctionType(context.get_value_type(signature.return_type), kinds)
            builder.call(builder.inttoptr(given[0], function.as_pointer()), cast)
            return context.get_dummy_value()

        for have, want in zip(arguments.types, signature.args, strict=True):
            if typing.can_convert(have, want) is None:
                raise TypingError(f"{have} in place of {want}")
        return types.void(types.int64, arguments), codegen

    return call


call_changes, call_values, call_expansions = by_address(CHANGES), by_address(VALUES), by_address(EXPANSIONS)


def family_from(kind: Any, shape: Any) -> Any:
    """The family of this type with these shape numbers."""


@overload(family_from, inline="always")
def _family_from(kind, shape):
    fields = len(kind.instance_class._fields)
    if fields == 0:
        return lambda kind, shape: kind()
    if fields == 1:
        return lambda kind, shape: kind(shape[0])
    return lambda kind, shape: kind(shape[0], shape[1])


@cache
def kernels_of(kind: Any) -> Kernels:
    """The loops of a built-in family, compiled on first use and kept on disk."""

    @kernel_with(fastmath=CONTRACT)
    def changes(shape, old, new, y, extra, weight, scale, proxy, out):
        family = family_from(kind, shape)
        for k in range(out.size):
            out[k] = scale * weight[k] * change(family, old[k], new[k], y[k], extra[k]) - proxy[k]

    @kernel_with(fastmath=CONTRACT)
    def values(shape, eta, y, extra, weight, out):
        family = family_from(kind, shape)
        for k in range(out.size):
            out[k] = weight[k] * value(family, eta[k], y[k], extra[k])

    @kernel_with(fastmath=CONTRACT)
    def expansions(shape, old, new, centre, y, extra, weight, scale, second):
        family = family_from(kind, shape)
        for k in range(old.size):
            bend = second * curvature(family, centre[k], y[k], extra[k]) * (new[k] + old[k] - 2.0 * centre[k])
            rise = slope(family, centre[k], y[k], extra[k]) + 0.5 * bend
            centre[k] = scale * weight[k] * (new[k] - old[k]) * rise

    @kernel_with()
    def each(shape, order, eta, y, extra, weight, out):
        family = family_from(kind, shape)
        for s in range(eta.shape[0]):
            for k in range(eta.shape[1]):
                if order == 0:
                    out[s, k] = weight[k] * value(family, eta[s, k], y[k], extra[k])
                elif order == 1:
                    out[s, k] = weight[k] * slope(family, eta[s, k], y[k], extra[k])
                elif order == 2:
                    out[s, k] = weight[k] * curvature(family, eta[s, k], y[k], extra[k])
                else:
                    out[s, k] = weight[k] * third(family, eta[s, k], y[k], extra[k])

    @kernel_with()
    def bounds(shape, order, low, high, y, extra, weight, out):
        family = family_from(kind, shape)
        for k in range(out.size):
            if order == 2:
                out[k] = weight[k] * second_bound(family, low[k], high[k], y[k], extra[k])
            else:
                out[k] = weight[k] * third_bound(family, low[k], high[k], y[k], extra[k])

    return Kernels(changes, values, expansions, each, bounds)


def kernels(family: Any) -> Kernels:
    """The loops of any family: built in, or with loops of its own."""
    kind: Any = type(family)
    own: Kernels = kernels_of(kind) if kind in BUILT_IN else family.kernels
    return own


def shape_of(family: Any) -> Floats:
    """The shape numbers of a family."""
    shape: Floats = frozen(np.array(family if type(family) in BUILT_IN else family.shape, dtype=np.float64))
    return shape


@cache
def _addresses(loops: Kernels) -> tuple[Address, Address, Address]:
    return (
        Address.of(loops.changes, CHANGES),
        Address.of(loops.values, VALUES),
        Address.of(loops.expansions, EXPANSIONS),
    )


def compiled_family(family: Any) -> CompiledFamily:
    """The form that compiled blocks take."""
    changes, values, expansions = _addresses(kernels(family))
    return CompiledFamily(np.array(shape_of(family)), changes.number, values.number, expansions.number)


def each(family: Any, order: int, eta: Floats, y: Floats, extra: Floats, weight: Floats) -> Floats:
    """log p (order 0), or its derivative of this order, at η of each row; η may have several states, one a row."""
    if not y.size:
        return np.empty(np.shape(eta))
    states = np.ascontiguousarray(eta, dtype=np.float64).reshape(-1, y.size)
    out = np.empty(states.shape)
    kernels(family).each(shape_of(family), order, states, y, extra, weight, out)
    return out.reshape(np.shape(eta))


def bounds(family: Any, order: int, low: Floats, high: Floats, y: Floats, extra: Floats, weight: Floats) -> Floats:
    """The largest |derivative| of order 2 or 3 for η in [low, high], for each row."""
    out = np.empty(np.size(low))
    ends = np.ascontiguousarray(low, dtype=np.float64), np.ascontiguousarray(high, dtype=np.float64)
    kernels(family).bounds(shape_of(family), order, *ends, y, extra, weight, out)
    return out
