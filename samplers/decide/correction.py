"""The correction of the Barker mini-batch test: X_norm + X_corr is logistic when X_norm ~ N(0, σ²) (S17 section 4).

No distribution solves this exactly (its characteristic function would grow without bound), so a table of
probabilities approximates it; the largest error of the sum's distribution function counts. Two constructions:

correction
    Non-negative least squares on a grid. The constraint u >= 0 is kept while fitting instead of being imposed
    afterwards by clipping: 7.6e-8 against 5.6e-4 at σ = 1. Also for a skewed X_norm.
ridge_correction
    S17 Eqn 15: ridge regression, then clipped and normalised. Kept to reproduce S17 Table 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import NumericalFailure, integer, real

LOWEST, HIGHEST = 0.3, 1.4  # σ; above, the logistic is not nearly a mixture of such normals (error 6e-4 at 1.4)
REACH = 20.0  # V: the correction lives on [-V, V]
SPACING = 0.2  # of the atoms, at most σ / 2: then a sum of normals is smooth to 1e-8
CHECK_REACH, CHECK_SPACING = 25.0, 0.1  # where the distribution function is fitted
ONE = 100.0  # weight of the equation "probabilities add up to 1"
MOST_SKEW = 2.0
TOLERANCE, MOST_STEPS = 1e-11, 20_000  # of the ridge solver: largest residual of the normal equations

Linear = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Correction:
    """A table of X_corr: probability mass[k] spread evenly over a cell around x[k].

    Parameters
    ----------
    sigma, skewness
        Those of X_norm.
    x, mass
        Places and probabilities.
    width
        Width of the cells; 0 for atoms.
    error
        Largest difference between the distribution functions of X_norm + X_corr and the logistic.

    Examples
    --------
    >>> table = correction(1.0)
    >>> round(table.quantile(0.9), 1), table.error < 1e-7
    (1.2, True)
    """

    sigma: float
    skewness: float
    x: Floats
    mass: Floats
    width: float
    error: float

    @cached_property
    def cdf(self) -> Floats:
        """Probability below each cell, and below the end."""
        return np.append(0.0, np.cumsum(self.mass))

    def quantile(self, p: float) -> float:
        """The inverse distribution function, linear within cells."""
        k = min(int(self.cdf.searchsorted(p, side="right")) - 1, self.x.size - 1)
        within = min((p - self.cdf[k]) / self.mass[k], 1.0) - 0.5 if self.width > 0.0 else 0.0
        return float(self.x[k] + self.width * within)

    def sample(self, rng: np.random.Generator) -> float:
        """One X_corr."""
        return self.quantile(rng.random())


@lru_cache(maxsize=64)
def correction(sigma: float = 1.0, skewness: float = 0.0) -> Correction:
    """The most accurate table: non-negative least squares for atoms on a grid.

    Parameters
    ----------
    sigma
        Standard deviation of X_norm.
    skewness
        Its skewness k, to first order: P(X_norm < σ z) = Φ(z) - k (z² - 1) φ(z) / 6 (Edgeworth).

    Returns
    -------
    Correction
        Computed once for each pair of arguments, then cached.

    Notes
    -----
    L_inf errors: 3.5e-10 (σ = 0.8), 1.0e-9 (0.9), 7.6e-8 (1), 2.0e-6 (1.1), 1.5e-4 (1.3), 6.3e-4 (1.4).

    Examples
    --------
    >>> correction(0.9).error < 2e-9
    True
    """
    from scipy.optimize import nnls  # here, so that importing the tests stays quick
    from scipy.special import expit

    sigma = real("sigma", sigma, LOWEST, HIGHEST)
    skewness = real("skewness", skewness, -MOST_SKEW, MOST_SKEW)
    half = round(REACH / min(SPACING, 0.5 * sigma))
    y = np.arange(-half, half + 1) * (REACH / half)
    x = np.arange(-CHECK_REACH, CHECK_REACH + 0.5 * CHECK_SPACING, CHECK_SPACING)
    rows = np.vstack([_edgeworth((x[:, None] - y) / sigma, skewness), np.full(y.size, ONE)])
    mass, _ = nnls(rows, np.append(expit(x), ONE), maxiter=100 * y.size)
    y, mass = y[mass > 0.0], mass[mass > 0.0] / mass.sum()
    fine = np.arange(-1.2 * CHECK_REACH, 1.2 * CHECK_REACH, 0.17 * CHECK_SPACING)  # between the fitted points too
    found = _edgeworth((fine[:, None] - y) / sigma, skewness) @ mass
    return Correction(sigma, skewness, y, mass, 0.0, float(np.abs(found - expit(fine)).max()))


def _edgeworth(z: Floats, skewness: float) -> Floats:
    """Distribution function of a nearly normal variable with this skewness."""
    from scipy.special import ndtr

    if skewness == 0.0:
        return np.asarray(ndtr(z))
    return np.asarray(ndtr(z) - skewness / 6.0 * (z * z - 1.0) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))


@lru_cache(maxsize=16)
def ridge_correction(sigma: float, n: int = 4000, penalty: float = 1.0, reach: float = REACH) -> Correction:
    """S17 Eqn 15 on a grid of 4n + 1 by 2n + 1 points over +-2V and +-V, clipped at 0 and normalised.

    The matrix M_ij = Φ((X_i - Y_j) / σ) is a convolution: a product with it costs two Fourier transforms, and
    (M'M + penalty) u = M'v is solved by conjugate gradients, which need a few hundred of them since M has few large
    singular values.

    Parameters
    ----------
    sigma
        Standard deviation of X_norm.
    n
        Half the number of cells of the table.
    penalty
        Penalty of the ridge regression.
    reach
        V.

    Returns
    -------
    Correction
        For `BarkerTest(table=...)`, to reproduce S17.

    Notes
    -----
    L_inf errors, in brackets S17's: σ = 0.9, n = 4000, penalty = 1: 6.8e-5 (1.0e-4); 0.8, 4000, 0.03: 3.1e-6
    (5.0e-6); 1, 4000, 10: 5.6e-4 (8.9e-4); 0.8, 2000, 0.01: 3.3e-6 (5.0e-6).

    Examples
    --------
    >>> table = ridge_correction(0.9, n=500, penalty=0.1)
    >>> table.error < 1e-3, round(float(table.mass.sum()), 9)
    (True, 1.0)
    """
    from scipy.special import expit, ndtr

    sigma, reach = real("sigma", sigma, LOWEST, HIGHEST), real("reach", reach, 5.0, 100.0)
    n, penalty = integer("n", n, 50, 20_000), real("penalty", penalty, 0.0, 1e6, open_low=True)
    step = reach / n
    kernel = ndtr(np.arange(-3 * n, 3 * n + 1) * (step / sigma))
    forward, backward = _convolution(kernel, 2 * n + 1), _convolution(kernel[::-1], 4 * n + 1)
    v = expit(np.arange(-2 * n, 2 * n + 1) * step)
    mass = np.maximum(_ridge(forward, backward, v, penalty), 0.0)
    mass /= mass.sum()
    error = float(np.abs(forward(mass) - v).max())
    y = np.arange(-n, n + 1, dtype=np.float64) * step
    return Correction(sigma, 0.0, y[mass > 0.0], mass[mass > 0.0], step, error)


def _ridge(forward: Linear, backward: Linear, v: Floats, penalty: float) -> Floats:
    """u with (M'M + penalty) u = M'v, by conjugate gradients on the least-squares problem (CGLS).

    Directions of small singular values converge last and matter, so it continues until rounding error dominates.
    """
    residual, gradient = v.copy(), backward(v)
    u, direction = np.zeros_like(gradient), gradient.copy()
    size = _square(gradient)
    for _ in range(MOST_STEPS):
        image = forward(direction)
        step = size / (_square(image) + penalty * _square(direction))
        u += step * direction
        residual -= step * image
        gradient = backward(residual) - penalty * u
        if np.abs(gradient).max() <= TOLERANCE:
            return u
        before, size = size, _square(gradient)
        direction *= size / before
        direction += gradient
    raise NumericalFailure(f"ridge correction: no convergence in {MOST_STEPS:,} steps with penalty = {penalty:g}")


def _square(array: Floats) -> float:
    """Squared length, without BLAS, whose threads wait for each other on a busy machine."""
    return float((array * array).sum())


def _convolution(kernel: Floats, size: int) -> Linear:
    """The part of the convolution with `kernel`, for arrays of this size, that no edge has touched."""
    from scipy.fft import irfft, next_fast_len, rfft

    length = next_fast_len(kernel.size, real=True)  # wraps around only where it is cut off
    transform = rfft(kernel, length)
    return lambda array: irfft(transform * rfft(array, length), length)[size - 1 : kernel.size]
