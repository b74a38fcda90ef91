"""Models that bring their own derivatives, for tests: no linear predictor that anybody else could use."""

from dataclasses import dataclass

import numpy as np

from samplers import Logistic
from samplers.models.control.expansion import LinearProxies, derivatives


@dataclass(frozen=True)
class SmoothLogistic:
    """A logistic regression whose predictor is hidden."""

    inner: Logistic

    @classmethod
    def of(cls, x, y, prior_precision=1.0):
        return cls(Logistic.from_data(x, y, prior_precision))

    @property
    def n_data(self):
        return self.inner.n_data

    @property
    def dimension(self):
        return self.inner.rows.shape[1]

    def log_prior(self, theta):
        return self.inner.log_prior(theta)

    def prior_gradient(self, theta):
        return self.inner.prior_gradient(theta)

    def prior_curvature(self, theta):
        return self.inner.prior_curvature(theta)

    def terms(self, theta, theta_new, indices):
        return self.inner.terms(theta, theta_new, indices)

    def log_likelihood(self, theta, indices):
        return self.inner.value(self.inner.rows[indices] @ theta, indices)

    def derivatives(self, theta, indices, order):
        return derivatives(self.inner, theta, indices, order)

    def row_proxies(self, centre, order):
        return LinearProxies(self.inner, centre, order, None)


@dataclass(frozen=True)
class NormalData:
    """x ~ N(mean, exp(2 log_sd)), both unknown, with normal priors: not concave far from the mode."""

    x: np.ndarray
    names: tuple[str, ...] = ("mean", "log sd")

    @property
    def n_data(self):
        return self.x.size

    @property
    def dimension(self):
        return 2

    def unpack(self, draws):
        """The parameters under their own names; draws are (..., 2)."""
        return {"mean": draws[..., 0], "sd": np.exp(draws[..., 1])}

    def log_prior(self, theta):
        return -0.5 * float(theta @ theta) / 25.0

    def prior_gradient(self, theta):
        return -theta / 25.0

    def prior_curvature(self, theta):
        return -np.eye(2) / 25.0

    def log_likelihood(self, theta, indices):
        z = (self.x[indices] - theta[0]) * np.exp(-theta[1])
        return -0.5 * z**2 - theta[1]

    def terms(self, theta, theta_new, indices):
        return self.log_likelihood(theta_new, indices) - self.log_likelihood(theta, indices)

    def each(self, theta, indices):
        """Gradient (n, 2) and Hessian (n, 2, 2) of each datum."""
        tau = np.exp(-theta[1])
        z = (self.x[indices] - theta[0]) * tau
        gradient = np.stack([z * tau, z**2 - 1.0], axis=1)
        hessian = np.empty((z.size, 2, 2))
        hessian[:, 0, 0], hessian[:, 1, 1] = -(tau**2), -2.0 * z**2
        hessian[:, 0, 1] = hessian[:, 1, 0] = -2.0 * z * tau
        return gradient, hessian

    def derivatives(self, theta, indices, order):
        gradient, hessian = self.each(theta, indices)
        return gradient.sum(axis=0), hessian.sum(axis=0) if order == 2 else np.zeros((2, 2))

    def row_proxies(self, centre, order):
        return NormalProxies(self, centre, order)


@dataclass(frozen=True)
class NormalProxies:
    model: NormalData
    centre: np.ndarray
    order: int

    def _change(self, theta, indices):
        gradient, hessian = self.model.each(self.centre, indices)
        d = theta - self.centre
        return gradient @ d + (0.5 * (hessian @ d) @ d if self.order == 2 else 0.0)

    def residual(self, theta, indices):
        return self.model.log_likelihood(theta, indices) - self._change(theta, indices)

    def residuals(self, theta, theta_new, indices):
        return self.residual(theta_new, indices) - self.residual(theta, indices)
