"""Logistic regression with a Gaussian prior: p(y_i | x_i, theta) = sigm(y_i x_i . theta), y_i = ±1."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from designer.errors import BadInput, real
from designer.schedule import Floats, Ints
from samplers.models import Rows


@dataclass(frozen=True, eq=False)
class Logistic:
    """Logistic regression; theta ~ N(0, I / prior_precision), flat if that is 0.

    The labels are folded into the rows, so that a datum is one row of memory: log p = -log(1 + exp(-row . theta)).

    Examples
    --------
    >>> model = Logistic.from_data(np.eye(3), [1, 0, 1], prior_precision=1.0)
    >>> model.terms(np.zeros(3), np.ones(3), np.array([0, 1])).round(3)
    array([ 0.38, -0.62])
    """

    rows: Floats
    prior_precision: float = 0.0
    n_data: int = field(init=False)
    dimension: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_data", self.rows.shape[0])
        object.__setattr__(self, "dimension", self.rows.shape[1])

    @classmethod
    def from_data(cls, x: npt.ArrayLike, y: npt.ArrayLike, prior_precision: float = 0.0) -> Logistic:
        """From covariates (N, D) and labels: 0 and 1, -1 and 1, or booleans."""
        covariates, labels = np.asarray(x, dtype=np.float64), np.asarray(y)
        if covariates.ndim != 2 or covariates.shape[0] < 2 or covariates.shape[1] < 1:
            raise BadInput(f"x has shape {covariates.shape}: must be (N, D) with N >= 2 and D >= 1")
        if labels.shape != covariates.shape[:1]:
            raise BadInput(f"y has shape {labels.shape}: must be ({covariates.shape[0]:,},) as x has that many rows")
        try:
            labels = labels.astype(np.float64)
        except ValueError:
            raise BadInput("y: must be numbers: 0 and 1, or -1 and 1") from None
        signs, known = np.where(labels > 0, 1.0, -1.0), np.isin(labels, (-1.0, 0.0, 1.0))
        if known.all() and (labels == -1.0).any() and (labels == 0.0).any():
            raise BadInput("y has -1, 0 and more: must be 0 and 1, or -1 and 1")
        if not known.all():
            raise BadInput(f"y[{int(np.argmin(known))}] = {labels[np.argmin(known)]:g}: must be 0 or 1, or -1 or 1")
        bad = np.argwhere(~np.isfinite(covariates))
        if bad.size:
            raise BadInput(f"x[{bad[0][0]}, {bad[0][1]}] = {covariates[tuple(bad[0])]}: must be finite")
        precision = real("prior_precision", prior_precision, 0.0, 1e300)
        return cls(np.ascontiguousarray(covariates * signs[:, None]), precision)

    def log_prior(self, theta: Floats) -> float:
        return -0.5 * self.prior_precision * float(theta @ theta)

    def prior_gradient(self, theta: Floats) -> Floats:
        return -self.prior_precision * theta

    def prior_curvature(self, theta: Floats) -> Floats:
        return -self.prior_precision * np.eye(theta.size)

    def terms(self, theta: Floats, theta_new: Floats, indices: Ints) -> Floats:
        rows = self.rows[indices]
        return self.value(rows @ theta_new, indices) - self.value(rows @ theta, indices)

    def log_likelihood(self, theta: Floats, indices: Rows) -> Floats:
        return self.value(self.rows[indices] @ theta, indices)

    def value(self, eta: Floats, indices: Rows) -> Floats:
        return -np.logaddexp(0.0, -eta)

    def slope(self, eta: Floats, indices: Rows) -> Floats:
        return np.exp(-np.logaddexp(0.0, eta))

    def curvature(self, eta: Floats, indices: Rows) -> Floats:
        p = self.slope(eta, indices)
        return -p * (1.0 - p)
