"""Linear regression with a Laplace prior (K14 section 6.4, K16 section 4.2.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer, real
from designer.rule.looks import MAX_N_DATA
from samplers.models import Rows, _kernels
from samplers.models.arrays import as_indices, blocks, check_size, finite_array, mapped_array


class _Half(NamedTuple):
    """The 1-D posterior on one side of 0: a piece of N(mean, sd²), and the log of its share of the whole."""

    mean: float
    log_share: float
    log_inside: float  # log of the mass that the uncut normal has on this side


@dataclass(frozen=True, eq=False)
class Lasso:
    """Linear regression with a Laplace prior (K14 section 6.4).

    The posterior is proportional to exp(-precision / 2 sum (y_i - x_i . θ)² - penalty |θ|_1).

    Parameters
    ----------
    rows
        (N, D + 1): x_i followed by y_i. Prefer `from_data` or `mapped`.
    precision, penalty
        λ and λ₀ of K14.

    Examples
    --------
    >>> model = Lasso.from_data([1.0, 2.0], [0.5, 1.5], precision=3.0, penalty=1.0)
    >>> model.terms(np.array([0.0]), np.array([0.5]), np.array([0, 1]))
    array([0.375, 3.   ])
    >>> model.gradient(np.array([0.5]), np.array([0, 1]))
    array([3.])
    >>> model.density([-0.1, 0.0, 0.6]).round(3)
    array([0.022, 0.076, 1.534])
    """

    rows: Floats
    precision: float = 3.0
    penalty: float = 4950.0
    n_data: int = field(init=False)
    dimension: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_data", self.rows.shape[0])
        object.__setattr__(self, "dimension", self.rows.shape[1] - 1)

    @classmethod
    def from_data(cls, x: npt.ArrayLike, y: npt.ArrayLike, precision: float = 3.0, penalty: float = 4950.0) -> Lasso:
        """From predictors (N, D), or (N,) if there is one, and targets (N,); by default with the constants of K14."""
        given = np.asarray(x)
        predictors = finite_array("x", given[:, None] if given.ndim == 1 else given, 2)
        targets = finite_array("y", y, 1)
        if targets.size != predictors.shape[0]:
            raise BadInput(f"y has shape {targets.shape}: must be ({predictors.shape[0]:,},) as x has that many rows")
        rows = np.ascontiguousarray(np.column_stack([predictors, targets]))
        return cls(rows, real("precision", precision, 0.0, 1e300, open_low=True), real("penalty", penalty, 0.0, 1e300))

    @classmethod
    def mapped(cls, rows: Floats, precision: float = 3.0, penalty: float = 4950.0) -> Lasso:
        """From rows (N, D + 1), x_i followed by y_i, without a copy: float32 or float64, in memory or in a file."""
        data = mapped_array("rows", rows, 2)
        if data.shape[1] < 2:
            raise BadInput(f"rows has shape {data.shape}: must be (N, D + 1), the last column the targets")
        return cls(data, real("precision", precision, 0.0, 1e300, open_low=True), real("penalty", penalty, 0.0, 1e300))

    def log_prior(self, theta: Floats) -> float:
        """-penalty |θ|_1."""
        check_size(theta, self.dimension)
        return -self.penalty * float(np.abs(theta).sum())

    def prior_gradient(self, theta: Floats) -> Floats:
        """Gradient of the log prior; 0 at the kink."""
        return -self.penalty * np.sign(theta)

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """lᵢ of these data."""
        check_size(theta, self.dimension)
        check_size(theta_new, self.dimension)
        out = np.empty(indices.size)
        _kernels.lasso_terms(self.rows, theta, theta_new, self.precision, indices, out)
        return out

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """log p of each of these data, up to a constant."""
        check_size(theta, self.dimension)
        places = as_indices(self.n_data, indices)
        out = np.empty(places.size)
        _kernels.lasso_values(self.rows, theta, self.precision, places, out)
        return out

    def gradient(self, theta: Floats, indices: Ints) -> Floats:
        """Gradient of the sum of log p over these data."""
        check_size(theta, self.dimension)
        out = np.empty(self.dimension)
        _kernels.lasso_gradient(self.rows, theta, self.precision, indices, out)
        return out

    def range_bound(self, theta: Floats, theta_new: Floats) -> float:
        """C >= max |lᵢ|: with d = θ' - θ, lᵢ = precision [y x . d - (x . d) (x . (θ + θ')) / 2]."""
        move, middle = np.linalg.norm(theta_new - theta), 0.5 * np.linalg.norm(theta_new + theta)
        products, squares = self._largest
        return float(self.precision * move * (products + squares * middle))

    @cached_property
    def _largest(self) -> tuple[float, float]:
        """Largest |x_i| |y_i| and |x_i|²."""
        products, longest = 0.0, 0.0
        for block in blocks(self.n_data):
            rows = np.asarray(self.rows[block], dtype=np.float64)
            lengths = np.linalg.norm(rows[:, :-1], axis=1)
            products = max(products, float((lengths * np.abs(rows[:, -1])).max()))
            longest = max(longest, float(lengths.max()))
        return products, longest**2

    def density(self, theta: npt.ArrayLike) -> Floats:
        """The true posterior density at these points, in closed form; for one predictor."""
        at, sd = np.asarray(theta, dtype=np.float64), self._sd
        out = np.empty(at.shape)
        for half, mine in zip(self._halves, (at < 0.0, at >= 0.0), strict=True):
            z = (at[mine] - half.mean) / sd
            out[mine] = np.exp(half.log_share - half.log_inside - 0.5 * z * z) / (sd * math.sqrt(2.0 * math.pi))
        return out

    def cumulative(self, theta: npt.ArrayLike) -> Floats:
        """The true posterior distribution function at these points, in closed form; for one predictor."""
        from scipy.special import log_ndtr

        at, (left, right) = np.asarray(theta, dtype=np.float64), self._halves
        below = np.exp(left.log_share - left.log_inside + log_ndtr((np.minimum(at, 0.0) - left.mean) / self._sd))
        above = np.exp(right.log_share - right.log_inside + log_ndtr((right.mean - np.maximum(at, 0.0)) / self._sd))
        probability: Floats = np.where(at < 0.0, below, 1.0 - above)
        return probability

    @property
    def _sd(self) -> float:
        """Standard deviation of the likelihood."""
        if self.dimension != 1:
            raise BadInput(f"the posterior has a closed form for one predictor only; there are {self.dimension}")
        squares = float(np.sum(self.rows[:, 0] ** 2))
        if squares == 0.0:
            raise BadInput("x: all predictors are 0; the data say nothing about θ")
        return 1.0 / math.sqrt(self.precision * squares)

    @property
    def _halves(self) -> tuple[_Half, _Half]:
        """Below and above 0: exp(-θ² / (2 sd²) + slope θ) with slope = precision sum x y ± penalty."""
        from scipy.special import log_ndtr

        sd, score = self._sd, self.precision * float(self.rows[:, 0] @ self.rows[:, 1])
        slopes = score + self.penalty, score - self.penalty
        inside = [float(log_ndtr(sign * slope * sd)) for sign, slope in zip((-1, 1), slopes, strict=True)]
        masses = [0.5 * (slope * sd) ** 2 + log for slope, log in zip(slopes, inside, strict=True)]
        whole = float(np.logaddexp(masses[0], masses[1]))
        left, right = (_Half(slopes[k] * sd**2, masses[k] - whole, inside[k]) for k in (0, 1))
        return left, right


def draw_line(rng: np.random.Generator, n_data: int = 10_000, slope: float = 0.5) -> tuple[Floats, Floats]:
    """x ~ U(-1, 1), which K14 leaves open, and y = slope x + xi with xi ~ N(0, 1/3)."""
    x = rng.uniform(-1.0, 1.0, integer("n_data", n_data, 1, MAX_N_DATA))
    return x, slope * x + rng.normal(0.0, math.sqrt(1.0 / 3.0), x.size)
