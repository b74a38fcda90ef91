"""Compiled paths of a test through random orders of the lᵢ of one pair, with u integrated out."""

from __future__ import annotations

import math

import numpy as np

from designer.core.jit import inlined, kernel
from designer.rule.levels import levels, narrowed, probability_below

NEGLIGIBLE = 1e-9  # probability of the thresholds that are still undecided when a path ends early


@inlined
def next_value(rng, values, k):
    """Item k of a random order, by a partial Fisher-Yates shuffle of the values themselves, which persists."""
    place = k + int(rng.random() * (values.size - k))
    drawn = values[place]
    values[place] = values[k]
    values[k] = drawn
    return drawn


@kernel
def fresh_path():
    """Where a path begins: looks taken, ends of the undecided v and their probability, sums, expected data read."""
    return np.array([0.0, -math.inf, math.inf, 1.0, 0.0, 0.0, 0.0])


@kernel
def sequential_paths(rng, values, mean, log_ratio, barker, looks, lower, upper, first, path, probability, used):
    """Acceptance probability and expected data read of the sequential test, for one random order after the other.

    `values` are the lᵢ minus `mean`. Begins with number `first`, where `path` left it. Returns the number of the path
    that needs more looks than given, or how many there are. The same path then goes on: with a new order in its place,
    long paths would be too few.
    """
    n_data = values.size
    exact = n_data * mean - log_ratio
    for r in range(first, probability.size):
        done, low, high, undecided = int(path[0]), path[1], path[2], path[3]
        total, squares, read = path[4], path[5], path[6]
        n = looks[done - 1] if done > 0 else 0
        for j in range(done, looks.size):
            read += (looks[j] - n) * undecided
            if looks[j] == n_data:  # the last look is exact
                undecided = 0.0
                break
            while n < looks[j]:
                x = next_value(rng, values, n)
                total += x
                squares += x * x
                n += 1
            below, above = levels(total, squares, n, n_data, mean, log_ratio, lower[j], upper[j])
            low, high = narrowed(low, high, below, above)
            undecided = probability_below(high, barker) - probability_below(low, barker)
            if undecided <= NEGLIGIBLE:
                break
        if undecided > NEGLIGIBLE:
            path[:] = np.array([looks.size, low, high, undecided, total, squares, read])
            return r
        path[:] = fresh_path()
        probability[r] = probability_below(min(max(exact, low), high), barker)
        used[r] = read
    return probability.size


@kernel
def barker_paths(rng, values, mean, log_ratio, m, sigma, estimate, variance, used):
    """Δ*, its variance and the data read by the Barker mini-batch test, for one random order after the other."""
    n_data = values.size
    for r in range(used.size):
        n, total, squares, s2 = 0, 0.0, 0.0, math.inf
        while n < n_data and not s2 < sigma**2:
            goal = min(n + m, n_data)
            while n < goal:
                x = next_value(rng, values, n)
                total += x
                squares += x * x
                n += 1
            spread = max(0.0, squares / n - (total / n) * (total / n)) * n / (n - 1)
            s2 = float(n_data) ** 2 * spread / n * (1.0 - n / n_data)
        estimate[r], variance[r], used[r] = n_data * (total / n + mean) - log_ratio, s2, n
