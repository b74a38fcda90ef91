"""Which test to use, and the value of simulated pairs: `python -m benchmarks.samplers.which_test`."""

from __future__ import annotations

import math

import numpy as np

from designer import Design, TrialRun, acceptance, search
from designer.core.arrays import Floats
from designer.pairs.examples import EXAMPLES, example
from samplers.decide.barker import BarkerTest
from samplers.decide.concentration import ConcentrationTest
from samplers.study.compare_tests import Candidates, measure

PAIRS, REPEATS = 20, 100
CHAINS, STEPS = 2000, 2000
N_DATA = 100_000


def report() -> list[str]:
    """The section of RESULTS.md."""
    return ["## Which test", "", *_predictions(), "", *_rules(), "", *_simulated_pairs(), ""]


def _predictions() -> list[str]:
    """Data and acceptance for bundled pairs, predicted and with real tests."""
    lines = [
        f"Real tests on data with the moments of {PAIRS} bundled pairs, {REPEATS} decisions each (m = 500, ε = .05, "
        "δ = .01), beside what is predicted of the same pairs:",
        "",
        "| pairs | test | data, predicted | simulated | acceptance, predicted | simulated |",
        "|---|---|---|---|---|---|",
    ]
    for name in ("logistic", "control"):
        trial = example(name)
        tests = Candidates(Design(trial.n_data, 500, 0.05), BarkerTest(m=500), ConcentrationTest(m=500))
        for row in measure(np.random.default_rng(1), trial, tests, pairs=PAIRS, repeats=REPEATS):
            lines.append(
                f"| {EXAMPLES[name].title} | {row.test} | {row.predicted_data:,.0f} "
                f"| {row.data:,.0f} ± {row.data_se:,.0f} "
                f"| {row.predicted_acceptance:.3f} | {row.acceptance:.3f} ± {row.acceptance_se:.3f} |"
            )
    return lines


def chains(rng: np.random.Generator, dimensions: int, scale: float, *, barker: bool) -> tuple[float, float]:
    """Acceptance, and asymptotic variance of the mean of a coordinate, of random walks on a standard normal."""
    theta = rng.standard_normal((CHAINS, dimensions))
    total, accepted = np.zeros(CHAINS), 0.0
    for _ in range(STEPS):
        new = theta + scale * rng.standard_normal(theta.shape)
        a = 0.5 * (np.sum(theta**2, axis=1) - np.sum(new**2, axis=1))
        u = rng.random(CHAINS)
        moved = np.log(u) - (np.log1p(-u) if barker else 0.0) < a
        theta[moved] = new[moved]
        total += theta[:, 0]
        accepted += float(moved.mean())
    return accepted / STEPS, float((total / STEPS).var()) * STEPS


def _rules() -> list[str]:
    """The efficiency of Barker's rule."""
    lines = [
        f"Random walk 2.38/√D on a standard normal, {CHAINS:,} chains of {STEPS:,} steps; variance: asymptotic, of the "
        "mean of one coordinate (standard error 3%):",
        "",
        "| D | acceptance, Metropolis | Barker | their ratio | variance, Metropolis | Barker | their ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for dimensions in (1, 5, 20):
        rng, scale = np.random.default_rng(1), 2.38 / math.sqrt(dimensions)
        (a, v), (a_barker, v_barker) = (chains(rng, dimensions, scale, barker=barker) for barker in (False, True))
        lines.append(
            f"| {dimensions} | {a:.3f} | {a_barker:.3f} | {a / a_barker:.2f} | {v:.1f} | {v_barker:.1f} "
            f"| {v_barker / v:.2f} |"
        )
    return lines


def gaussian_walk(rng: np.random.Generator, n_data: int, dimensions: int, scale: float, steps: int) -> TrialRun:
    """Every proposal of an exact random walk over the mean of N normal data with unit covariance, as pairs.

    lᵢ = d'(xᵢ - θ) - |d|²/2 has mean d'(mean(x) - θ) - |d|²/2 and variance d' cov(x) d, so that the data are
    needed only for their mean and covariance.
    """
    x = rng.standard_normal((n_data, dimensions))
    centre, covariance = x.mean(axis=0), np.cov(x.T, bias=True).reshape(dimensions, dimensions)
    theta: Floats = centre + rng.standard_normal(dimensions) / math.sqrt(n_data)
    mu, sigma = np.empty(steps), np.empty(steps)
    for k in range(steps):
        d = scale / math.sqrt(n_data) * rng.standard_normal(dimensions)
        mu[k] = d @ (centre - theta) - 0.5 * d @ d
        sigma[k] = math.sqrt(d @ covariance @ d)
        if math.log(rng.random()) < n_data * mu[k]:
            theta = theta + d
    return TrialRun(n_data, mu, sigma)


def _simulated_pairs() -> list[str]:
    """Designs for simulated pairs, evaluated on the pairs of a real chain with the same acceptance."""
    lines = [
        f"Designs from the acceptance rate alone (tolerance .02, N = {N_DATA:,}, 400 simulated pairs), measured on "
        "the 20,000 proposals of a real random walk over the mean of D-dimensional normal data:",
        "",
        "| D | acceptance | sd of log κ | spread given | mean abs Δ, promised | real | data, promised | real |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for dimensions in (2, 5, 20):
        walk = gaussian_walk(np.random.default_rng(3), N_DATA, dimensions, 2.38 / math.sqrt(dimensions), 20_000)
        rate = float(np.exp(np.minimum(walk.log_acceptance, 0.0)).mean())
        for spread in (0.0, 1.0 / math.sqrt(2.0 * dimensions)):
            simulated = TrialRun.at_stationarity(N_DATA, rate, 400, np.random.default_rng(0), spread)
            answer = search(simulated, 0.02)
            assert answer.best is not None and answer.error is not None and answer.usage is not None
            step = acceptance(answer.best, walk)
            lines.append(
                f"| {dimensions} | {rate:.3f} | {float(np.log(walk.kappa).std()):.2f} | {spread:.2f} "
                f"| {answer.error:.4f} | {step.mean_abs_delta:.4f} | {answer.usage:.1%} | {step.mean_usage:.1%} |"
            )
    return lines


if __name__ == "__main__":
    print("\n".join(report()))
