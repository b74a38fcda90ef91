"""K-valued Gibbs, slice sampling and growing looks: `python -m benchmarks.samplers.gibbs_slice`."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.samplers.chains import ess
from benchmarks.search.steps import N_DATA, StepProblem, make_problem
from designer import Design, TrialRun, acceptance
from designer.rule.plan import as_plan
from samplers.chains.gibbs_values import frequencies, value_error
from samplers.chains.slice_chain import Slice, SliceChain
from samplers.decide import ExactTest, SequentialTest
from samplers.models.mrf_values import ValuedMRF
from samplers.study.slice_audit import audit_slice

REPEATS, UPDATES, AUDITED = 3000, 2500, 400


def gibbs_lines() -> list[str]:
    """Probabilities with which a variable of four values is assigned, predicted and measured."""
    mrf = ValuedMRF.random(np.random.default_rng(1), 60, 4, sd=0.02, field_sd=0.0005)
    x, site = np.random.default_rng(2).integers(0, 4, 60), 5
    lines = [
        f"### A variable of four values, {mrf.n_data:,} terms per comparison, {REPEATS:,} repetitions",
        "",
        "| test | probabilities, exact | predicted | assigned | ± | TV distance | bound | data, predicted → read |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for epsilon in (0.01, 0.05, 0.2):
        design = Design(mrf.n_data, 150, epsilon)
        want = value_error(design, mrf, x, site)
        seen = frequencies(np.random.default_rng(3), mrf, SequentialTest.from_design(design), x, site, REPEATS)
        distance = 0.5 * float(np.abs(seen.probability - want.probability).sum())
        lines.append(
            f"| m = 150, ε = {epsilon:g} | {_row(want.probability)} | {_row(want.assigned)} | {_row(seen.probability)} "
            f"| {seen.se.max():.3f} | {distance:.3f} | {want.bound:.3f} | {want.usage:.1%} → {seen.usage:.1%} |"
        )
    return [*lines, ""]


def _row(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def slice_lines(problem: StepProblem) -> list[str]:
    """Exact and sequential slice chains, and the membership tests beside their prediction."""
    lines = [
        f"### Slice sampling, logistic regression, N = {N_DATA:,}, D = {problem.mode.size}, {UPDATES:,} updates",
        "",
        "| chain | data per update, of N | ESS per 10⁶ evaluations | sd / Laplace sd |",
        "|---|---|---|---|",
    ]
    plain, close = Design(N_DATA, 500, 0.01), Design(N_DATA, 100, 0.01)
    chains = (
        ("exact", problem.model, ExactTest(), 1.0),
        ("sequential, m = 500, ε = .01", problem.model, SequentialTest.from_design(plain), 2.0),
        ("with control variates, m = 100, ε = .01", problem.controlled, SequentialTest.from_design(close), 2.0),
    )
    slices = Slice.with_covariance(problem.covariance)
    for name, model, test, per_datum in chains:
        chain = SliceChain(model, slices, test, problem.mode, np.random.default_rng(4))
        draws = chain.advance(UPDATES)
        share = float(ess(draws.theta).mean()) / UPDATES
        used = float(draws.n_used.mean())
        sd = float(np.mean(draws.theta.std(axis=0) / np.sqrt(np.diag(problem.covariance))))
        lines.append(f"| {name} | {used / N_DATA:.2f} | {1e6 * share / (per_datum * used):.2f} | {sd:.2f} |")
    seen = audit_slice(
        np.random.default_rng(5), problem.model, slices, SequentialTest.from_design(plain), problem.mode, AUDITED
    )
    return [
        *lines,
        "",
        f"{seen.tests:,} membership tests at m = 500, ε = .01: decided wrongly {seen.wrong.value:.4f} ± "
        f"{seen.wrong.se:.4f} (predicted {seen.wrong.predicted:.4f}), data read {seen.usage.value:.1%} ± "
        f"{seen.usage.se:.1%} (predicted {seen.usage.predicted:.1%}).",
        "",
    ]


def growth_lines() -> list[str]:
    """Equal and growing looks at the same mean |Δ|."""
    lines = [
        "### Growing looks: 200 pairs at stationarity (acceptance 0.4), m = 500, ε solved for mean |Δ| = .02",
        "",
        "| N | growth | looks at most | looks taken | data |",
        "|---|---|---|---|---|",
    ]
    for n in (10**5, 10**7):
        trial = TrialRun.at_stationarity(n, 0.4, 200, np.random.default_rng(0))
        for growth in (1.0, 1.1, 1.5, 2.0):
            design = _with_error(trial, growth, 0.02)
            step = acceptance(design, trial, tolerance=1e-6)
            looks = as_plan(design).schedule.size
            lines.append(f"| {n:,} | {growth:g} | {looks:,} | {step.looks.mean():.1f} | {step.mean_usage:.1%} |")
    return [*lines, ""]


def _with_error(trial: TrialRun, growth: float, target: float) -> Design:
    """The design with m = 500 whose mean |Δ| is the target, by bisection in log ε."""
    low, high = math.log(1e-5), math.log(0.4)
    for _ in range(12):
        middle = 0.5 * (low + high)
        design = Design(trial.n_data, 500, math.exp(middle), growth=growth)
        error = acceptance(design, trial, tolerance=1e-5).mean_abs_delta
        low, high = (middle, high) if error < target else (low, middle)
    return Design(trial.n_data, 500, math.exp(low), growth=growth)


def report() -> list[str]:
    """The section of RESULTS.md."""
    return [
        "## Gibbs sampling of K values, slice sampling, growing looks",
        "",
        *gibbs_lines(),
        *slice_lines(make_problem()),
        *growth_lines(),
    ]


if __name__ == "__main__":
    print("\n".join(report()))
