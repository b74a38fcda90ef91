"""What a user might write instead: one compiled recursion per standardised mean, as accurate, or SciPy's cdf."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]


@njit(cache=True, error_model="numpy")
def _recursion(t: Floats, g: float, mu: float, x: Floats, w: Floats) -> tuple[float, Floats]:
    """Error and survival per look of the walk with drift μ, Gauss-Legendre on [-g, g] at each look, without banding."""
    n, looks = x.size, t.size
    h, new, survival = np.empty(n), np.empty(n), np.empty(looks)
    error = 0.0
    for j in range(looks):
        root = math.sqrt(t[j])
        if j == 0:
            error += 0.5 * math.erfc((g + mu * root) * math.sqrt(0.5))
            for k in range(n):
                new[k] = g * w[k] * math.exp(-0.5 * (g * x[k] - mu * root) ** 2) / math.sqrt(2.0 * math.pi)
        else:
            before, sd = math.sqrt(t[j - 1]), math.sqrt(t[j] - t[j - 1])
            for i in range(n):
                error += h[i] * 0.5 * math.erfc((g * root + g * x[i] * before + mu * sd * sd) / sd * math.sqrt(0.5))
            for k in range(n):
                total = 0.0
                for i in range(n):
                    step = (g * x[k] * root - g * x[i] * before - mu * sd * sd) / sd
                    total += h[i] * math.exp(-0.5 * step * step)
                new[k] = g * w[k] * root * total / (sd * math.sqrt(2.0 * math.pi))
        survival[j] = new.sum()
        h, new = new, h
    return error, survival


def characteristics_one_by_one(n_data: int, m: int, g: float, mu_std: Floats) -> tuple[Floats, Floats]:
    """Error and usage for equal batches and constant bounds, one recursion per μ_std."""
    n = np.arange(m, n_data, m)
    t = n / (n_data - n)
    narrowest = float(np.sqrt(1.0 - t[:-1] / t[1:]).min())
    x, w = np.polynomial.legendre.leggauss(2 * math.ceil(1.9 * g / narrowest + 4.0))
    gaps = np.diff(np.append(n, n_data)) / n_data
    results = [_recursion(t, g, float(mu), x, w) for mu in mu_std]
    return np.array([e for e, _ in results]), np.array([m / n_data + gaps @ s for _, s in results])


def characteristics_by_cdf(
    n_data: int, m: int, g: float, mu_std: Floats, abseps: float = 1e-5, seed: int = 0
) -> tuple[Floats, Floats]:
    """Error and usage for equal batches and constant bounds by SciPy's multivariate normal cdf (quasi Monte Carlo).

    The first k statistics are normal with means μ sqrt(t_j) and correlations sqrt(t_i / t_j), i < j (K14 Eqns 9-11):
    P(wrong exit at look k) and P(no exit by look k) are integrals over boxes, two for each look and mean.
    """
    from scipy.stats import multivariate_normal

    n = np.arange(m, n_data, m)
    t = n / (n_data - n)
    correlation = np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t))
    gaps = np.diff(np.append(n, n_data)) / n_data
    rng = np.random.default_rng(seed)
    error, usage = np.zeros(len(mu_std)), np.full(len(mu_std), m / n_data)
    for i, mu in enumerate(mu_std):
        for k in range(1, t.size + 1):
            law = {"mean": mu * np.sqrt(t[:k]), "cov": correlation[:k, :k], "abseps": abseps, "rng": rng}
            low, high = np.full(k, -g), np.full(k, g)
            usage[i] += gaps[k - 1] * multivariate_normal.cdf(high, lower_limit=low, **law)
            low[-1], high[-1] = -np.inf, -g
            error[i] += multivariate_normal.cdf(high, lower_limit=low, **law)
    return error, usage
