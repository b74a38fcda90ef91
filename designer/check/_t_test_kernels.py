"""Compiled kernels of the simulation: sequential t-tests and t statistics on samples from an array."""

from __future__ import annotations

from designer.core.jit import inlined, kernel
from designer.rule.t_test import standard_error, verdict


@inlined
def pick(rng, order, k):
    """Step k of a partial Fisher-Yates shuffle: the next item without replacement."""
    place = k + int(rng.random() * (order.size - k))
    drawn = order[place]
    order[place] = order[k]
    order[k] = drawn
    return drawn


@kernel
def t_tests(rng, population, mean, looks, lower, upper, thresholds, order, accepted, used):
    """One sequential t-test on `population` for each threshold μ₀ (K14 Alg. 1); `mean` is the population's.

    lower and upper are Student bounds at the interim looks; without a verdict there the population's mean decides.
    Draws by a partial Fisher-Yates shuffle of `order`, which persists from test to test: cheaper than the samples of
    `samplers.decide`, which must depend on the random numbers alone. `designer.rule.t_test` lists the test's twins.
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
            decision = verdict(total, squares, n, n_data, mean - thresholds[i], lower[j], upper[j])
            if decision != 0:
                accepted[i], used[i] = decision > 0, n
                break


@kernel
def t_statistics(rng, population, mean, n, order, out):
    """The t statistic of samples of size n without replacement, at μ₀ = mean (K14 Eqns 4 and 5)."""
    n_data = population.size
    for i in range(out.size):
        total, squares = 0.0, 0.0
        for k in range(n):
            x = population[pick(rng, order, k)] - mean
            total += x
            squares += x * x
        s = standard_error(total, squares, n, n_data)
        out[i] = total / n / s if s > 0.0 else 0.0
