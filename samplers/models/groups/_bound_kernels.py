"""The reach of two states of a model with group effects: the largest over groups.

A row of group g sees only the root and the effects of g. In whitened coordinates (`ArrowFactor.whiten`) these are the
root's part and that of g, whatever the other groups do: their marginal precision has the factor [[L_g, 0], [W_g', T]].
So a row's residual is at most c_i times the reach of these few coordinates, and M is the largest of them.
"""

from __future__ import annotations

import math

from designer.core.arrays import Floats
from designer.core.jit import kernel
from samplers.models.control._bound_kernels import cubic_reach, quadratic_reach

SIMPLE = 1.01  # times the simple bound is above what `cubic_reach` returns


@kernel
def grouped_reach(one: Floats, other: Floats, root: int, width: int, radius: float, order: int) -> float:
    """M(θ, θ') of two whitened states: infinite if one is outside the ball of some group. Symmetric to the last bit."""
    a0 = b0 = gap0 = e0 = 0.0
    for i in range(root):
        a0 += one[i] * one[i]
        b0 += other[i] * other[i]
        gap0 += (other[i] - one[i]) * (other[i] + one[i])
        e0 += (other[i] - one[i]) * (other[i] - one[i])
    largest = 0.0
    for first in range(root, one.size, width):
        a, b, gap, e = a0, b0, gap0, e0
        for i in range(first, first + width):
            a += one[i] * one[i]
            b += other[i] * other[i]
            gap += (other[i] - one[i]) * (other[i] + one[i])
            e += (other[i] - one[i]) * (other[i] - one[i])
        if not max(a, b) <= radius * radius:
            return math.inf
        if e == 0.0:
            continue
        if order == 1:
            largest = max(largest, quadratic_reach(a + b, abs(gap), e))
        elif SIMPLE * min(0.5 * max(a, b) * math.sqrt(e), (a * math.sqrt(a) + b * math.sqrt(b)) / 6.0) > largest:
            largest = max(largest, cubic_reach(max(a, b), abs(gap), e))
    return largest
