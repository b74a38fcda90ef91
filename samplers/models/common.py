"""What several models say in the same words: a prior that is an object, and data with one linear predictor."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.core.arrays import Floats, Ints
from samplers.models import Rows


class WithPrior:
    """A model whose prior is an object (`samplers.models.priors`)."""

    prior: Any

    def log_prior(self, theta: Floats) -> float:
        """Log prior, up to a constant."""
        return float(self.prior.log_prior(theta))

    def smooth_log_prior(self, theta: Floats) -> float:
        """The log prior whose gradient `prior_gradient` is: kinks are rounded off."""
        return float(self.prior.smooth(theta))

    def prior_gradient(self, theta: Floats) -> Floats:
        """Gradient of the log prior."""
        gradient: Floats = self.prior.gradient(theta)
        return gradient

    def prior_curvature(self, theta: Floats) -> Floats:
        """Hessian of the log prior."""
        return np.diag(self.prior.curvature(theta))

    @property
    def flat(self) -> Ints:
        """The parameters whose prior is flat."""
        return np.flatnonzero(self.prior.flat)


class OnePredictor:
    """A model with log p_i = value(η_i), η_i = rows_i . θ."""

    rows: Floats

    def value(self, eta: Floats, indices: Rows) -> Floats:
        """log p of each of these data, given its η."""
        raise NotImplementedError

    def slope(self, eta: Floats, indices: Rows) -> Floats:
        """Derivative of log p in η."""
        raise NotImplementedError

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        """lᵢ of these data."""
        rows = self.rows[indices]
        return self.value(rows @ theta_new, indices) - self.value(rows @ theta, indices)

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        """log p of each of these data, up to a term without θ."""
        return self.value(self.rows[indices] @ theta, indices)

    def gradient(self, theta: Floats, indices: Rows) -> Floats:
        """Gradient of the sum of log p over these data."""
        rows = self.rows[indices]
        total: Floats = rows.T @ self.slope(rows @ theta, indices)
        return total
