"""Your own model in a sampler: Poisson regression, three ways.

A model needs `n_data`, `log_prior` and `terms`. This one is linear in a predictor: with `rows`, `value`, `slope` and
`curvature`, control variates and proxy proposals come for free. Run it with `python examples/poisson_regression.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

import austerity as au
from samplers.models import Rows

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Poisson:
    """y_i ~ Poisson(exp(rows_i . θ)) with θ ~ N(0, I)."""

    rows: Floats
    y: Floats

    @property
    def n_data(self) -> int:
        return len(self.y)

    def log_prior(self, theta: Floats) -> float:
        return -0.5 * float(theta @ theta)

    def terms(self, theta: Floats, theta_new: Floats, indices: npt.NDArray[np.int64]) -> Floats:
        rows = self.rows[indices]
        return self.value(rows @ theta_new, indices) - self.value(rows @ theta, indices)

    # control variates need the rest: the log-likelihood as a function of eta, and its derivatives
    def value(self, eta: Floats, indices: Rows) -> Floats:
        return self.y[indices] * eta - np.exp(eta)

    def slope(self, eta: Floats, indices: Rows) -> Floats:
        return self.y[indices] - np.exp(eta)

    def curvature(self, eta: Floats, indices: Rows) -> Floats:
        return -np.exp(eta)

    def prior_gradient(self, theta: Floats) -> Floats:
        return -theta

    def prior_curvature(self, theta: Floats) -> Floats:
        return -np.eye(theta.size)


def simulated(rng: np.random.Generator, n_data: int, dimension: int) -> Poisson:
    rows = rng.standard_normal((n_data, dimension)) * 0.3
    rows[:, 0] = 1.0
    return Poisson(rows, rng.poisson(np.exp(rows @ rng.normal(0.0, 0.5, dimension))).astype(float))


def own_loop(rng: np.random.Generator, model: Poisson, theta: Floats, step: float, steps: int) -> tuple[Floats, float]:
    """The sequential test in your own Metropolis loop."""
    test = au.SequentialTest.from_design(au.Design(model.n_data, 500, 0.01))
    draws, used = np.empty((steps, theta.size)), 0
    for s in range(steps):
        new = theta + step * rng.standard_normal(theta.size)
        log_ratio = model.log_prior(theta) - model.log_prior(new)  # minus the usual one
        comparison = au.Comparison(model.n_data, partial(model.terms, theta, new), log_ratio)
        decision = test.decide(rng, comparison)
        theta = new if decision.accept else theta
        draws[s], used = theta, used + decision.n_used
    return draws, used / steps / model.n_data


def main(n_data: int = 50_000, steps: int = 1000) -> dict[str, float]:
    rng = np.random.default_rng(1)
    model = simulated(rng, n_data, dimension=4)
    mode = au.find_mode(model)
    sd = 1.0 / np.sqrt(np.sum(np.exp(model.rows @ mode)[:, None] * model.rows**2, axis=0) + 1.0)

    _, usage = own_loop(rng, model, mode, float(sd.min()), steps // 10)
    print(f"own loop, random walk:              {usage:.1%} of the data per step")

    controlled = au.Controlled.around(model, mode)
    design = au.Design(n_data, 200, 0.01)
    test = au.SequentialTest.from_design(design)
    walk = au.RandomWalk.with_covariance(np.linalg.inv(controlled.posterior_precision()))
    chains = au.run(controlled, walk, test, start=mode, draws=steps, chains=2, seed=2)
    walked = float(np.mean([chain.n_used.mean() for chain in chains])) / n_data
    print(f"random walk with control variates:  {walked:.2%} of the data per step")

    chain = au.Chain(controlled, au.ProxyStep.of(controlled), test, mode, np.random.default_rng(3))
    seen = au.observe(chain, steps, every=10)
    print(f"proxy proposals:                    {seen.draws.n_used.mean() / n_data:.2%} of the data per step")
    print(au.audit(design, seen, n_data).sentence)
    return {"own": usage, "walk": walked, "acceptance": float(seen.draws.accepted.mean())}


if __name__ == "__main__":
    main()
