"""Error and data use of tests with few looks in 50-digit arithmetic, to check the engine's estimate."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np

from designer.rule.design import Design
from designer.rule.plan import as_plan

DIGITS = 50
MOST_LOOKS = 5
ORDER = 24  # nodes of a panel as wide as the kernel: 24 nodes integrate a Gaussian of that width to 1e-35
BEYOND = 16  # standard deviations beyond which a density is negligible: 1e-57


def few_looks(rng: np.random.Generator) -> tuple[Design, float]:
    """A design of 2 to 5 looks, and a drift that it does not decide immediately."""
    n_data = round(10.0 ** rng.uniform(1.0, 12.0))
    looks = int(rng.integers(2, MOST_LOOKS + 1))
    growth = 1.0 if rng.random() < 0.5 else rng.uniform(1.2, 3.0)
    share = 1.0 / looks if growth == 1.0 else growth ** (1.0 - looks)
    m = min(max(math.ceil(share * n_data), 2), n_data - 1)
    epsilon = 0.5 * 10.0 ** -rng.uniform(0.0, 12.0)
    alpha = float(rng.choice([0.5, 1.0, rng.uniform(0.5, 1.0)]))
    return Design(n_data, m, epsilon, alpha, growth), float(rng.uniform(0.0, 6.0))


@lru_cache(maxsize=1)
def _rule() -> list[tuple[Any, Any]]:
    """Gauss-Legendre rule on [-1, 1] to full precision, by Newton's method from numpy's nodes."""
    rule = []
    for start in np.polynomial.legendre.leggauss(ORDER)[0]:
        x = mpmath.findroot(lambda z: mpmath.legendre(ORDER, z), mpmath.mpf(float(start)))
        slope = ORDER * (x * mpmath.legendre(ORDER, x) - mpmath.legendre(ORDER - 1, x)) / (x * x - 1)
        rule.append((x, 2 / ((1 - x * x) * slope * slope)))
    return rule


def exact_curves(design: Design, mu_std: float) -> tuple[float, float]:
    """Error and expected data fraction at μ_std >= 0 (K14 Eqns 9-11, 18, 19), as densities carried from look to look.

    In x = z sqrt(t) the noise is Brownian motion: steps are normal with mean μ dt and variance dt.
    """
    with mpmath.workdps(DIGITS):
        schedule, boundary = as_plan(design).schedule, as_plan(design).boundary
        n = [int(k) for k in schedule.n[:-1]]
        upper = boundary.at(np.arange(len(n)), np.array(n) / design.n_data)[1]
        t = [mpmath.mpf(k) / (design.n_data - k) for k in n]
        mu, below, decided = mpmath.mpf(mu_std), mpmath.mpf(0), []
        x, mass, before = [mpmath.mpf(0)], [mpmath.mpf(1)], mpmath.mpf(0)
        for j, now in enumerate(t):
            bound, sd = mpmath.mpf(float(upper[j])) * mpmath.sqrt(now), mpmath.sqrt(now - before)
            mean = [y + mu * (now - before) for y in x]
            low = mpmath.fsum(p * mpmath.ncdf((-bound - c) / sd) for p, c in zip(mass, mean, strict=True))
            high = mpmath.fsum(p * mpmath.ncdf((c - bound) / sd) for p, c in zip(mass, mean, strict=True))
            below, decided = below + low, [*decided, low + high]
            if j + 1 < len(t):
                after = mpmath.sqrt(t[j + 1] - now)
                x, weight = _nodes(
                    max(-bound, mean[0] - BEYOND * sd), min(bound, mean[-1] + BEYOND * sd), min(sd, after)
                )
                mass = [
                    w * mpmath.fsum(p * mpmath.npdf(y, c, sd) for p, c in zip(mass, mean, strict=True))
                    for y, w in zip(x, weight, strict=True)
                ]
            before = now
        spent = mpmath.fsum(p * k for p, k in zip(decided, n, strict=True)) / design.n_data
        return float(below), float(spent + 1 - mpmath.fsum(decided))


def _nodes(low: Any, high: Any, width: Any) -> tuple[list[Any], list[Any]]:
    """Nodes and weights on [low, high], in panels of at most two widths."""
    panels = max(1, int(mpmath.ceil((high - low) / (2 * width))))
    radius = (high - low) / (2 * panels)
    middles = [low + (2 * k + 1) * radius for k in range(panels)]
    return (
        [middle + radius * x for middle in middles for x, _ in _rule()],
        [radius * w for _ in middles for _, w in _rule()],
    )
