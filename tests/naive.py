"""Slow, readable oracles: the papers' equations as printed, with the misprints listed in docs/equations.md corrected.

Nothing here comes from the engine: one recursion per mu_std, forward in j, in the variable z, with normal CDFs for the
exits. K14 is Korattikara, Chen and Welling 2014, the equation numbers are those of its supplement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import mpmath
import numpy as np
from scipy.special import expit, ndtr, ndtri

ROUND = 1e-9  # 1.1 * 100 is 110, not the 111 that floating point rounds it up to


# --- the test -------------------------------------------------------------------------------------------------------


def looks(n_data: int, m: int, growth: float = 1.0) -> list[int]:
    """Batches of m data, or each look `growth` times the one before; the last look is at all the data."""
    n = [m]
    while n[-1] < n_data:
        n.append(min(n_data, n[-1] + m if growth == 1 else math.ceil(growth * n[-1] - ROUND)))
    return n


def bounds(n: Sequence[int], epsilon: float, alpha: float) -> np.ndarray:
    """G_j = G_0 pi_j^(0.5 - alpha) at the interim looks, with G_0 = Phi^-1(1 - epsilon) (supplement D)."""
    pi = np.array(n[:-1]) / n[-1]
    return -ndtri(epsilon) * pi ** (0.5 - alpha)


# --- Eqns 9-11, 18 and 19 -------------------------------------------------------------------------------------------


gauss_legendre = cache(np.polynomial.legendre.leggauss)


def exits(n: Sequence[int], lower: Sequence[float], upper: Sequence[float], mu_std: float) -> np.ndarray:
    """P(z_j < lower_j) and P(z_j > upper_j) with no decision before, at each interim look j."""
    pi = np.array(n) / n[-1]
    out = np.zeros((2, len(n) - 1))
    z, mass = np.zeros(1), np.ones(1)  # z_0 = 0 for certain: Eqns 10 and 11 with pi_0 = 0 give the law of z_1
    before = 0.0
    for j, now in enumerate(pi[:-1]):
        mean = mu_std * (now - before) / (1 - before) / math.sqrt(now * (1 - now))  # Eqn 10
        mean = mean + z * math.sqrt(before / now * (1 - now) / (1 - before))
        sd = math.sqrt((now - before) / (now * (1 - before)))  # Eqn 11
        out[:, j] = mass @ ndtr((lower[j] - mean) / sd), mass @ ndtr((mean - upper[j]) / sd)

        path = mu_std * math.sqrt(now / (1 - now))  # the mean of z_j; its variance is 1
        a, b = max(lower[j], path - 9.5), min(upper[j], path + 9.5)
        if a >= b:
            break
        after = pi[j + 1] if j + 2 < len(pi) else now
        narrowest = min(sd, math.sqrt((after - now) / (after * (1 - now))) or sd)
        node, weight = gauss_legendre(40 + int(4 * (b - a) / narrowest))
        target = 0.5 * (a + b) + 0.5 * (b - a) * node
        density = np.exp(-0.5 * ((target[:, None] - mean) / sd) ** 2) / (sd * math.sqrt(2 * math.pi)) @ mass  # Eqn 9
        z, mass, before = target, 0.5 * (b - a) * weight * density, now
    return out


def characteristics(
    n: Sequence[int], lower: Sequence[float], upper: Sequence[float], mu_std: float
) -> tuple[float, float]:
    """Error (Eqn 18: a rejection if mu_std > 0, otherwise an acceptance) and expected data use (Eqn 19)."""
    below, above = exits(n, lower, upper, mu_std)
    pi = np.array(n) / n[-1]
    decided = below + above
    usage = pi[:-1] @ decided + (1 - decided.sum())
    return float(below.sum() if mu_std > 0 else above.sum()), float(usage)


def of_design(n_data: int, m: int, epsilon: float, alpha: float, growth: float, mu_std: float) -> tuple[float, float]:
    """Error and usage of a symmetric test in K14's parameters."""
    n = looks(n_data, m, growth)
    g = bounds(n, epsilon, alpha)
    return characteristics(n, -g, g, mu_std)


