"""Independent component analysis of white data: an orthonormal unmixing matrix W (K14 section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from samplers.data.scaling import unit
from samplers.models import Rows, _kernels
from samplers.models.arrays import as_indices, blocks, check_size, finite_array, mapped_array

MOST_SOURCES = 1000
WHITE = 0.1  # largest entry of |covariance - I|: a part of white data is not exactly white


class Whitened(NamedTuple):
    """White data: rows = (x - mean) @ matrix', with the identity as covariance; matrix is symmetric."""

    rows: Floats
    mean: Floats
    matrix: Floats

    def unmixing(self, mixing: npt.ArrayLike) -> Floats:
        """The true W for these rows if x = mixing @ sources, with rows of length 1: what `amari` compares with."""
        w = _inverse("mixing", self.matrix @ _square("mixing", mixing, self.mean.size))
        unit: Floats = w / np.linalg.norm(w, axis=1, keepdims=True)
        return unit


@dataclass(frozen=True, eq=False)
class ICA:
    """Independent component analysis: log p(x | W) = -sum_j [log 4 + 2 log cosh(w_j . x / 2)] (K14 section 6.2).

    θ is W, flattened, and w_j are its rows. The prior is uniform on the orthonormal matrices and 0 elsewhere:
    log |det W| = 0, and a proposal that leaves them is rejected. Use `StiefelWalk`, which stays on them.

    Parameters
    ----------
    rows
        White data (N, D). Prefer `from_data`, which checks them, or `mapped`, which leaves them in a file.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sources = rng.laplace(size=(1000, 2))
    >>> white = whiten(sources @ np.array([[2.0, 1.0], [0.0, 1.0]]).T)
    >>> model = ICA.from_data(white.rows)
    >>> model.terms(np.eye(2).ravel(), np.array([0.6, 0.8, -0.8, 0.6]), np.array([0, 1])).round(3)
    array([ 0.002, -0.035])
    """

    rows: Floats
    n_data: int = field(init=False)
    dimension: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_data", self.rows.shape[0])
        object.__setattr__(self, "dimension", self.rows.shape[1] ** 2)

    @classmethod
    def from_data(cls, x: npt.ArrayLike) -> ICA:
        """From white data (N, D); see `whiten`."""
        rows = _data(x)
        return cls(_white("x", rows, np.cov(rows.T, bias=True)))

    @classmethod
    def mapped(cls, rows: Floats) -> ICA:
        """From white rows (N, D) without a copy, float32 or float64: a memory-mapped file stays on disk."""
        data = mapped_array("rows", rows, 2)
        if not 2 <= data.shape[1] <= MOST_SOURCES or data.shape[0] <= data.shape[1]:
            raise BadInput(f"rows has shape {data.shape}: must be (N, D), N > D and D from 2 to {MOST_SOURCES:,}")
        total, squares = np.zeros(data.shape[1]), np.zeros((data.shape[1], data.shape[1]))
        for block in blocks(data.shape[0]):
            part = np.asarray(data[block], dtype=np.float64)
            total += part.sum(axis=0)
            squares += part.T @ part
        mean = total / data.shape[0]
        return cls(_white("rows", data, squares / data.shape[0] - np.outer(mean, mean)))

    def log_prior(self, theta: Floats) -> float:
        """0 for an orthonormal W, -inf for others."""
        check_size(theta, self.dimension)
        return 0.0 if _kernels.departure(theta, self.rows.shape[1]) <= _kernels.ORTHONORMAL else -np.inf

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """lᵢ of these data."""
        check_size(theta, self.dimension)
        check_size(theta_new, self.dimension)
        out = np.empty(indices.size)
        _kernels.ica_terms(self.rows, theta, theta_new, indices, out)
        return out

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """log p of each of these data."""
        check_size(theta, self.dimension)
        places = as_indices(self.n_data, indices)
        out = np.empty(places.size)
        _kernels.ica_values(self.rows, theta, places, out)
        return out

    def range_bound(self, theta: Floats, theta_new: Floats) -> float:
        """C >= max |lᵢ|: the slope of log p in w_j . x is -tanh, so |lᵢ| <= sum_j |(w'_j - w_j) . x_i|."""
        moves = (theta_new - theta).reshape(self.rows.shape[1], -1)
        return float(self._longest * np.linalg.norm(moves, axis=1).sum())

    @cached_property
    def _longest(self) -> float:
        parts = (np.asarray(self.rows[block], dtype=np.float64) for block in blocks(self.n_data))
        return float(np.sqrt(max(np.einsum("ij,ij->i", part, part).max() for part in parts)))


