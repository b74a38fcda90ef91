"""A family of your own: log p as a function of η and y, compiled by numba, and fused like those that are built in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.core.jit import JIT
from samplers.models.families.kernels import Kernels

STEP = 0.02  # of the differences; their error is of order STEP⁶ in derivatives of log p
TRIED = np.linspace(-2.0, 2.0, 9)  # η at which a family is tried
ROWS = 200  # with so many y
ACCURACY = 1e-5  # of derivatives by differences, relative to the largest


@dataclass(frozen=True, eq=False)
class OwnFamily:
    """A family of your own: functions of (η, y), of numbers, that numba can compile.

    Control variates need the first two derivatives of log p in η. Those that are not given come from differences of
    order 6 with step 0.02, checked on the data against half the step. Their small error costs a little efficiency: the
    proxies are then of slightly other parabolas, and what they miss is still known exactly, but not within bounds.

    Parameters
    ----------
    value
        log p, up to a term without η; finite for every η.
    slope, curvature
        Its first and second derivative in η; None: by differences.
    second_bound, third_bound
        Functions of (low, high, y): the largest |second| and |third derivative| for η in [low, high]. The exact
        mini-batch test needs them, with `slope` and `curvature`; no other part does.
    name
        For messages.

    Examples
    --------
    >>> import math
    >>> from samplers import GLM, OwnFamily, find_mode
    >>> def value(eta, y):  # Laplace-like errors with a round top
    ...     return -math.log(math.cosh(y - eta))
    >>> family = OwnFamily(value, name="log cosh")
    >>> model = GLM.from_data(np.ones((3, 1)), [1.0, 2.0, 6.0], family)
    >>> find_mode(model).round(1)
    array([2.2])
    """

    value: Callable[[float, float], float]
    slope: Callable[[float, float], float] | None = None
    curvature: Callable[[float, float], float] | None = None
    second_bound: Callable[[float, float, float], float] | None = None
    third_bound: Callable[[float, float, float], float] | None = None
    name: str = "own"

    @property
    def shape(self) -> tuple[float, ...]:
        """No shape numbers: the functions hold their own."""
        return ()

    @property
    def bounded(self) -> bool:
        """Whether it bounds its derivatives."""
        given = self.slope, self.curvature, self.second_bound, self.third_bound
        return all(function is not None for function in given)

    @cached_property
    def kernels(self) -> Kernels:
        """Its loops over rows, compiled once per process."""
        value = _compiled(self.value)
        slope = _differences(value, 1) if self.slope is None else _compiled(self.slope)
        curvature = _differences(value, 2) if self.curvature is None else _compiled(self.curvature)
        return _loops(value, slope, curvature, *map(_compiled, self._bounds()))

    def _bounds(self) -> tuple[Any, Any]:
        return (self.second_bound, self.third_bound) if self.bounded else (_no_bound, _no_bound)

    def check(self, y: Floats) -> None:
        """Try it on some y, or BadInput: it must compile, be finite, and have derivatives."""
        some = np.ascontiguousarray(y[:: max(1, y.size // ROWS)])
        eta, ones = np.repeat(TRIED[:, None], some.size, axis=1), np.ones(some.size)
        found = []
        try:
            for order in range(3):
                found.append(np.empty(eta.shape))
                self.kernels.each(np.empty(0), order, eta, some, ones, ones, found[-1])
        except NumbaError as error:
            raise BadInput(f"family {self.name}: numba cannot compile it: {str(error).splitlines()[0]}") from None
        for order, values in enumerate(found):
            if not np.all(np.isfinite(values)):
                s, k = np.argwhere(~np.isfinite(values))[0]
                what = ("value", "slope", "curvature")[order]
                raise BadInput(
                    f"family {self.name}: its {what} is {values[s, k]} at eta = {TRIED[s]:g}, y = {some[k]:g}: must "
                    "be finite"
                )
        for order in (1, 2):
            exact = np.empty(eta.shape)
            self.kernels.each(np.empty(0), -order, eta, some, ones, ones, exact)
            worst = float(np.abs(exact - found[order]).max() / max(1e-8, np.abs(found[order]).max()))
            if worst > ACCURACY:
                what = ("slope", "curvature")[order - 1]
                advice = "give slope and curvature" if getattr(self, what) is None else "check it"
                raise BadInput(
                    f"family {self.name}: its {what} and differences of log p disagree by {worst:.1g}; {advice}"
                )


def _compiled(function: Any) -> Any:
    return function if isinstance(function, Dispatcher) else njit(**JIT)(function)


def _no_bound(low: float, high: float, y: float) -> float:
    return np.inf


def _differences(value: Any, order: int, step: float = STEP) -> Any:
    """A derivative by central differences of order 6."""
    if order == 1:

        def slope(eta, y):
            one = value(eta + step, y) - value(eta - step, y)
            two = value(eta + 2.0 * step, y) - value(eta - 2.0 * step, y)
            three = value(eta + 3.0 * step, y) - value(eta - 3.0 * step, y)
            return (45.0 * one - 9.0 * two + three) / (60.0 * step)

        return njit(**JIT)(slope)

    def curvature(eta, y):
        one = value(eta + step, y) + value(eta - step, y)
        two = value(eta + 2.0 * step, y) + value(eta - 2.0 * step, y)
        three = value(eta + 3.0 * step, y) + value(eta - 3.0 * step, y)
        return (270.0 * one - 27.0 * two + 2.0 * three - 490.0 * value(eta, y)) / (180.0 * step * step)

    return njit(**JIT)(curvature)


def _loops(value: Any, slope: Any, curvature: Any, second_bound: Any, third_bound: Any) -> Kernels:
    """The loops of `samplers.models.families.kernels` around these functions; `extra` is not used."""
    finer_slope, finer_curvature = _differences(value, 1, 0.5 * STEP), _differences(value, 2, 0.5 * STEP)

    def changes(shape, old, new, y, extra, weight, scale, proxy, out):
        for k in range(out.size):
            out[k] = scale * weight[k] * (value(new[k], y[k]) - value(old[k], y[k])) - proxy[k]

    def values(shape, eta, y, extra, weight, out):
        for k in range(out.size):
            out[k] = weight[k] * value(eta[k], y[k])

    def expansions(shape, old, new, centre, y, extra, weight, scale, second):
        for k in range(old.size):
            bend = second * curvature(centre[k], y[k]) * (new[k] + old[k] - 2.0 * centre[k])
            centre[k] = scale * weight[k] * (new[k] - old[k]) * (slope(centre[k], y[k]) + 0.5 * bend)

    def each(shape, order, eta, y, extra, weight, out):
        """Negative orders: by differences with half the step."""
        for s in range(eta.shape[0]):
            for k in range(eta.shape[1]):
                if order == 0:
                    out[s, k] = weight[k] * value(eta[s, k], y[k])
                elif order == 1:
                    out[s, k] = weight[k] * slope(eta[s, k], y[k])
                elif order == 2:
                    out[s, k] = weight[k] * curvature(eta[s, k], y[k])
                elif order == -1:
                    out[s, k] = weight[k] * finer_slope(eta[s, k], y[k])
                else:
                    out[s, k] = weight[k] * finer_curvature(eta[s, k], y[k])

    def bounds(shape, order, low, high, y, extra, weight, out):
        for k in range(out.size):
            if order == 2:
                out[k] = weight[k] * second_bound(low[k], high[k], y[k])
            else:
                out[k] = weight[k] * third_bound(low[k], high[k], y[k])

    made = [njit(**JIT)(loop) for loop in (changes, values, expansions, each, bounds)]
    return Kernels(made[0], made[1], made[2], made[3], made[4])
