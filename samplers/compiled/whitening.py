"""Whitened states of the exact mini-batch test and how far apart they are, by the type of what whitens them."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from samplers.compiled.arrow import ArrowWhitening, whiten_arrow
from samplers.decide._permutation import is_a
from samplers.models.control._bound_kernels import reach, whiten
from samplers.models.groups._bound_kernels import grouped_reach


def to_white(whitening: Any, centre: Any, theta: Any, room: Any, out: Any) -> Any: ...
def reach_between(whitening: Any, one: Any, other: Any, radius: Any, order: Any) -> Any: ...


@overload(to_white)
def _to_white(whitening, centre, theta, room, out):
    if is_a(ArrowWhitening, whitening):
        return lambda whitening, centre, theta, room, out: whiten_arrow(
            whitening.leaves, whitening.wide, whitening.root, centre, theta, out
        )
    return lambda whitening, centre, theta, room, out: whiten(whitening, centre, theta, room, out)


@overload(reach_between)
def _reach_between(whitening, one, other, radius, order):
    if is_a(ArrowWhitening, whitening):
        return lambda whitening, one, other, radius, order: grouped_reach(
            one, other, whitening.root.shape[0], whitening.leaves.shape[1], radius, order
        )
    return lambda whitening, one, other, radius, order: reach(one, other, radius, order)
