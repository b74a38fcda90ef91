"""Priors of coefficients, independent of each other: normal, Student-t, Laplace, flat.

Each is a NamedTuple of one number, or of one for each coefficient, Log
priors leave out constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, real
from designer.core.jit import kernel
from samplers.models.arrays import frozen

Numbers: TypeAlias = "float | npt.ArrayLike"
KINK = 0.01  # Laplace: |θ| is rounded off this near to 0, in scales, where a gradient is asked for
NORMAL, STUDENT, LAPLACE = range(3)  # of the compiled form; a flat prior is a normal one with precision 0


class Normal(NamedTuple):
    """θ ~ N(mean, 1 / precision); flat where the precision is 0.

    Attributes
    ----------
    precision
        1 / variance: a number, or one for each coefficient.
    mean
        The same.

    Examples
    --------
    >>> Normal(4.0).over(2).log_prior(np.array([1.0, 0.0]))
    -2.0
    """

    precision: Any = 1.0
    mean: Any = 0.0

    def over(self, dimension: int) -> Normal:
        """With one number for each of so many coefficients, or BadInput."""
        return Normal(
            _each("prior precision", self.precision, dimension, 0.0), _each("prior mean", self.mean, dimension)
        )

    def log_prior(self, theta: Floats) -> float:
        """Up to a constant."""
        away = theta - self.mean
        return -0.5 * float(self.precision @ (away * away))

    def smooth(self, theta: Floats) -> float:
        """The log prior that `gradient` belongs to."""
        return self.log_prior(theta)

    def gradient(self, theta: Floats) -> Floats:
        """Of the log prior."""
        gradient: Floats = -self.precision * (theta - self.mean)
        return gradient

    def curvature(self, theta: Floats) -> Floats:
        """Second derivatives, of which the Hessian has no others."""
        return -np.asarray(self.precision, dtype=np.float64)

    @property
    def flat(self) -> npt.NDArray[np.bool_]:
        """Which coefficients it leaves free."""
        flat: npt.NDArray[np.bool_] = np.asarray(self.precision) == 0.0
        return flat


class StudentT(NamedTuple):
    """θ = mean + scale times a Student-t variable.

    Attributes
    ----------
    scale
        A number, or one for each coefficient.
    degrees
        Of freedom.
    mean
        The centre.

    Examples
    --------
    >>> round(StudentT(2.5, 4.0).over(1).log_prior(np.array([2.5])), 4)
    -0.5579
    """

    scale: Any = 2.5
    degrees: Any = 4.0
    mean: Any = 0.0

    def over(self, dimension: int) -> StudentT:
        """With one number for each of so many coefficients, or BadInput."""
        return StudentT(
            _each("prior scale", self.scale, dimension, 0.0, open_low=True),
            _each("prior degrees", self.degrees, dimension, 0.0, open_low=True),
            _each("prior mean", self.mean, dimension),
        )

    def log_prior(self, theta: Floats) -> float:
        """Up to a constant."""
        x = (theta - self.mean) / self.scale
        return -0.5 * float(np.sum((self.degrees + 1.0) * np.log1p(x * x / self.degrees)))

    def smooth(self, theta: Floats) -> float:
        """The log prior that `gradient` belongs to."""
        return self.log_prior(theta)

    def gradient(self, theta: Floats) -> Floats:
        """Of the log prior."""
        x = (theta - self.mean) / self.scale
        gradient: Floats = -(self.degrees + 1.0) * x / (self.degrees + x * x) / self.scale
        return gradient

    def curvature(self, theta: Floats) -> Floats:
        """Second derivatives, of which the Hessian has no others; positive in the tails."""
        x = (theta - self.mean) / self.scale
        curvature: Floats = -(self.degrees + 1.0) * (self.degrees - x * x) / (self.degrees + x * x) ** 2 / self.scale**2
        return curvature

    @property
    def flat(self) -> npt.NDArray[np.bool_]:
        """Which coefficients it leaves free: none."""
        return np.zeros(np.shape(self.scale), dtype=np.bool_)


class Laplace(NamedTuple):
    """Density proportional to exp(-|θ - mean| / scale).

    Its gradient and curvature, which only modes and proposals use, are those of the log density rounded off within
    0.01 scales of the kink; the log prior itself, which decides, is exact.

    Attributes
    ----------
    scale
        A number, or one for each coefficient.
    mean
        The centre.

    Examples
    --------
    >>> Laplace(0.5).over(2).log_prior(np.array([1.0, -2.0]))
    -6.0
    """

    scale: Any = 1.0
    mean: Any = 0.0

    def over(self, dimension: int) -> Laplace:
        """With one number for each of so many coefficients, or BadInput."""
        return Laplace(
            _each("prior scale", self.scale, dimension, 0.0, open_low=True), _each("prior mean", self.mean, dimension)
        )

    def log_prior(self, theta: Floats) -> float:
        """Up to a constant."""
        return -float(np.sum(np.abs(theta - self.mean) / self.scale))

    def smooth(self, theta: Floats) -> float:
        """The log prior that `gradient` belongs to."""
        x = (theta - self.mean) / self.scale
        return -float(np.sum(np.sqrt(x * x + KINK**2)))

    def gradient(self, theta: Floats) -> Floats:
        """Of the log prior, rounded off at the kink."""
        x = (theta - self.mean) / self.scale
        gradient: Floats = -x / np.sqrt(x * x + KINK**2) / self.scale
        return gradient

    def curvature(self, theta: Floats) -> Floats:
        """Second derivatives of the same, of which the Hessian has no others."""
        x = (theta - self.mean) / self.scale
        curvature: Floats = -(KINK**2) / (x * x + KINK**2) ** 1.5 / self.scale**2
        return curvature

    @property
    def flat(self) -> npt.NDArray[np.bool_]:
        """Which coefficients it leaves free: none."""
        return np.zeros(np.shape(self.scale), dtype=np.bool_)


class Flat(NamedTuple):
    """No prior: the data must determine every coefficient.

    Attributes
    ----------
    size
        Number of coefficients; the model fills it in.

    Examples
    --------
    >>> Flat().over(2).log_prior(np.array([1.0, -2.0]))
    0.0
    """

    size: int = 0

    def over(self, dimension: int) -> Flat:
        """For so many coefficients."""
        return Flat(dimension)

    def log_prior(self, theta: Floats) -> float:
        """0."""
        return 0.0

    def smooth(self, theta: Floats) -> float:
        """The log prior that `gradient` belongs to."""
        return self.log_prior(theta)

    def gradient(self, theta: Floats) -> Floats:
        """0."""
        return np.zeros(self.size)

    def curvature(self, theta: Floats) -> Floats:
        """0."""
        return np.zeros(self.size)

    @property
    def flat(self) -> npt.NDArray[np.bool_]:
        """Which coefficients it leaves free: all."""
        return np.ones(self.size, dtype=np.bool_)


class Joint(NamedTuple):
    """One prior for the first `split` parameters, another for the rest."""

    first: Any
    second: Any
    split: int

    def over(self, dimension: int) -> Joint:
        """With one number for each of so many coefficients, or BadInput."""
        return Joint(self.first.over(self.split), self.second.over(dimension - self.split), self.split)

    def log_prior(self, theta: Floats) -> float:
        """The sum of both."""
        return float(self.first.log_prior(theta[: self.split]) + self.second.log_prior(theta[self.split :]))

    def smooth(self, theta: Floats) -> float:
        """The log prior that `gradient` belongs to."""
        return float(self.first.smooth(theta[: self.split]) + self.second.smooth(theta[self.split :]))

    def gradient(self, theta: Floats) -> Floats:
        """Of the log prior."""
        return np.concatenate([self.first.gradient(theta[: self.split]), self.second.gradient(theta[self.split :])])

    def curvature(self, theta: Floats) -> Floats:
        """Second derivatives, of which the Hessian has no others."""
        return np.concatenate([self.first.curvature(theta[: self.split]), self.second.curvature(theta[self.split :])])

    @property
    def flat(self) -> npt.NDArray[np.bool_]:
        """Which parameters it leaves free."""
        return np.concatenate([self.first.flat, self.second.flat])


Prior: TypeAlias = Normal | StudentT | Laplace | Flat | Joint


def joined(parts: Sequence[tuple[int, Prior]]) -> Prior:
    """Priors of runs of coefficients, with the length of each run, as one.

    Examples
    --------
    >>> joined([(1, Flat()), (2, Laplace(0.5))]).over(3).log_prior(np.array([7.0, 1.0, -2.0]))
    -6.0
    """
    (size, prior), *rest = parts
    return Joint(prior, joined(rest), size) if rest else prior


def as_prior(given: object) -> Prior:
    """A prior as it is given: one of these, or a number (or numbers), the precisions of normal ones.

    Examples
    --------
    >>> as_prior(0.5)
    Normal(precision=0.5, mean=0.0)
    """
    if isinstance(given, (Normal, StudentT, Laplace, Flat, Joint)):
        return given
    if isinstance(given, (str, bool, type(None))) or np.asarray(given).dtype.kind not in "iuf":
        raise BadInput(f"prior = {given!r}: must be Normal, StudentT, Laplace, Flat, or a number, the precision")
    return Normal(given)


def _each(name: str, given: npt.ArrayLike, dimension: int, low: float = -1e300, *, open_low: bool = False) -> Floats:
    """One number for each coefficient, or BadInput."""
    values = np.ravel(np.asarray(given, dtype=object))
    if np.ndim(given) > 1 or values.size not in (1, dimension) or (np.ndim(given) == 1 and values.size != dimension):
        raise BadInput(f"{name} has shape {np.shape(given)}: must be a number or have {dimension:,} of them")
    one = np.ndim(given) == 0
    numbers = [real(name if one else f"{name}[{k}]", v, low, 1e300, open_low=open_low) for k, v in enumerate(values)]
    each: Floats = frozen(np.array(np.broadcast_to(numbers, dimension)))
    return each


# --- compiled -------------------------------------------------------------------------------------------------------


class CompiledPrior(NamedTuple):
    """Any of these: which it is, for each coefficient, and up to three numbers."""

    kind: Ints
    first: Floats  # precision; 1 / (degrees scale²); 1 / scale
    second: Floats  # (degrees + 1) / 2
    mean: Floats


def compiled(prior: Any) -> CompiledPrior:
    """The form that compiled code takes: one type for all priors, so that blocks are compiled once."""
    if isinstance(prior, Joint):
        parts = zip(compiled(prior.first), compiled(prior.second), strict=True)
        return CompiledPrior(*(frozen(np.concatenate(both)) for both in parts))
    size = prior.flat.size
    zeros = np.zeros(size)
    kind, first, second, mean = NORMAL, zeros, zeros, zeros
    if isinstance(prior, Normal):
        first, mean = prior.precision, prior.mean
    if isinstance(prior, StudentT):
        kind, first, second = STUDENT, 1.0 / (prior.degrees * prior.scale**2), 0.5 * (prior.degrees + 1.0)
        mean = prior.mean
    if isinstance(prior, Laplace):
        kind, first, mean = LAPLACE, 1.0 / prior.scale, prior.mean
    return CompiledPrior(*map(frozen, (np.full(size, kind), first, second, mean)))


@kernel
def compiled_log_prior(prior: CompiledPrior, theta: Floats) -> float:
    """The same for the compiled form."""
    total = 0.0
    for k in range(prior.kind.size):
        away = theta[k] - prior.mean[k]
        if prior.kind[k] == NORMAL:
            total -= 0.5 * prior.first[k] * away * away
        elif prior.kind[k] == STUDENT:
            total -= prior.second[k] * math.log1p(prior.first[k] * away * away)
        else:
            total -= prior.first[k] * abs(away)
    return total
