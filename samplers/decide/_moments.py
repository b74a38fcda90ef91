"""Jitted functions shared by the samplers: the running statistics of a test, and one look of the sequential one."""

from __future__ import annotations

import math

from designer.core.jit import kernel


@kernel
def add_shifted(values, shift, total, squares):
    """Add values - shift to a running sum and sum of squares; a shift like the values keeps these from cancelling."""
    for i in range(values.size):
        x = values[i] - shift
        total += x
        squares += x * x
    return total, squares


@kernel
def decide(total, squares, n, n_data, offset, lower, upper):
    """One look of the sequential test (K14 Alg. 1): +1 accept, -1 reject, 0 go on.

    total and squares are those of l_i - shift over n data, offset = shift - mu_0, lower and upper Student bounds. A
    sample without spread decides by its mean, unless that is mu_0 or the bound infinite (inf * 0 is nan).
    """
    variance = max(0.0, squares - total * total / n) / (n - 1)
    s = math.sqrt(variance / n * (1.0 - (n - 1.0) / (n_data - 1.0)))  # K14 Eqn 4
    distance = total / n + offset
    if distance > upper * s:
        return 1
    if distance < lower * s:
        return -1
    return 0


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
