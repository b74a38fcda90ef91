"""The update that a sample proposes, and what it says about the update by all data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.special import ndtri

from designer.core.arrays import Floats
from samplers.fit.equations import NormalEquations, left

Rule = Literal["descent", "euclidean", "printed"]
Solve = Callable[[Floats], Floats]  # b -> A^-1 b

DEPENDENT = 1e-10  # squared length of a scaled column that the others leave unexplained, below which it depends on them
UNSEEN = 4.0  # at 2.3 sd they are 4.6 rows; of a kind of row that n show none of there are, at 99%, at most 4.6/n
BOUND = -float(ndtri(0.01))  # normal quantile of the default confidence


class Direction(NamedTuple):
    """The update d of a sample, and the results of its tests.

    `statistic` is compared with the normal quantile of 1 - ε and `fraction` of the update is to be taken.
    `decrement` is the gain per datum of the update by all data, d_N' A d_N / 2n: an upper confidence limit, or the
    value itself if the sample is `exact`, that is, all data.
    """

    update: Floats
    statistic: float
    fraction: float
    decrement: float
    exact: bool = False


def direction(
    equations: NormalEquations, n_data: int, rule: Rule = "descent", bound: float = BOUND
) -> Direction | None:
    """Solve the normal equations and test the direction; None when the rows do not determine it.

    `bound` is the normal quantile of the confidence in the limit of `Direction.decrement`.
    """
    factor = None if equations.n <= equations.theta.size else solver(equations.gram)
    if factor is None:
        return None
    update = factor(equations.score)
    gain = float(update @ equations.score)
    if equations.n >= n_data:
        return Direction(update, math.inf, 1.0, 0.5 * gain / equations.n, exact=True)
    noise = _printed_noise(equations, n_data, gain) if rule == "printed" else variance_of_scores(equations, n_data)
    relative = factor(noise)  # A^-1 M
    if rule == "printed":
        statistic, fraction = _printed(update, factor(relative.T)), 1.0
    elif rule == "descent":
        statistic, fraction = _corrected(gain, float(update @ noise @ update), relative)
    else:
        covariance = factor(relative.T)
        statistic, fraction = _corrected(float(update @ update), float(update @ covariance @ update), covariance)
    limit = _limit(gain, relative, _largest(noise, equations.gram), bound)
    return Direction(update, statistic, fraction, 0.5 * limit / equations.n)


def solver(gram: Floats) -> Solve | None:
    """b -> A^-1 b by Cholesky on columns scaled to length one; None when they depend on each other."""
    diagonal = np.diag(gram)
    if not np.all(diagonal > 0.0):
        return None
    scale = 1.0 / np.sqrt(diagonal)
    try:
        factor = cho_factor(gram * np.outer(scale, scale), lower=True)
    except np.linalg.LinAlgError:
        return None
    if np.min(np.diag(factor[0])) ** 2 < DEPENDENT:
        return None

    def solve(b: Floats) -> Floats:
        column = scale if b.ndim == 1 else scale[:, None]
        return np.asarray(column * cho_solve(factor, column * b))

    return solve


def _printed_noise(equations: NormalEquations, n_data: int, gain: float) -> Floats:
    """M of K16 Eqn 7: omega² A, with omega² over n - D."""
    free = equations.n - equations.theta.size
    omega2 = (equations.squares - gain) / free  # Eqn 7c: e_n = sum (zeta_i - a_i' d)²
    return equations.gram * (omega2 * left(equations.n, n_data))


def _printed(update: Floats, covariance: Floats) -> float:
    """μ / σ of K16 Eqns 5-7. The probability in Eqn 4 is that of an inner product < 0, as Eqn 6 has it."""
    return _ratio(float(update @ update), float(update @ covariance @ update))  # |d|² times Eqns 5a and 5b


def variance_of_scores(equations: NormalEquations, n_data: int) -> Floats:
    """M, the variance of g under resampling.

    From scores at θ, not at u: additive over blocks, and a row that alone determines a coefficient cannot hide its
    variance behind a residual of zero. `UNSEEN` rows with the largest possible score are added to those read.
    Without them rows that all agree have no variance: ten zeros in a logistic regression with rare ones sent θ to
    minus infinity with full confidence.
    """
    n, g = equations.n, equations.score
    centred = equations.outer - np.outer(g, g) / n
    unseen = equations.plain * (UNSEEN * equations.steepest**2 / n)
    return (centred * (n / (n - g.size)) + unseen) * left(n, n_data)


def _corrected(length: float, along: float, relative: Floats) -> tuple[float, float]:
    """Statistic and fraction of the default rules, from <d, d>, d'PSPd and PS or its transpose.

    Write d = d_N + e with e ~ N(0, S), S = A^-1 M A^-1, M the variance of g under resampling, and <., .> for the inner
    product d'Pd. What matters is <d, d_N> > 0. With P = A ("descent") it means that d goes downhill on all data,
    whatever the units of the columns; with P = 1 ("euclidean") that the angle is below 90 degrees, as in K16.
    T = <d, d> - tr(PS) estimates <d, d_N> without bias, and T - <d, d_N> has variance d_N'PSPd_N + 2 tr(PSPS), of
    which d'PSPd + tr(PSPS) is an unbiased estimate. <d, d_N> / <d, d> is also the step along d that is best for d_N,
    so T / <d, d> is the fraction to take. If T were all signal, this would be K16's test.
    """
    signal = length - float(np.trace(relative))
    variance = along + float(np.sum(relative * relative.T))
    return _ratio(signal, variance), max(signal / length, 0.0) if length > 0.0 else 0.0


def _ratio(signal: float, variance: float) -> float:
    """signal / sd, for a variance that may be zero or, by rounding, just below."""
    if variance <= 0.0:
        return math.inf if signal > 0.0 else 0.0
    return signal / math.sqrt(variance)


def _largest(noise: Floats, gram: Floats) -> float:
    """The largest eigenvalue of A^-1 M."""
    scale = 1.0 / np.sqrt(np.diag(gram))
    scales = np.outer(scale, scale)
    return max(float(eigh(noise * scales, gram * scales, eigvals_only=True)[-1]), 0.0)


def _limit(gain: float, relative: Floats, largest: float, bound: float) -> float:
    """Upper confidence limit of |d_N|² in the metric of A, for an update of squared length `gain`.

    Two limits, both of the lower tail of |d|² for a given d_N, so that the smaller one holds with the same
    probability. The part of d along d_N alone is d_N plus a normal error of variance at most `largest`, hence
    |d_N| <= |d| + z sqrt(largest): best in few dimensions. And L = |d_N|² satisfies T >= L - z sqrt(4 largest L + 2 q)
    for T = |d|² - tr(SA), q = tr(SASA) (Birge 2001, Lemma 8.1, with z² / 2 for x), solved for L: best in many.
    An update shorter than the mean length of the noise is luck, and counts as that long.
    """
    expected = float(np.trace(relative))
    squared = max(gain, expected)
    signal = squared - expected
    one = bound * bound * largest
    spread = bound * bound * float(np.sum(relative * relative.T))
    few = (math.sqrt(squared) + math.sqrt(one)) ** 2
    many = signal + 2.0 * one + math.sqrt(4.0 * one * (signal + one) + 2.0 * spread)
    return min(few, many)
