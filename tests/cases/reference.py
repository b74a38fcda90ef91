"""Exact posteriors of logistic regressions by importance sampling on all data: numpy and scipy alone.

The proposal is a split Student t (Geweke 1989, section 3): around the mode, along each axis of the Cholesky factor of
the Laplace covariance, the scale is fitted to the profile of the log posterior separately to both sides, so that
skewed coefficients are covered. Standard errors come from a bootstrap of the weighted draws.

`python -m tests.cases.reference` recomputes all stored references, with names of cases only those.
"""

import json
import sys
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln, logsumexp

from tests.cases import PROPER
from tests.cases.case import STORED, Data, Reference

DEGREES = 6.0
PROFILE = np.concatenate([-np.geomspace(0.25, 8.0, 12)[::-1], np.geomspace(0.25, 8.0, 12)])  # in Laplace sds
EVALUATIONS = 4e8  # rows times draws of a stored reference
GROUP = 256  # factors of one product: each is at most 2


def log_posterior(data: Data, thetas: np.ndarray) -> np.ndarray:
    """Log posterior density, up to a constant, at each row of thetas."""
    x, y, precision = data
    signed = np.where(y > 0, 1.0, -1.0)[:, None] * x
    block = max(1, 2**23 // y.size)
    values = np.empty(len(thetas))
    for start in range(0, len(thetas), block):
        part = thetas[start : start + block]
        eta = signed @ part.T
        total = np.minimum(eta, 0.0).sum(axis=0)
        factors = 1.0 + np.exp(-np.abs(eta))
        for first in range(0, y.size, GROUP):  # one logarithm for many rows: log Π (1 + e^-|η|)
            total -= np.log(np.prod(factors[first : first + GROUP], axis=0))
        values[start : start + block] = total - 0.5 * precision * np.einsum("ij,ij->i", part, part)
    return values


def mode_and_factor(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Mode by damped Newton steps, and the lower Cholesky factor of the Laplace covariance there."""
    x, y, precision = data
    theta, prior = np.zeros(x.shape[1]), precision * np.eye(x.shape[1])
    best = log_posterior(data, theta[None])[0]
    for _ in range(100):
        p = expit(x @ theta)
        hessian = (x * (p * (1.0 - p))[:, None]).T @ x + prior
        step = np.linalg.solve(hessian, x.T @ (y - p) - precision * theta)
        shrunk = theta + 0.5 ** np.arange(20)[:, None] * step
        values = log_posterior(data, shrunk)
        if values.max() <= best + 1e-10:
            break
        theta, best = shrunk[values.argmax()], values.max()
    return theta, np.linalg.cholesky(np.linalg.inv(hessian))


class SplitT(NamedTuple):
    """mode + factor @ (scale of that side * t), one χ² for all axes."""

    mode: np.ndarray
    factor: np.ndarray
    below: np.ndarray
    above: np.ndarray
    degrees: float

    def draw(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Draws and their log densities."""
        d = self.mode.size
        z = rng.standard_normal((count, d)) / np.sqrt(rng.chisquare(self.degrees, (count, 1)) / self.degrees)
        scale = np.where(z > 0, self.above, self.below)
        normal = gammaln((self.degrees + d) / 2) - gammaln(self.degrees / 2) - d / 2 * np.log(self.degrees * np.pi)
        tails = -(self.degrees + d) / 2 * np.log1p(np.einsum("ij,ij->i", z, z) / self.degrees)
        volume = np.log(scale).sum(axis=1) + np.log(np.diag(self.factor)).sum()
        return self.mode + (scale * z) @ self.factor.T, normal + tails - volume


def split_t(data: Data) -> SplitT:
    """Each side's scale is the largest that the profile along its axis asks for (Geweke 1989, Eqn 15)."""
    mode, factor = mode_and_factor(data)
    top = log_posterior(data, mode[None])[0]
    scales = np.empty((PROFILE.size, mode.size))
    for j in range(mode.size):
        drop = top - log_posterior(data, mode + PROFILE[:, None] * factor[:, j])
        scales[:, j] = np.abs(PROFILE) / np.sqrt(2.0 * np.maximum(drop, 1e-12))
    sides = scales[PROFILE < 0].max(axis=0), scales[PROFILE > 0].max(axis=0)
    return SplitT(mode, factor, *(np.clip(side, 0.3, 8.0) for side in sides), DEGREES)


def wide_t(data: Data) -> SplitT:
    """Another proposal, for a recomputation: symmetric, 1.6 times as wide as Laplace, t with 4 degrees of freedom."""
    mode, factor = mode_and_factor(data)
    wide = np.full(mode.size, 1.6)
    return SplitT(mode, factor, wide, wide, 4.0)


def weighted(draws: np.ndarray, order: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Rows: mean, sd, 0.5% and 99.5% quantile of each column, whose `order` sorts it."""
    mean = weights @ draws
    sd = np.sqrt(weights @ (draws - mean) ** 2)
    quantiles = np.empty((2, mean.size))
    for j, rank in enumerate(order.T):
        quantiles[:, j] = np.interp([0.005, 0.995], np.cumsum(weights[rank]), draws[rank, j])
    return np.vstack([mean, sd, quantiles])


def exact_posterior(data: Data, draws: int, seed: int = 0, proposal: SplitT | None = None) -> Reference:
    """Weighted draws of the posterior, and what they say."""
    rng = np.random.default_rng(seed)
    thetas, log_q = (split_t(data) if proposal is None else proposal).draw(rng, draws)
    log_w = log_posterior(data, thetas) - log_q
    weights = np.exp(log_w - logsumexp(log_w))
    order, again = np.argsort(thetas, axis=0), []
    for _ in range(100):
        counts = rng.poisson(1.0, draws) * weights
        again.append(weighted(thetas, order, counts / counts.sum()))
    return Reference(
        *weighted(thetas, order, weights), *np.std(again, axis=0, ddof=1), ess=1.0 / float(weights @ weights)
    )


def store(names: list[str]) -> None:
    """Recompute these references, and keep the others."""
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    for name in names or list(PROPER):
        data = PROPER[name].data()
        draws = int(EVALUATIONS / data.y.size)
        found = exact_posterior(data, draws)
        numbers = {field: np.round(getattr(found, field), 6).tolist() for field in Reference._fields}
        made = f"importance sampling, split t with {DEGREES:g} degrees of freedom, {draws:,} draws, seed 0, all data"
        stored[name] = {"made": made, "n": int(data.y.size), "digest": data.digest(), **numbers}
        error = (found.mean_se / found.sd).max()
        print(f"{name}: ess {found.ess:,.0f} of {draws:,}; largest standard error of a mean {error:.4f} sd", flush=True)
    text = json.dumps(stored, indent=1, sort_keys=True)
    STORED.write_text(text + "\n")


if __name__ == "__main__":
    store(sys.argv[1:])
