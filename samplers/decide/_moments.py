"""Compiled kernels shared by the tests: running sums of what has been read."""

from __future__ import annotations

import math

from designer.core.jit import kernel

LEAST_BOUND = 8.4  # S17 Eqn 18 times √b is smallest where all |x - mean| are equal


@kernel
def add_shifted(values, shift, total, squares):
    """Add values - shift to a running sum and sum of squares; a shift close to the values avoids cancellation."""
    for i in range(values.size):
        x = values[i] - shift
        total += x
        squares += x * x
    return total, squares


@kernel
def add_cubes(values, shift, total, squares, cubes):
    """`add_shifted` with a sum of cubes."""
    for i in range(values.size):
        x = values[i] - shift
        total += x
        squares += x * x
        cubes += x * x * x
    return total, squares, cubes


@kernel
def central(total, squares, cubes, n):
    """Mean, variance (divisor n - 1) and skewness (0 without spread) from the running sums of n values."""
    mean = total / n
    second = max(0.0, squares / n - mean * mean)
    third = cubes / n - 3.0 * mean * squares / n + 2.0 * mean * mean * mean
    skewness = third / (second * math.sqrt(second)) if second > 0.0 else 0.0
    return mean, second * n / (n - 1), skewness


@kernel
def from_normal(ones, cubes, n, second):
    """(6.4 E|X|³ + 2 E|X|) / √n for n standardised values, from sums of |x - mean| and its cube (S17 Eqn 18)."""
    scale = math.sqrt(second)
    return (6.4 * cubes / (n * second * scale) + 2.0 * ones / (n * scale)) / math.sqrt(n)


@kernel
def near_normal(values, mean, second, delta, seen):
    """Whether S17 Eqn 18 is at most δ for values with this mean and mean square about it.

    `seen` keeps, from one look to the next: a centre c, the number of values counted, the sums of |x - c| and |x - c|³.
    When the mean moves by d, Minkowski's inequality encloses the sums about it; only if that leaves it open are all
    values counted again, so that a look costs as much as its new values. Start with `seen` at zero.
    """
    n = values.size
    if second == 0.0:
        return True
    if n * delta * delta < LEAST_BOUND * LEAST_BOUND:
        return False
    if seen[1] == 0.0:
        seen[0] = mean
    for _ in range(2):
        for i in range(int(seen[1]), n):
            x = abs(values[i] - seen[0])
            seen[2] += x
            seen[3] += x * x * x
        seen[1] = n
        moved = abs(mean - seen[0])
        root, away = seen[3] ** (1.0 / 3.0), n ** (1.0 / 3.0) * moved
        if from_normal(max(0.0, seen[2] - n * moved), max(0.0, root - away) ** 3, n, second) > delta:
            return False
        if from_normal(seen[2] + n * moved, (root + away) ** 3, n, second) <= delta:
            return True
        seen[0], seen[1], seen[2], seen[3] = mean, 0.0, 0.0, 0.0
    return False
