"""The arithmetic of the sequential t-test (K14 Alg. 1, Eqns 4 and 5), which every implementation of it shares.

threshold
    v = log u, or logit u by Barker's rule: what the sum of the lᵢ must exceed.
standard_error
    Of the mean of a sample without replacement (Eqn 4).
student_bounds
    Bounds of the t statistic at each look (Eqn 5).
verdict
    One look: accept, reject, or read more.

The loop over looks exists in three copies, because the lᵢ come from different places: `samplers.decide.sequential` asks
any model, in Python; `samplers.compiled.decisions` reads built-in models and Gibbs updates, compiled;
`designer.check._t_test_kernels` draws from an array, many tests in one call. The first two make the same decisions draw
for draw (`tests/samplers/compiled`); the third decides as the first when it reads the same data
(`tests/samplers/decide/test_sequential.py`).
"""

from __future__ import annotations

import math

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.jit import inlined, kernel

BELOW_ONE = 1.0 - 2.0**-53  # the largest u whose logit is finite


@kernel
def threshold(u: float, barker: bool) -> float:
    """v = log u, or logit u if `barker`, for u in (0, 1] (K14 Eqn 2; Eqns 40 and 41, where the logit is misprinted)."""
    if barker:
        return math.log(u) - math.log1p(-min(u, BELOW_ONE))
    return math.log(u)


@kernel
def fill_thresholds(u: Floats, barker: bool, out: Floats) -> None:
    """`threshold` of many u."""
    for i in range(u.size):
        out[i] = threshold(u[i], barker)


@inlined
def standard_error(total: float, squares: float, n: int, n_data: int) -> float:
    """Of the mean of n values drawn without replacement, from their sum and sum of squares (K14 Eqn 4)."""
    variance = max(0.0, squares - total * total / n) / (n - 1)
    return math.sqrt(variance / n * (1.0 - (n - 1.0) / (n_data - 1.0)))


@kernel
def verdict(total: float, squares: float, n: int, n_data: int, offset: float, lower: float, upper: float) -> int:
    """One interim look (K14 Alg. 1): 1 to accept, -1 to reject, 0 to read more.

    total and squares are sums of lᵢ - shift and its square over n data, offset = shift - μ₀; lower and upper are
    Student bounds. A sample without spread is decided by its mean, unless the mean is μ₀ or the bound is infinite
    (∞ · 0 is NaN).
    """
    s = standard_error(total, squares, n, n_data)
    distance = total / n + offset
    if distance > upper * s:
        return 1
    if distance < lower * s:
        return -1
    return 0


def student_bounds(bounds: Floats, n: Ints) -> Floats:
    """Student quantiles with the same tail probability as the normal `bounds`, for samples of size n (K14 Eqn 5)."""
    from scipy.special import ndtr, stdtrit  # here, so that importing the engine stays quick

    tail = ndtr(-np.abs(bounds))
    with np.errstate(invalid="ignore"):
        quantile = np.abs(stdtrit(n - 1.0, tail))
    # too far out for the quantile to be computed: no statistic gets there
    quantile = np.where((tail > 0) & np.isfinite(quantile), quantile, np.inf)
    return np.where(bounds == 0, 0.0, np.sign(bounds) * quantile)
