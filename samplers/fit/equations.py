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

    def __init__(
        self, loss: Loss, theta: Floats, unit: float | None = None, span: tuple[float, float] | None = None
    ) -> None:
        """Begin without rows; `span` are the least and the largest response of all data, if they are known."""
        d = theta.size
        self.loss, self.theta, self.unit = loss, theta, unit
        self.n = 0
        self.responses, self.predictors = span or (math.inf, -math.inf), (math.inf, -math.inf)
        self.gram = np.zeros((d, d))  # A = sum a_i a_i', a_i = w_i x_i
        self.score = np.zeros(d)  # g = sum a_i zeta_i, zeta_i = b_i - a_i' θ
        self.outer = np.zeros((d, d))  # sum zeta_i² a_i a_i'
        self.plain = np.zeros((d, d))  # sum x_i x_i'
        self.squares = 0.0  # sum zeta_i²
        self.value = 0.0
        self.value_squares = 0.0

    def add(self, x: Floats, y: Floats, offset: Floats | None = None) -> None:
        """Add more rows."""
        eta = x @ self.theta if offset is None else x @ self.theta + offset
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
        if math.isinf(self.loss.steepest):
            self.responses, self.predictors = _widened(self.responses, y), _widened(self.predictors, eta)
        if not (np.all(np.isfinite(self.score)) and np.all(np.isfinite(self.gram))):
            raise BadInput("x, y: some rows read are not finite, or overflow")

    @property
    def steepest(self) -> float:
        """The largest score to expect of a row that has not been read.

        Where a loss has no bound, that of the least response at the largest η read so far, or the reverse: scores rise
        with y and fall with η.
        """
        if not math.isinf(self.loss.steepest):
            return self.loss.steepest
        assert self.unit is not None
        corners = self.loss.working(np.array(self.predictors[::-1]), np.array(self.responses), self.unit)
        return float(np.max(np.abs(corners.score)))

    @property
    def objective(self) -> float:
        """Mean loss at θ over the rows so far."""
        return self.value / self.n

    def objective_se(self, n_data: int) -> float:
        """Standard error of `objective` as an estimate of the mean over all data."""
        spread = max(self.value_squares / self.n - self.objective**2, 0.0)
        return math.sqrt(spread / max(self.n - 1, 1) * left(self.n, n_data))


def _widened(span: tuple[float, float], values: Floats) -> tuple[float, float]:
    return min(span[0], float(values.min())), max(span[1], float(values.max()))
