"""exp and multiply-add that the compiler can vectorise: libm's exp is a call, and four times slower inside loops."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from designer.core.jit import inlined

ROUND = 1.5 * 2.0**52  # adding it leaves the nearest integer in the low bits
LOG2_E = 1.0 / math.log(2.0)
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # fdlibm's split of log 2
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1.0 / math.factorial(k) for k in range(2, 14))


@intrinsic
def _bits(_context: Any, _x: Any) -> Any:
    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def _from_bits(_context: Any, _x: Any) -> Any:
    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def muladd(_context: Any, _a: Any, _b: Any, _c: Any) -> Any:
    """a b + c, in one instruction where the processor has one: half of the work of the loops below."""

    def codegen(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        kind = ir.FunctionType(double, [double, double, double])
        return builder.call(builder.module.declare_intrinsic("llvm.fmuladd", [double], kind), args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@inlined
def fast_exp(x):
    """exp(x) to a relative 3e-16 for -700 <= x <= 700; below that, exp(-700)."""
    x = max(x, -700.0)
    shifted = muladd(x, LOG2_E, ROUND)
    k = shifted - ROUND
    y = muladd(k, -LN2_LOW, muladd(k, -LN2_HIGH, x))
    p = muladd(C13, y, C12)
    p = muladd(p, y, C11)
    p = muladd(p, y, C10)
    p = muladd(p, y, C9)
    p = muladd(p, y, C8)
    p = muladd(p, y, C7)
    p = muladd(p, y, C6)
    p = muladd(p, y, C5)
    p = muladd(p, y, C4)
    p = muladd(p, y, C3)
    p = muladd(p, y, C2)
    p = muladd(p, y, 1.0)
    p = muladd(p, y, 1.0)
    return _from_bits(_bits(p) + (_bits(shifted) << 52))
