"""How far the families are from the best possible boundary: `python -m benchmarks.search.boundaries`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from designer import Boundary, OptimalBoundary, Plan, Schedule, TrialRun, acceptance, optimal_boundary
from designer.check.simulate import simulate_step
from designer.further.optimal_boundary.boundary import bounds_of
from designer.pairs.examples import example

N_DATA, LOOKS, PAIRS = 100_000, 25, 100
ACCEPTANCES, TOLERANCES = (0.2, 0.45, 0.8), (0.1, 0.02, 0.005)
KNOTS = 4  # of a boundary optimised directly, each side
SIMULATED, REPEATS = 6, 4000


class Case(NamedTuple):
    """The best symmetric and the best free boundary for one trial run and tolerance."""

    name: str
    trial: TrialRun
    symmetric: OptimalBoundary
    free: OptimalBoundary


def report() -> list[str]:
    """The section of RESULTS.md."""
    cases = [
        _case(f"stationary, acceptance {rate:g}", _stationary(rate), tolerance)
        for rate in ACCEPTANCES
        for tolerance in TOLERANCES
    ]
    cases += [_case(f"example `{name}`", example(name), 0.02) for name in ("logistic", "control")]
    return [
        f"## Best possible boundaries: {LOOKS} equal looks",
        "",
        "Data read per step at mean |Δ| = Δ*; in brackets how much more than the lower bound of symmetric boundaries. "
        "`free`: the two bounds may differ.",
        "",
        "| pairs | Δ* | lower bound | best | Pocock | O'Brien–Fleming | best Wang–Tsiatis | lower bound, free "
        "| best, free | interval | largest \\|Δ\\|, symmetric | free |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
        *map(_row, cases),
        "",
        *_direct(cases[1]),
        "",
        *_simulated(cases[1]),
        "",
    ]


def _stationary(rate: float) -> TrialRun:
    return TrialRun.at_stationarity(N_DATA, rate, PAIRS, np.random.default_rng(1))


def _case(name: str, trial: TrialRun, tolerance: float) -> Case:
    m = -(-trial.n_data // LOOKS)
    both = (optimal_boundary(trial, tolerance, m, symmetric=symmetric) for symmetric in (True, False))
    return Case(name, trial, *both)


def _row(case: Case) -> str:
    one, free = case.symmetric, case.free
    rivals = [
        "none" if rival.usage is None else f"{rival.usage:.2%} (+{one.excess(rival):.2%})" for rival in one.rivals
    ]
    largest = (acceptance(optimum.design, case.trial).max_abs_delta for optimum in (one, free))
    cells = [
        case.name,
        f"{one.tolerance:g}",
        f"{one.lower_bound:.2%}",
        f"{one.usage:.2%} (+{one.best_excess:.2%})",
        *rivals,
        f"{free.lower_bound:.2%}",
        f"{free.usage:.2%} (+{free.best_excess:.2%})",
        "yes" if one.interval and free.interval else "free: no" if one.interval else "no",
        *(f"{value:.3f}" for value in largest),
    ]
    return f"| {' | '.join(cells)} |"


def _direct(case: Case) -> list[str]:
    """Usage + λ mean |Δ|, minimised over piecewise linear changes of the bounds by calling the engine."""
    lines = [
        "| direct minimisation from bounds 0.3 too wide | best value reached | proven least value |",
        "|---|---|---|",
    ]
    for kind, optimum in (("symmetric", case.symmetric), ("free", case.free)):
        _, lower, upper = bounds_of(optimum.design)
        schedule = Schedule.equal(case.trial.n_data, optimum.design.m)

        def value(knots: np.ndarray, optimum=optimum, upper=upper, lower=lower, schedule=schedule) -> float:
            place = np.linspace(0.0, KNOTS - 1.0, upper.size)
            wider = [np.interp(place, np.arange(KNOTS), part) for part in knots.reshape(-1, KNOTS)]
            high = upper + wider[0]
            boundary = Boundary.explicit(np.minimum(lower - wider[-1], high), high)
            step = acceptance(Plan(schedule, boundary), case.trial, tolerance=1e-7)
            return step.mean_usage + optimum.price * step.mean_abs_delta

        start = np.full(KNOTS if optimum.symmetric else 2 * KNOTS, 0.3)
        best = minimize(value, start, method="Nelder-Mead", options={"maxfev": 400, "adaptive": True}).fun
        least = optimum.lower_bound + optimum.price * optimum.tolerance
        lines.append(f"| {kind}, {KNOTS} knots each side, λ = {optimum.price:.2f} | {best:.5f} | {least:.5f} |")
    return lines


def _simulated(case: Case) -> list[str]:
    """Real Student tests with the free boundary, on normal data with the moments of some pairs."""
    design, rng = case.free.design, np.random.default_rng(2)
    trial, worst = case.trial, 0.0
    values = rng.standard_normal(trial.n_data)
    values = (values - values.mean()) / values.std()
    lines = ["| A | κ | Δ predicted | simulated | data predicted | simulated |", "|---|---|---|---|---|---|"]
    order = np.argsort(trial.log_acceptance)
    for i in order[np.linspace(0, len(trial) - 1, SIMULATED).astype(int)]:
        want = acceptance(design, trial.subset([int(i)]))
        seen = simulate_step(rng, design, trial.mu[i] + trial.sigma[i] * values, repeats=REPEATS)
        worst = max(
            worst, abs(seen.delta - want.delta[0]) / seen.delta_se, abs(seen.usage - want.usage[0]) / seen.usage_se
        )
        lines.append(
            f"| {trial.log_acceptance[i]:.2f} | {trial.kappa[i]:.2f} | {want.delta[0]:.4f} | {seen.delta:.4f} ± "
            f"{seen.delta_se:.4f} | {want.usage[0]:.2%} | {seen.usage:.2%} ± {seen.usage_se:.2%} |"
        )
    return [*lines, "", f"Largest difference: {worst:.1f} standard errors."]


if __name__ == "__main__":
    print("\n".join(report()))
