"""Predictions at small m against the real test, and what small m gains: `python -m benchmarks small_batches`.

Pairs of exact chains with independent proxy proposals on the permanent cases. The real Δ of each pair is simulated with
`simulate_step` on all its lᵢ, which shares no code with resampling but the t statistic.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from benchmarks.samplers.chains import make_problem, measure
from designer.check.simulate import simulate_step
from designer.core.arrays import Floats
from designer.engine.bounds import one_look_bound
from designer.engine.predict import trusted
from designer.engine.resampled import resampled
from designer.engine.step_error import acceptance
from designer.pairs.residuals import Keeper, Residuals
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import as_plan
from samplers.chains.chain import Chain
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.models.moments import moments
from samplers.proposals import ProxyStep
from tests.cases import PROPER

N_DATA, PAIRS, REPEATS = 100_000, 10, 10_000
TESTS = [(10, 0.5), (100, 0.5), (500, 0.5), (20, 0.1), (100, 0.05)]  # m, ε
SIZES = (10, 20, 50, 100, 500)  # m of the chains
ALLOWED, SURPRISE = 0.1, 3.0


class Pairs(NamedTuple):
    """The pairs of one case, with all their lᵢ."""

    trial: TrialRun
    populations: list[Floats]


def pairs_of(name: str, n_data: int = N_DATA, pairs: int = PAIRS) -> Pairs:
    """Pairs from independent normal draws, θ' after θ: those of a chain whose proposals are all accepted."""
    x, y, precision = PROPER[name].data(n_data)
    model = Logistic.from_data(x, y, precision)
    controlled, rng = Controlled.around(model, find_mode(model)), np.random.default_rng(1)
    theta = controlled.centre
    chain = Chain(controlled, ProxyStep.of(controlled), ExactTest(), theta, rng)
    rows, kept, populations = [], [], []
    for _ in range(pairs):
        theta, comparison = chain.propose(rng, theta)
        keeper = Keeper()
        mu, sigma, skew = moments(comparison, keeper)
        rows.append((mu, sigma, comparison.log_ratio, skew))
        kept.append(keeper.kept(mu, sigma, skew))
        populations.append(comparison.terms(np.arange(n_data)))
    mu, sigma, log_ratio, skew = np.array(rows).T
    return Pairs(TrialRun(n_data, mu, sigma, log_ratio, skew, Residuals.joined(kept)), populations)


def table_row(name: str, pairs: Pairs, m: int, epsilon: float) -> tuple[str, int, int]:
    """One row of the table; how many pairs are right, and how many are refused."""
    trial, design = pairs.trial, Design(pairs.trial.n_data, m, epsilon)
    start = time.perf_counter()
    step = resampled(design, trial)
    seconds = time.perf_counter() - start
    seen = [
        simulate_step(np.random.default_rng(k), design, values, float(c), repeats=REPEATS)
        for k, (values, c) in enumerate(zip(pairs.populations, trial.log_ratio, strict=True))
    ]
    real, se = np.array([(one.delta, one.delta_se) for one in seen]).T
    assert step.delta_se is not None
    known = np.isfinite(step.delta)
    apart = np.abs(step.delta - real)
    right = apart <= np.maximum(ALLOWED * np.abs(real), SURPRISE * np.hypot(se, step.delta_se))
    theory = trusted(as_plan(design), trial, False)
    gaussian = acceptance(design, trial, tolerance=1e-5).mean_abs_delta
    bound = float(one_look_bound(design, trial).mean())
    cells = [
        name,
        f"{m}",
        f"{epsilon:g}",
        f"{np.abs(real).mean():.4f} ± {np.sqrt(np.sum(se**2)) / se.size:.4f}",
        f"{gaussian:.4f}",
        f"{np.count_nonzero(theory)} of {theory.size}",
        f"{step.mean_abs_delta:.4f} ± {step.mean_abs_delta_se:.4f}",
        f"{np.count_nonzero(right)} of {np.count_nonzero(known)}",
        f"{bound:.3f}" if np.isfinite(bound) else "-",
        f"{seconds:.2f}",
    ]
    return f"| {' | '.join(cells)} |", int(np.count_nonzero(right)), int(np.count_nonzero(known))


def report() -> list[str]:
    """The section of RESULTS.md."""
    lines = [
        f"## Small batches: predicted and real mean |Δ|, {PAIRS} pairs, N = {N_DATA:,}, proxy proposals",
        "",
        "*Theory in range* counts the pairs for which the normal theory with skewness would be used, not resampling; "
        f"*right*: resampled Δ within {ALLOWED:.0%} or {SURPRISE:g} standard errors of the real test on all data.",
        "",
        "| case | m | ε | real | normal theory | theory in range | resampling | right | bound | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    right, known = 0, 0
    for name in PROPER:
        pairs = pairs_of(name)
        for m, epsilon in TESTS:
            row, good, predicted = table_row(name, pairs, m, epsilon)
            lines.append(row)
            right, known = right + good, known + predicted
    return [*lines, "", f"{right:,} of {known:,} predictions are right.", "", *gains()]


def gains(n_data: int = 1_000_000, seconds: float = 3.0) -> list[str]:
    """Effective draws per second of one-look tests, by m."""
    problem, lines = make_problem(n_data), []
    lines += [
        f"One look (ε = 0.5), proxy proposals, N = {n_data:,}, D = {problem.mode.size}, one core:",
        "",
        "| m | acceptance | steps/s | min ESS/s | beside m = 500 |",
        "|---|---|---|---|---|",
    ]
    runs = {}
    for m in SIZES:
        test = SequentialTest.from_design(Design(n_data, m, 0.5))
        runs[m] = measure(problem, problem.controlled, problem.proxy, test, seconds)
    for m, run in runs.items():
        ratio = run.ess_per_s / runs[500].ess_per_s
        lines.append(f"| {m} | {run.acceptance:.3f} | {run.steps_per_s:,.0f} | {run.ess_per_s:,.0f} | {ratio:.1f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(report()))
