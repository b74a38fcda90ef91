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

from designer import Design, TrialRun, independent_error, posterior_error
from designer.core.arrays import Floats
from samplers.chains.chain import Chain
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.lasso import Lasso
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.study.independent_pairs import independent_pairs
from samplers.study.observe import observe
from samplers.study.risk import block_error
from tests.cases import CASES

N_DATA, M = 2000, 200
STEPS, PAIRS = 400_000, 400
CASES_TRIED = ("rare-dummies", "near-separation", "rare-levels-wide", "rare-positives", "census", "student")
TESTS, LONG = ((50, 0.5), (500, 0.3)), 50_000  # m and ε; steps of each of four chains
VISIBLE = 0.03  # sd


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
        *independent(),
    ]


def independent() -> list[str]:
    """Predictions for independent proposals beside chains: how many standard errors lie between them."""
    true, off = [], []
    for name in CASES_TRIED:
        model = Logistic.from_data(*CASES[name].data())
        proxied, exact = Controlled.around(model, find_mode(model)), CASES[name].reference()
        proposal = ProxyStep.of(proxied)
        pairs = [independent_pairs(proxied, proposal, np.random.default_rng(seed)) for seed in (1, 2, 3)]
        for m, epsilon in TESTS:
            design = Design(proxied.n_data, m, epsilon)
            test = SequentialTest.from_design(design)
            means = [
                Chain(proxied, proposal, test, proxied.centre, np.random.default_rng(seed)).advance(LONG).theta[200:]
                for seed in range(4)
            ]
            bias = (np.array([theta.mean(axis=0) for theta in means]) - exact.mean) / exact.sd
            se = np.hypot(bias.std(axis=0, ddof=1) / 2.0, exact.mean_se / exact.sd)
            for some in pairs:
                found = independent_error(design, some)
                true.append(bias.mean(axis=0))
                off.append((found.bias - bias.mean(axis=0)) / np.hypot(found.bias_se, se))
    z, size = np.abs(np.concatenate(off)), np.abs(np.concatenate(true))
    rows = [
        f"| {words} | {chosen.sum()} | {np.mean(z[chosen] < 2.0):.0%} | {np.mean(z[chosen] < 3.0):.0%} | "
        f"{np.sqrt(np.mean(z[chosen] ** 2)):.2f} |"
        for words, chosen in (("all", size >= 0.0), (f"off by more than {VISIBLE:g} sd", size > VISIBLE))
    ]
    return [
        f"Independent proposals: biases of means predicted by `independent_error` in {len(off)} cases "
        f"({len(CASES_TRIED)} data sets, {len(TESTS)} tests, 3 seeds), beside chains of {4 * LONG:,} steps:",
        "",
        "| means | number | within 2 standard errors | within 3 | root mean square |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="of each chain (default: %(default)s)")
    print("\n".join(report(parser.parse_args().steps)))


if __name__ == "__main__":
    main()
