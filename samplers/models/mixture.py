"""A mixture of two Gaussians at a temperature (S17 section 6.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer, real
from designer.rule.looks import MAX_N_DATA
from samplers.models import Rows, _kernels
from samplers.models.arrays import check_size, finite_array, mapped_array


@dataclass(frozen=True, eq=False)
class Mixture:
    """x_i ~ N(theta1, variance) / 2 + N(theta1 + theta2, variance) / 2; theta1 and theta2 normal around 0 (S17 Eqn 22).

    The posterior has two modes: the pairs of means (a, b) and (b, a) have the same likelihood.

    Parameters
    ----------
    x
        Data (N,). Prefer `from_data` or `mapped`.
    temperature
        The likelihood, not the prior, is taken to the power 1 / temperature.
    variance
        Variance of both components.
    prior_variances
        Prior variances of theta1 and theta2.

    Examples
    --------
    >>> model = Mixture.from_data([0.0, 1.0, 2.0], temperature=2.0)
    >>> model.terms(np.array([0.0, 1.0]), np.array([0.5, 1.0]), np.array([0, 2])).round(3)
    array([-0.082,  0.137])
    >>> round(model.range_bound(np.array([0.0, 1.0]), np.array([0.5, 1.0])), 3)
    0.219
    """

    x: Floats
    temperature: float = 1.0
    variance: float = 2.0
    prior_variances: tuple[float, float] = (10.0, 1.0)
    n_data: int = field(init=False)
    dimension: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_data", self.x.size)
        object.__setattr__(self, "dimension", 2)

    @classmethod
    def from_data(
        cls,
        x: npt.ArrayLike,
        temperature: float = 1.0,
        variance: float = 2.0,
        prior_variances: tuple[float, float] = (10.0, 1.0),
    ) -> Mixture:
        """From data (N,); by default with the constants of S17."""
        return cls._of(finite_array("x", x, 1), temperature, variance, prior_variances)

    @classmethod
    def mapped(
        cls,
        x: Floats,
        temperature: float = 1.0,
        variance: float = 2.0,
        prior_variances: tuple[float, float] = (10.0, 1.0),
    ) -> Mixture:
        """From data (N,) without a copy, float32 or float64: a memory-mapped file stays on disk."""
        return cls._of(mapped_array("x", x, 1), temperature, variance, prior_variances)

    @classmethod
    def _of(cls, x: Floats, temperature: float, variance: float, prior_variances: tuple[float, float]) -> Mixture:
        if len(prior_variances) != 2:
            raise BadInput(f"prior_variances = {prior_variances}: must be two numbers, for theta1 and theta2")
        first, second = (_positive(f"prior_variances[{k}]", value) for k, value in enumerate(prior_variances))
        return cls(x, _positive("temperature", temperature), _positive("variance", variance), (first, second))

    def log_prior(self, theta: Floats) -> float:
        """Log prior of theta1 and theta2, up to a constant."""
        check_size(theta, 2)
        first, second = self.prior_variances
        return -0.5 * float(theta[0] ** 2 / first + theta[1] ** 2 / second)

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """lᵢ of these data, divided by the temperature."""
        check_size(theta, 2)
        check_size(theta_new, 2)
        out = np.empty(indices.size)
        _kernels.mixture_terms(self.x, theta, theta_new, self.variance, 1.0 / self.temperature, indices, out)
        return out

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """log p of each datum, divided by the temperature."""
        check_size(theta, 2)
        x = self.x[indices]
        out = np.empty(x.size)
        _kernels.mixture_values(x, theta, self.variance, 1.0 / self.temperature, np.arange(x.size), out)
        return out

    def range_bound(self, theta: Floats, theta_new: Floats) -> float:
        """C >= max |lᵢ|, without a pass over the data.

        A ratio of sums lies between the least and the largest ratio of their summands, so lᵢ lies between those of the
        two components; each of these is linear in x, and largest at an end of the data. Which of the old components is
        paired with which of the new ones is free, because their weights are the same.
        """
        ends = np.array(self._ends)[:, None]
        old, new = np.array([theta[0], theta[0] + theta[1]]), np.array([theta_new[0], theta_new[0] + theta_new[1]])
        pairings = (np.abs((to - old) * (2.0 * ends - old - to)).max() for to in (new, new[::-1]))
        return float(min(pairings)) / (2.0 * self.variance * self.temperature)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return float(self.x.min()), float(self.x.max())


def draw_mixture(
    rng: np.random.Generator, n_data: int, theta: tuple[float, float] = (0.0, 1.0), variance: float = 2.0
) -> Floats:
    """Data from the model, for θ of S17.

    Examples
    --------
    >>> draw_mixture(np.random.default_rng(1), 3).round(2)
    array([-1.84,  1.28,  1.63])
    """
    n_data, spread = integer("n_data", n_data, 1, MAX_N_DATA), _positive("variance", variance)
    second = rng.random(n_data) < 0.5
    return theta[0] + np.where(second, theta[1], 0.0) + rng.normal(0.0, math.sqrt(spread), n_data)


def _positive(name: str, value: object) -> float:
    return real(name, value, 0.0, 1e300, open_low=True)
