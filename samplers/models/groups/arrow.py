"""Arrow matrices: a dense root, effects of groups that meet only the root and their own group, and scales beside them.

The effects of one group term are the leaves: G blocks of k. Coefficients and the effects of all other terms are the
root. A precision P = [[root, side'], [side, leaves]] is M M', with the leaves first: M = [[L, 0], [W', T]], L L' the
blocks of the leaves, W = L⁻¹ side, T T' = root - W' W. Everything costs O(G k R²) or less, and O(R³) once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import NumericalFailure


@dataclass(frozen=True, eq=False)
class Arrow:
    """A symmetric matrix of θ = (root, leaves, scales) whose entries at the scales are 0.

    Parameters
    ----------
    root
        (R, R).
    side
        (G, k, R): effect j of group g with the root.
    leaves
        (G, k, k).
    scales
        Number of scales, at the end of θ.

    Examples
    --------
    >>> arrow = Arrow(np.eye(1), np.full((2, 1, 1), 0.5), np.ones((2, 1, 1)), 1)
    >>> arrow @ np.array([1.0, 1.0, 1.0, 7.0])
    array([2. , 1.5, 1.5, 0. ])
    """

    root: Floats
    side: Floats
    leaves: Floats
    scales: int

    __array_ufunc__ = None  # d @ arrow asks this class, not NumPy

    @classmethod
    def zeros(cls, root: int, groups: int, width: int, scales: int) -> Arrow:
        """All entries 0."""
        return cls(np.zeros((root, root)), np.zeros((groups, width, root)), np.zeros((groups, width, width)), scales)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix, with the scales."""
        size = self.root.shape[0] + self.leaves.shape[0] * self.leaves.shape[1] + self.scales
        return size, size

    def __add__(self, other: Arrow) -> Arrow:
        return Arrow(self.root + other.root, self.side + other.side, self.leaves + other.leaves, self.scales)

    def __sub__(self, other: Arrow) -> Arrow:
        return self + -other

    def __neg__(self) -> Arrow:
        return -1.0 * self

    def __rmul__(self, factor: float) -> Arrow:
        return Arrow(factor * self.root, factor * self.side, factor * self.leaves, self.scales)

    def __matmul__(self, vector: Floats) -> Floats:
        root, leaves = self.split(vector)
        top = self.root @ root + np.einsum("gjr,gj->r", self.side, leaves)
        return self.joined(top, self.side @ root + np.einsum("gij,gj->gi", self.leaves, leaves))

    def __rmatmul__(self, vector: Floats) -> Floats:
        return self @ vector

    def with_diagonal(self, added: Floats) -> Arrow:
        """The same with `added` (as long as θ, the scales' part is ignored) on the diagonal."""
        root, leaves = self.split(added)
        diagonal = np.eye(self.leaves.shape[1])
        return Arrow(self.root + np.diag(root), self.side, self.leaves + leaves[:, :, None] * diagonal, self.scales)

    def split(self, vector: Floats) -> tuple[Floats, Floats]:
        """The root's part of a vector, and the leaves', (G, k)."""
        groups, width, first = self.side.shape
        return vector[:first], vector[first : first + groups * width].reshape(groups, width)

    def joined(self, root: Floats, leaves: Floats) -> Floats:
        """A vector of these parts, 0 at the scales."""
        return np.concatenate([root, leaves.ravel(), np.zeros(self.scales)])

    def dense(self) -> Floats:
        """As a square matrix: for small ones."""
        unit = np.eye(self.shape[0])
        return np.stack([self @ row for row in unit])

    def factor(self) -> ArrowFactor:
        """M, if the matrix without the scales is positive definite; `NumericalFailure` if not."""
        try:
            leaves: Floats = np.linalg.cholesky(self.leaves).astype(np.float64, copy=False)
            wide: Floats = np.linalg.solve(leaves, self.side).astype(np.float64, copy=False)
            root = np.linalg.cholesky(self.root - np.einsum("gjr,gjs->rs", wide, wide))
        except np.linalg.LinAlgError:
            raise NumericalFailure("group effects: the log posterior is flat in some direction; add a prior") from None
        return ArrowFactor(leaves, wide, root, self.scales)


@dataclass(frozen=True, eq=False)
class ArrowFactor:
    """M with M M' = P, an arrow matrix; make one with `Arrow.factor`.

    Parameters
    ----------
    leaves
        L, (G, k, k), lower triangular.
    wide
        W, (G, k, R).
    root
        T, (R, R), lower triangular.
    scales
        Number of scales.
    """

    leaves: Floats
    wide: Floats
    root: Floats
    scales: int

    @property
    def log_determinant(self) -> float:
        """Log determinant of M: half that of P."""
        leaves = np.log(np.diagonal(self.leaves, axis1=1, axis2=2)).sum()
        return float(leaves + np.log(np.diag(self.root)).sum())

    def whiten(self, vector: Floats) -> Floats:
        """M' v, without the scales: root first."""
        groups, width, size = self.wide.shape
        root, leaves = vector[:size], vector[size : size + groups * width].reshape(groups, width)
        white = np.einsum("gji,gj->gi", self.leaves, leaves) + self.wide @ root
        return np.concatenate([self.root.T @ root, white.ravel()])

    def colour(self, white: Floats) -> Floats:
        """M'⁻¹ z: a draw with precision P, if z is white; 0 at the scales."""
        groups, width, size = self.wide.shape
        root = np.linalg.solve(self.root.T, white[:size])
        rest = white[size:].reshape(groups, width) - self.wide @ root
        leaves = np.linalg.solve(np.swapaxes(self.leaves, 1, 2), rest[:, :, None])
        return np.concatenate([root, leaves.ravel(), np.zeros(self.scales)])

    def __matmul__(self, white: Floats) -> Floats:
        """Draws with precision P from columns of white noise, as long as θ; the scales stay."""
        first = white.shape[0] - self.scales
        return np.stack([self.colour(column[:first]) for column in white.T], axis=1)

    def solve(self, vector: Floats) -> Floats:
        """P⁻¹ v; 0 at the scales."""
        groups, width, size = self.wide.shape
        leaves = np.linalg.solve(self.leaves, vector[size : size + groups * width].reshape(groups, width, 1))[:, :, 0]
        root = np.linalg.solve(self.root, vector[:size] - np.einsum("gjr,gj->r", self.wide, leaves))
        return self.colour(np.concatenate([root, leaves.ravel()]))

    def variances(self) -> Floats:
        """Diagonal of P⁻¹; 0 at the scales."""
        top = np.linalg.inv(self.root)
        inverse = np.linalg.inv(self.leaves)
        through = np.einsum("gij,gir->gjr", inverse, self.wide) @ top.T  # L'⁻¹ W T'⁻¹
        leaves = np.square(inverse).sum(axis=1) + np.square(through).sum(axis=2)
        return np.concatenate([np.square(top).sum(axis=0), leaves.ravel(), np.zeros(self.scales)])

    def lengths(self, root: Floats, groups: Ints, columns: Floats) -> Floats:
        """h_i = |M⁻¹ row_i| of rows with root part (n, R), in these groups, with these columns (n, k)."""
        leaves = np.einsum("nij,nj->ni", np.linalg.inv(self.leaves)[groups], columns)
        rest = root - np.einsum("njr,nj->nr", self.wide[groups], leaves)
        white = np.linalg.solve(self.root, rest.T)
        squares: Floats = np.square(leaves).sum(axis=1) + np.square(white).sum(axis=0)
        return np.asarray(np.sqrt(squares))
