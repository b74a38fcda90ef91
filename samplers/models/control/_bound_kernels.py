"""Whitened distances of two states from the centre of control variates, and the bound M that they give.

A whitened row u (|u| = h_i) and whitened states z, z' have predictors s = u . z and s' = u . z', counted from the value
at the centre. The residual's derivative in the predictor is at most K_i |s|^k / k! for control variates of order k, so
the residual of a pair is at most K_i times the integral of |s|^k / k! from s to s'. M is the largest such integral over
unit vectors u, which may be taken in the plane of z and z'. No row points at both states, unless they lie one way.
"""

from __future__ import annotations

import math

import numpy as np

from designer.core.arrays import Floats
from designer.core.jit import kernel, kernel_with

DIRECTIONS = 64  # of half the plane, at which the cubic is evaluated
COS, SIN = (f(np.pi / DIRECTIONS * np.arange(DIRECTIONS)) for f in (np.cos, np.sin))
# a trigonometric polynomial f of degree 3 has |f''| <= 9 max |f| (Bernstein); its maximum is at most half a step away
BETWEEN = 1.0 / (1.0 - 9.0 / 8.0 * (math.pi / DIRECTIONS) ** 2)


@kernel_with(fastmath={"reassoc", "contract"})
def whiten(whitening: Floats, centre: Floats, theta: Floats, away: Floats, out: Floats) -> None:
    """out = L⁻¹(θ - centre), with L⁻¹ lower triangular; `away` is workspace."""
    for i in range(theta.size):
        away[i] = theta[i] - centre[i]
    for i in range(theta.size):
        total = 0.0
        for j in range(i + 1):
            total += whitening[i, j] * away[j]
        out[i] = total


@kernel
def reach(one: Floats, other: Floats, radius: float, order: int) -> float:
    """M(θ, θ') of two whitened states: infinite outside the ball.

    Symmetric to the last bit: it uses only the larger length, the difference of the squared lengths, and the distance.
    """
    a = b = gap = e = 0.0
    for i in range(one.size):
        a += one[i] * one[i]
        b += other[i] * other[i]
        gap += (other[i] - one[i]) * (other[i] + one[i])
        e += (other[i] - one[i]) * (other[i] - one[i])
    if not max(a, b) <= radius * radius:
        return math.inf
    if e == 0.0:
        return 0.0
    m: float = cubic_reach(max(a, b), abs(gap), e) if order == 2 else quadratic_reach(a + b, abs(gap), e)
    return m


@kernel
def cubic_reach(longer: float, gap: float, e: float) -> float:
    """The largest |s'³ - s³| / 6, from squared lengths: the longer one, the difference, and the distance's.

    With d = s' - s it is |d (3 s² + 3 s d + d²)| / 6, where nothing cancels.
    """
    length = math.sqrt(longer)
    along = -0.5 * (gap + e) / length  # of the step from the longer state to the other
    across = math.sqrt(max(0.0, e - along * along))
    largest = 0.0
    for k in range(DIRECTIONS):
        s = length * COS[k]
        d = along * COS[k] + across * SIN[k]
        largest = max(largest, abs(d * (3.0 * s * s + 3.0 * s * d + d * d)))
    return BETWEEN * largest / 6.0


@kernel
def quadratic_reach(squares: float, gap: float, e: float) -> float:
    """At least the largest integral of |s| from s to s', from the sum of squared lengths, their difference, and e².

    Where s and s' have the same sign it is |s' - s| |s' + s| / 2, at most (e |z + z'| + gap) / 4. Otherwise it is
    (s² + s'²) / 2, where s² + s'² is at most (s' - s)² <= e², and at most the larger eigenvalue of z z' + its like.
    """
    same = 0.25 * (math.sqrt(e * max(0.0, 2.0 * squares - e)) + gap)
    inner = 0.5 * (squares - e)
    eigenvalue = 0.5 * squares + math.sqrt(0.25 * gap * gap + inner * inner)
    return max(same, 0.5 * min(e, eigenvalue))