def whiten(x: npt.ArrayLike) -> Whitened:
    """Subtract the mean of data (N, D) and make their covariance (divisor N) the identity.

    Examples
    --------
    >>> white = whiten(np.random.default_rng(1).standard_normal((100, 2)) @ np.array([[2.0, 1.0], [0.0, 1.0]]))
    >>> np.allclose(white.rows.T @ white.rows / 100, np.eye(2))
    True
    """
    data = _data(x)
    scale = float(unit(data).max())
    rows = data / scale
    mean = rows.mean(axis=0)
    rows -= mean
    values, vectors = np.linalg.eigh(rows.T @ rows / rows.shape[0])
    if not values[0] > 1e-12 * values[-1]:
        raise BadInput("x: cannot be whitened: a column is constant, or a combination of the others")
    matrix = (vectors / np.sqrt(values)) @ vectors.T
    return Whitened(rows @ matrix, mean * scale, matrix / scale)


def amari(w: npt.ArrayLike, truth: npt.ArrayLike) -> Floats:
    """Amari distance of unmixing matrices from the true one (Amari et al. 1996), 0 for the same sources in any order.

    With p = |w truth^-1|, the sum over rows and over columns of (sum / largest - 1), which is at most 2 D (D - 1). The
    signs of sources do not matter; their scales do, and so does that of the truth's rows.

    Parameters
    ----------
    w
        One matrix or many: (..., D, D), or draws of a chain (..., D D).
    truth
        The true unmixing matrix (D, D).

    Examples
    --------
    >>> float(amari([[0.0, -1.0], [1.0, 0.0]], np.eye(2)))
    0.0
    >>> amari([[1.0, 0.0, 0.0, 1.0], [0.6, 0.8, -0.8, 0.6]], np.eye(2))
    array([0., 3.])
    """
    d = len(np.atleast_1d(truth))
    inverse = _inverse("truth", _square("truth", truth, d))
    given = np.asarray(w, dtype=np.float64)
    flat, full = given.shape[-1:] == (d * d,), given.shape[-2:] == (d, d)
    if not (flat or full):
        raise BadInput(f"w has shape {given.shape}: must end in ({d}, {d}) or ({d * d},) as truth does")
    p = np.abs((given if full else given.reshape(*given.shape[:-1], d, d)) @ inverse)
    distance: Floats = sum((p.sum(axis) / p.max(axis) - 1.0).sum(-1) for axis in (-1, -2))
    return distance


def _data(x: npt.ArrayLike) -> Floats:
    rows = finite_array("x", x, 2)
    if not 2 <= rows.shape[1] <= MOST_SOURCES or rows.shape[0] <= rows.shape[1]:
        raise BadInput(f"x has shape {rows.shape}: must be (N, D) with N > D and D from 2 to {MOST_SOURCES:,}")
    return rows


def _white(name: str, rows: Floats, covariance: Floats) -> Floats:
    off = float(np.abs(covariance - np.eye(rows.shape[1])).max())
    if not off <= WHITE:
        raise BadInput(f"{name}: its covariance differs from the identity by {off:.3g}: must be white; see whiten")
    return rows


def _square(name: str, matrix: npt.ArrayLike, size: int) -> Floats:
    array = finite_array(name, matrix, 2)
    if array.shape != (size, size):
        raise BadInput(f"{name} has shape {array.shape}: must be ({size}, {size})")
    return array


def _inverse(name: str, matrix: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise BadInput(f"{name}: must be invertible") from None
