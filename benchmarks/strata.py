"""Designs by kappa against one design: `python -m benchmarks.strata`."""

from __future__ import annotations

import numpy as np

from designer import Design, Stratified, TrialRun, acceptance, stratified
from designer.examples import EXAMPLES, example
from designer.stationary import log_acceptance_at
from samplers.accept import Comparison, StratifiedTest

TOLERANCES = (0.01, 0.05)
SPREADS = (0.5, 1.0, 1.5)  # of log kappa
N_DATA, PAIRS = 100_000, 200
AGREEMENT = ((-0.7, 1.2), (0.5, 1.15), (0.5, 1.3), (-0.3, 2.0), (-0.3, 0.5))  # A, kappa


def spread_pairs(spread: float, seed: int, pairs: int = PAIRS) -> TrialRun:
    """Pairs at stationarity whose log kappa is normal around log 1.3, as of proposals of very different sizes."""
    rng = np.random.default_rng(seed)
    kappa = 1.3 * np.exp(spread * rng.standard_normal(pairs))
    return TrialRun(N_DATA, log_acceptance_at(rng, kappa) / N_DATA, kappa * (N_DATA - 1) ** 0.5 / N_DATA)


def report() -> list[str]:
    """The section of RESULTS.md."""
    return [*_savings(), *_agreement()]


def _savings() -> list[str]:
    lines = [
        "## Designs by κ",
        "",
        "Three strata at most, chosen by the spread of the first batch, against the best single design at the same "
        "mean |Δ|. Made-up pairs are at stationarity, N = 100,000, log κ normal; fresh: other pairs of the same kind, "
        "both tests as they were designed.",
        "",
        "| pairs | tolerance | strata | data, one design | by κ | saved | saved, fresh | mean abs. Δ, fresh |",
        "|---|---|---|---|---|---|---|---|",
    ]
    cases = [(f"bundled: {name}", example(name), None) for name in EXAMPLES]
    cases += [(f"sd of log κ {s:g}", spread_pairs(s, 1), spread_pairs(s, 2, 2000)) for s in SPREADS]
    return [*lines, *(_row(name, trial, fresh, t) for name, trial, fresh in cases for t in TOLERANCES), ""]


def _row(name: str, trial: TrialRun, fresh: TrialRun | None, tolerance: float) -> str:
    found = stratified(trial, tolerance)
    single = found.single
    assert single is not None and single.predicted is not None and single.predicted.mean_usage is not None
    cells = [name, f"{tolerance:g}", str(len(found.designs)), f"{single.predicted.mean_usage:.2%}"]
    cells += [f"{found.usage:.2%}", f"{found.gain:.2%}"]
    if fresh is None:
        cells += ["", ""]
    else:
        alone, strata = acceptance(single, fresh, tolerance=1e-7), found.acceptance(fresh, tolerance=1e-7)
        cells += [f"{1.0 - strata.mean_usage / alone.mean_usage:.2%}"]
        cells += [f"{strata.mean_abs_delta:.4f} (one design {alone.mean_abs_delta:.4f})"]
    return f"| {' | '.join(cells)} |"


def _agreement(repeats: int = 8000) -> list[str]:
    """The real test on Gaussian l_i with the moments of some pairs, some of them beside the edge."""
    n_data = 20_000
    strata = Stratified(200, (1.2,), (Design(n_data, 200, 0.15, 0.8), Design(n_data, 400, 0.03, 0.6)))
    values = np.random.default_rng(0).normal(size=n_data)
    values = (values - values.mean()) / values.std()
    lines = [
        f"The real test, N = {n_data:,}, m₀ = 200, edge κ = 1.2, designs (m, ε, α) = (200, .15, .8) and "
        f"(400, .03, .6), {repeats:,} repetitions:",
        "",
        "| A | κ | P(first stratum) | Δ, predicted | Δ, simulated | data, predicted | data, simulated |",
        "|---|---|---|---|---|---|---|",
    ]
    for a, kappa in AGREEMENT:
        question = Comparison(n_data, (values * kappa * (n_data - 1) ** 0.5 / n_data + a / n_data).take)
        test, rng = StratifiedTest(strata), np.random.default_rng(5)
        found = np.array([test.decide(rng, question)[:2] for _ in range(repeats)], dtype=np.float64)
        (accepted, used), se = found.mean(axis=0), found.std(axis=0) / repeats**0.5
        trial = TrialRun(n_data, [a / n_data], [kappa * (n_data - 1) ** 0.5 / n_data])
        step, first = strata.acceptance(trial), float(strata.memberships(trial.kappa)[0, 0])
        cells = [f"{a:g}", f"{kappa:g}", f"{first:.3f}", f"{step.delta[0]:.4f}"]
        cells += [f"{accepted - step.probability[0]:.4f} ± {se[0]:.4f}", f"{step.usage[0]:.4f}"]
        lines.append(f"| {' | '.join([*cells, f'{used / n_data:.4f} ± {se[1] / n_data:.4f}'])} |")
    return [*lines, ""]


if __name__ == "__main__":
    print("\n".join(report()))
