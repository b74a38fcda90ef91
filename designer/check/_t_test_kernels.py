"""The jitted functions of the real test: samples without replacement, Student statistics."""

from __future__ import annotations

import math

from designer.core.jit import inlined, kernel


@inlined
def pick(rng, order, k):
    """Step k of a partial Fisher-Yates shuffle: the next item without replacement."""
    place = k + int(rng.random() * (order.size - k))
    drawn = order[place]
    order[place] = order[k]
    order[k] = drawn
    return drawn


@inlined
def standard_error(total, squares, n, n_data):
    """Of the mean of n values drawn without replacement, from their sum and sum of squares (K14 Eqn 4)."""
    variance = max(0.0, squares - total * total / n) / (n - 1)
    return math.sqrt(variance / n * (1.0 - (n - 1.0) / (n_data - 1.0)))


@kernel
def t_tests(rng, population, mean, looks, lower, upper, thresholds, order, accepted, used):
    """One sequential t-test on `population` for each threshold mu_0 (K14 Alg. 1); mean is the population's.

    Draws without replacement by partial Fisher-Yates on the persistent permutation `order`. lower and upper are Student
    bounds at the interim looks. A sample without spread decides by its mean, as does the whole population.
    """
    n_data, interim = population.size, looks.size - 1
    for i in range(thresholds.size):
        n, total, squares = 0, 0.0, 0.0
        accepted[i], used[i] = mean > thresholds[i], n_data
        for j in range(interim):
            while n < looks[j]:
                x = population[pick(rng, order, n)] - mean  # centred, so that the squares do not cancel
                total += x
                squares += x * x
                n += 1
            s = standard_error(total, squares, n, n_data)
            distance = total / n + (mean - thresholds[i])
            if distance > upper[j] * s:
                accepted[i], used[i] = True, n
                break
            if distance < lower[j] * s:
                accepted[i], used[i] = False, n
                break


@kernel
def t_statistics(rng, population, mean, n, order, out):
    """The t statistic of samples of size n without replacement, at mu_0 = mean (K14 Eqns 4 and 5)."""
    n_data = population.size
    for i in range(out.size):
        total, squares = 0.0, 0.0
        for k in range(n):
            x = population[pick(rng, order, k)] - mean
            total += x
            squares += x * x
        s = standard_error(total, squares, n, n_data)
        out[i] = total / n / s if s > 0.0 else 0.0
