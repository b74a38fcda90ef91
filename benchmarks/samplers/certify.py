"""Audits and certificates tried: how often they cry wolf, what they notice, and whether their bounds hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from designer import Design
from designer.core.arrays import Floats
from samplers.chains.chain import Chain
from samplers.decide.sequential import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.study.audit import audit, audit_chain
from samplers.study.certify import certify
from samplers.study.observe import observe

POSTERIORS = 30
PASSES = 1000
LONG = 100_000  # steps that tell what a tested chain samples
AUDITS = 100
WRONG_RUNS = 10  # seeds
GRIDS = {1: 2001, 2: 161, 3: 61}  # points on each axis, by the number of coefficients


def report() -> list[str]:
    """The section of RESULTS.md."""
    return [
        "## Audits and certificates",
        "",
        *_audits(),
        "",
        *_certificates(),
        "",
        *_wrong_runs(),
        "",
    ]


def problem(seed: int) -> Logistic:
    """Logistic regression with one to three coefficients and few ones: skewed posteriors, known by quadrature."""
    rng = np.random.default_rng([seed, 11])
    dimension, n_data = 1 + seed % 3, (300, 1000)[seed // 3 % 2]
    x = rng.exponential(size=(n_data, dimension)) * rng.choice([-1.0, 1.0], (n_data, dimension))
    y = rng.random(n_data) < 1.0 / (1.0 + np.exp(2.0 - x.sum(axis=1)))
    return Logistic.from_data(x, y, prior_precision=1.0)


def moments(model: Logistic) -> tuple[Floats, Floats]:
    """Posterior means and standard deviations by quadrature on a grid along the axes of the Laplace approximation."""
    proxied = Controlled.around(model, find_mode(model))
    factor = np.linalg.cholesky(np.linalg.inv(proxied.posterior_precision()))
    dimension = proxied.centre.size
    axis = np.linspace(-8.0, 8.0, GRIDS[dimension])
    z = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    theta, log_density = proxied.centre + z @ factor.T, np.empty(len(z))
    for block in range(0, len(z), 10_000):
        part = theta[block : block + 10_000]
        likelihood = -np.logaddexp(0.0, -(part @ model.rows.T)).sum(axis=1)  # signed rows
        log_density[block : block + 10_000] = likelihood - 0.5 * model.prior_precision * (part**2).sum(axis=1)
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = weight @ theta
    return mean, np.sqrt(weight @ (theta - mean) ** 2)


def designed_chain(model: Logistic, design: Design, seed: int, *, walk: bool = False) -> Chain:
    """A chain with proxy proposals, or a random walk without control variates."""
    proxied = Controlled.around(model, find_mode(model))
    covariance = np.linalg.inv(proxied.posterior_precision())
    proposal: Any = RandomWalk.with_covariance(covariance, 2.0) if walk else ProxyStep.of(proxied)
    test = SequentialTest.from_design(design)
    return Chain(model if walk else proxied, proposal, test, proxied.centre, np.random.default_rng(seed))


# --- audits -----------------------------------------------------------------------------------------------------------


def _audits() -> list[str]:
    rows = []
    for name, walk, design in (
        ("random walk, no control variates", True, Design(1000, 50, 0.1)),
        ("proxy proposals, m = 10", False, Design(1000, 10, 0.1)),
    ):
        model = problem(5)
        long = observe(designed_chain(model, design, 999, walk=walk), 6000, every=3)
        truth = audit(design, long, model.n_data).error
        at, twice = (
            [
                audit_chain(designed_chain(model, design, seed, walk=walk), design, tolerance=tolerance)
                for seed in range(AUDITS)
            ]
            for tolerance in (truth.value, truth.value / 2.0)
        )
        false, found = (sum(one.verdict == "beyond" for one in audits) for audits in (at, twice))
        steps, over = np.mean([one.pairs for one in at]), np.mean([one.upper < truth.value for one in at])
        rows.append(
            f"| {name} | {truth.value:.4f} ± {truth.se:.4f} | {steps:.0f} | {false / AUDITS:.1%} | "
            f"{found / AUDITS:.1%} | {np.mean([one.power for one in twice]):.0%} | {over:.1%} |"
        )
    return [
        f"{AUDITS} audits of each chain, with mean |Δ| right at the tolerance, where false alarms are likeliest, and",
        "with half the tolerance, so that mean |Δ| is twice what is allowed:",
        "",
        "| chain | mean \\|Δ\\| | audited steps | false alarms | noticed at twice | promised | upper limit too low |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]


# --- certificates -----------------------------------------------------------------------------------------------------


class Tried(NamedTuple):
    """A certificate beside the truth: its outcome, the largest true error, and whether the bound covers it."""

    outcome: str
    error: float
    covered: bool


def try_posterior(seed: int) -> Tried:
    """One of the known posteriors; the tests range from careful to hasty."""
    model = problem(seed)
    mean, sd = moments(model)
    chain = designed_chain(model, Design(model.n_data, (10, 20, 50)[seed % 3], (0.01, 0.1, 0.3)[seed // 10]), seed)
    draws = chain.advance(LONG).theta
    error = np.concatenate([(draws.mean(axis=0) - mean) / sd, draws.std(axis=0) / sd - 1.0])
    found = certify(chain, PASSES, seed=seed)
    return Tried(found.outcome, float(np.abs(error).max()), bool(np.abs(error).max() <= found.bound))


def _certificates() -> list[str]:
    tried = [try_posterior(seed) for seed in range(POSTERIORS)]
    covered = sum(one.covered for one in tried)
    lines = [
        f"Certificates of {PASSES:,} passes for {POSTERIORS} posteriors that are known by quadrature (1 to 3 "
        f"coefficients, N = 300 and 1,000, m = 10 to 50). The bound covers the largest true error of all means and sds "
        f"in {covered} of {POSTERIORS}:",
        "",
        "| outcome | posteriors | largest true error, sd: smallest to largest |",
        "|---|---|---|",
    ]
    for outcome in ("certified", "not certified", "wrong"):
        errors = [one.error for one in tried if one.outcome == outcome]
        if errors:
            lines.append(f"| {outcome} | {len(errors)} | {min(errors):.3f} to {max(errors):.3f} |")
    return lines


def _wrong_runs() -> list[str]:
    from tests.cases import CASES

    lines = [
        f"Wrong runs (m = 20, ε = 0.05, no heavy rows): {WRONG_RUNS} certificates of {PASSES:,} passes and "
        f"{WRONG_RUNS} audits with tolerance 0.01 each:",
        "",
        "| case | mean off, sd | certified | wrong | audits that say TOO LARGE |",
        "|---|---|---|---|---|",
    ]
    for name in ("rare-levels", "rare-levels-wide", "rare-dummies", "near-separation", "rare-positives", "census"):
        x, y, precision = CASES[name].data()
        model, truth = Logistic.from_data(x, y, prior_precision=precision), CASES[name].reference()
        design = Design(model.n_data, 20, 0.05)
        chain = designed_chain(model, design, 1)
        off = np.abs((chain.advance(LONG).theta.mean(axis=0) - truth.mean) / truth.sd).max()
        found = [certify(chain, PASSES, seed=seed).outcome for seed in range(WRONG_RUNS)]
        audits = [
            audit_chain(designed_chain(model, design, seed), design, tolerance=0.01).verdict == "beyond"
            for seed in range(WRONG_RUNS)
        ]
        figures = f"{found.count('certified')} | {found.count('wrong')} | {sum(audits)}"
        lines.append(f"| {name} | {off:.2f} | {figures} |")
    return lines
