"""The normal equations of one iteration."""

from __future__ import annotations

import math

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.fit.losses import Loss


def left(n: int, n_data: int) -> float:
    """Finite-population factor of a sample without replacement, 1 - (n - 1)/(N - 1) (K16 Eqn 3)."""
    return (n_data - n) / (n_data - 1)


class NormalEquations:
    """A, g and the sums that give their variance, accumulated by blocks of rows at one θ.

    Rank-k sums and one Cholesky factorisation per look replace K16's Sherman-Morrison recursion (Eqn 8). With blocks of
    D rows or more the work is of the same order, but in matrix products, and no inverse is updated that would
    accumulate rounding errors or need a regular start. Solving for d = u - θ rather than for u (Eqn 1) avoids the
    cancellation of u - θ near the solution.
    """

    def __init__(self, loss: Loss, theta: Floats, unit: float | None = None) -> None:
        d = theta.size
        self.loss, self.theta, self.unit = loss, theta, unit
        self.n = 0
        self.gram = np.zeros((d, d))  # A = sum a_i a_i', a_i = w_i x_i
        self.score = np.zeros(d)  # g = sum a_i zeta_i, zeta_i = b_i - a_i' θ
        self.outer = np.zeros((d, d))  # sum zeta_i² a_i a_i'
        self.plain = np.zeros((d, d))  # sum x_i x_i'
        self.squares = 0.0  # sum zeta_i²
        self.value = 0.0
        self.value_squares = 0.0

    def add(self, x: Floats, y: Floats) -> None:
        """Add more rows."""
        eta = x @ self.theta
        if self.unit is None:
            self.unit = self.loss.unit(eta, y)
        weight, score, value = self.loss.working(eta, y, self.unit)
        scored = x * score[:, None]
        self.n += y.size
        self.gram += (x * weight[:, None]).T @ x
        self.score += scored.sum(axis=0)
        self.outer += scored.T @ scored
        self.plain += x.T @ x
        self.squares += float(score @ (score / weight))
        self.value += float(value.sum())
        self.value_squares += float(value @ value)
        if not (np.all(np.isfinite(self.score)) and np.all(np.isfinite(self.gram))):
            raise BadInput("x, y: some rows read are not finite, or overflow")

    @property
    def objective(self) -> float:
        """Mean loss at θ over the rows so far."""
        return self.value / self.n

    def objective_se(self, n_data: int) -> float:
        """Standard error of `objective` as an estimate of the mean over all data."""
        spread = max(self.value_squares / self.n - self.objective**2, 0.0)
        return math.sqrt(spread / max(self.n - 1, 1) * left(self.n, n_data))
