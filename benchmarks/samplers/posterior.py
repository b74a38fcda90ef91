"""The predicted error of the posterior beside real chains: `python -m benchmarks.samplers.posterior [--steps S]`.

Linear regression with Gaussian noise has a Gaussian posterior, whose mean and covariance are known. Chains use the real
sequential test; the standard deviation of their draws, in whitened coordinates, is compared with the prediction of
`posterior_error` from the pairs of an exact chain.
"""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

import numpy as np

from designer import Design, TrialRun, posterior_error
from designer.core.arrays import Floats
from samplers.chains.chain import Chain
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.lasso import Lasso
from samplers.proposals import RandomWalk
from samplers.study.observe import observe
from samplers.study.risk import block_error

N_DATA, M = 2000, 200
STEPS, PAIRS = 400_000, 400


class Regression(NamedTuple):
    """Linear regression with a flat prior: model, posterior mean, and the factor that whitens deviations from it."""

    model: Lasso
    mean: Floats
    whiten: Floats
    walk: RandomWalk

    @classmethod
    def make(cls, dimension: int, seed: int = 0) -> Regression:
        """A regression on N_DATA random rows, with the usual random walk (2.38 / sqrt(D) posterior sds)."""
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((N_DATA, dimension))
        y = x @ rng.standard_normal(dimension) + rng.standard_normal(N_DATA)
        precision = x.T @ x
        mean = np.linalg.solve(precision, x.T @ y)
        factor = np.linalg.cholesky(precision)
        walk = RandomWalk.with_covariance(np.linalg.inv(precision))
        return cls(Lasso.from_data(x, y, precision=1.0, penalty=0.0), mean, factor, walk)

    def chain(self, epsilon: float, seed: int) -> Chain:
        """A chain with the sequential test, or with the exact test if ε is 0."""
        test = ExactTest() if epsilon == 0 else SequentialTest.from_design(Design(N_DATA, M, epsilon))
        return Chain(self.model, self.walk, test, self.mean, np.random.default_rng(seed))

    def trial(self, pairs: int = PAIRS, seed: int = 1) -> TrialRun:
        """Pairs of an exact chain, ten steps apart."""
        chain = self.chain(0.0, seed)
        chain.advance(1000)
        return observe(chain, 10 * pairs, 10).trial(N_DATA)


class SdRatio(NamedTuple):
    """Standard deviation of a chain's draws relative to the exact posterior, with its standard error."""

    sd_ratio: float
    se: float


def measure(problem: Regression, epsilon: float, steps: int, seed: int = 2) -> SdRatio:
    """Root mean square of the whitened deviations from the exact posterior mean."""
    chain = problem.chain(epsilon, seed)
    chain.advance(2000)
    squares = np.concatenate([_squares(problem, chain.advance(10_000).theta) for _ in range(max(1, steps // 10_000))])
    mean = float(squares.mean())
    return SdRatio(math.sqrt(mean), 0.5 * block_error(squares) / math.sqrt(mean))


def _squares(problem: Regression, theta: Floats) -> Floats:
    """Mean square of the coordinates of each draw."""
    return np.asarray((((theta - problem.mean) @ problem.whiten) ** 2).mean(axis=1))


def report(steps: int = STEPS) -> list[str]:
    """The section of RESULTS.md."""
    rows = []
    for dimension in (1, 2, 5, 20):
        problem = Regression.make(dimension)
        trial = problem.trial()
        for epsilon in (0.01, 0.05, 0.1):
            design = Design(N_DATA, M, epsilon)
            many, here = posterior_error(design, trial), posterior_error(design, trial, dimension=dimension)
            one = posterior_error(design, trial, dimension=1)
            seen = measure(problem, epsilon, steps)
            rows.append(
                f"| {dimension} | {epsilon:g} | {many.mean_abs_delta:.3f} | {many.sd_ratio:.3f} | "
                f"{here.sd_ratio:.3f} | {seen.sd_ratio:.3f} ± {seen.se:.3f} | {here.total_variation:.3f} | "
                f"{one.theorem_1_bound:.2f} |"
            )
    return [
        f"## What a test does to the posterior: linear regression, N = {N_DATA:,}, m = {M}",
        "",
        "| d | ε | mean \\|Δ\\| | sd ratio, many | sd ratio, d | sd ratio of chains | TV, d | Theorem 1, d = 1 |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        f"Predicted from {PAIRS} pairs of an exact chain; measured on {steps:,} steps with the real test.",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="of each chain (default: %(default)s)")
    print("\n".join(report(parser.parse_args().steps)))


if __name__ == "__main__":
    main()
