"""Proposals from the quadratic proxies of the log posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, real
from samplers.models.control import Controlled
from samplers.proposals.basic import Proposed, factor_of


@dataclass(frozen=True, eq=False)
class ProxyStep:
    """θ' = centre + sqrt(1 - beta²) (θ - centre) + beta L xi: reversible for N(centre, L L').

    With the centre and covariance of the posterior's quadratic proxies, proxies and proposal cancel: the test of a
    `Controlled` model sees only third-order residuals. Make one with `of`.

    Parameters
    ----------
    centre
        Mean of the normal distribution that the steps leave invariant.
    factor, precision
        L, and (L L')^-1.
    beta
        In (0, 1]: 1 is an independence proposal, small values are small steps.

    Examples
    --------
    >>> from samplers import Controlled, Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> proxied = Controlled.around(model, find_mode(model))
    >>> ProxyStep.of(proxied, beta=0.5).propose(np.random.default_rng(1), proxied.centre).theta.shape
    (2,)
    """

    centre: Floats
    factor: Floats
    precision: Floats
    beta: float

    @classmethod
    def of(cls, model: Controlled, beta: float = 1.0) -> ProxyStep:
        """From the proxies of a second-order controlled model; they need not be expanded at the mode."""
        if model.order != 2:
            raise BadInput("a proxy proposal needs control variates of order 2")
        precision = model.posterior_precision()
        factor = factor_of(np.linalg.inv(precision))
        slope = model.posterior_gradient()
        mode = model.centre + np.linalg.solve(precision, slope)  # the mode of the quadratic proxies
        return cls(mode, factor, precision, real("beta", beta, 0.0, 1.0, open_low=True))

    def propose(self, rng: np.random.Generator, theta: Floats) -> Proposed:
        """A step from θ, and its log ratio."""
        keep = math.sqrt(1.0 - self.beta**2)
        new = self.centre + keep * (theta - self.centre) + self.beta * (self.factor @ rng.standard_normal(theta.size))
        return Proposed(new, self._log_density(new) - self._log_density(theta))

    def _log_density(self, theta: Floats) -> float:
        d = theta - self.centre
        return -0.5 * float(d @ self.precision @ d)