def in_50_digits(n: Sequence[int], lower: Sequence[float], upper: Sequence[float], mu_std: float) -> np.ndarray:
    """`exits` again, in 50-digit arithmetic with 48 nodes; for a few wide-apart looks."""
    with mpmath.workdps(50):
        rule = mpmath.calculus.quadrature.GaussLegendre(mpmath.mp).calc_nodes(5, mpmath.mp.prec)
        pi = [mpmath.mpf(k) / n[-1] for k in n]
        out = np.zeros((2, len(n) - 1))
        z, mass, before = [mpmath.mpf(0)], [mpmath.mpf(1)], mpmath.mpf(0)
        for j, now in enumerate(pi[:-1]):
            drift = mu_std * (now - before) / (1 - before) / mpmath.sqrt(now * (1 - now))
            slope, sd = (
                mpmath.sqrt(before / now * (1 - now) / (1 - before)),
                mpmath.sqrt((now - before) / now / (1 - before)),
            )
            mean = [drift + slope * y for y in z]
            out[0, j] = mpmath.fsum(p * mpmath.ncdf((lower[j] - m) / sd) for p, m in zip(mass, mean, strict=True))
            out[1, j] = mpmath.fsum(p * mpmath.ncdf((m - upper[j]) / sd) for p, m in zip(mass, mean, strict=True))
            mid, radius = (mpmath.mpf(upper[j]) + lower[j]) / 2, (mpmath.mpf(upper[j]) - lower[j]) / 2
            z = [mid + radius * x for x, _ in rule]
            mass = [
                radius * w * mpmath.fsum(p * mpmath.npdf(x, m, sd) for p, m in zip(mass, mean, strict=True))
                for x, (_, w) in zip(z, rule, strict=True)
            ]
            before = now
    return out


# --- Eqns 6, 21 and 40-42: one accept/reject step -------------------------------------------------------------------

Curve = Callable[[np.ndarray], np.ndarray]


def step(
    error: Curve, usage: Curve, log_acceptance: float, kappa: float, *, barker: bool = False
) -> tuple[float, float, float]:
    """P_a, Delta and E_u[usage] by quadrature over u, given the curves of mu_std(u) = (A - log u) / kappa.

    Delta = integral of E over u > P_a minus the one over u < P_a (Eqn 21). For Barker's rule log u becomes
    log[u / (1 - u)] (Eqns 40 and 41 print log u / log(1 - u)).
    """
    exact = float(expit(log_acceptance)) if barker else math.exp(min(log_acceptance, 0.0))
    # the curves are sharp in u near P_a, and near the ends: panels shrink towards them
    fine = 2.0 ** -np.arange(0.0, 71.0, 0.25)
    marks = np.concatenate([[0.0, 1.0, exact], fine, 1 - fine, exact * (1 - fine), exact + (1 - exact) * fine])
    edges = np.unique(marks.clip(0.0, 1.0))
    node, weight = gauss_legendre(16)
    radius = 0.5 * np.diff(edges)[:, None]
    u = (edges[:-1, None] + radius * (1 + node)).ravel()
    du = (radius * weight).ravel()
    inside = (u > 0) & (u < 1)
    u, du = u[inside], du[inside]
    v = np.log(u) - np.log1p(-u) if barker else np.log(u)
    mu_std = (log_acceptance - v) / kappa
    wrong = error(mu_std)
    return exact, float(du @ np.where(u > exact, wrong, -wrong)), float(du @ usage(mu_std))


# --- Markov chains with few states, for Theorems 1 and 4 ------------------------------------------------------------


def stationary(kernel: np.ndarray) -> np.ndarray:
    """The distribution S with S = S T."""
    size = len(kernel)
    equations = np.vstack([kernel.T - np.eye(size), np.ones(size)])
    return np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Half the L1 distance."""
    return 0.5 * float(np.abs(p - q).sum())


def dobrushin(kernel: np.ndarray) -> float:
    """The contraction coefficient: the largest total variation between two rows."""
    return max(total_variation(p, q) for p in kernel for q in kernel)
