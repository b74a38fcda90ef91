"""Compiled kernels shared by the tests: running sums of what has been read."""

from __future__ import annotations

import math

from designer.core.jit import kernel


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
