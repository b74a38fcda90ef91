"""E2: the error of one accept/reject step, by theory and by simulation; wrong decisions of both kinds cancel.

K14 does not give the size of its simulation. Quick and full differ in the number of simulated steps only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer import Design, TrialRun, acceptance, simulate_step, worst_case
from designer.schedule import Floats
from samplers.experiments.drawing import with_bars
from samplers.experiments.report import Panel, Report, Series, Table
from samplers.experiments.running import Experiment, Values, Work
from samplers.experiments.seeds import generator

SURPRISE = 4.0  # standard errors
EVEN = (0.3, 0.7)  # acceptance probabilities that count as about a half
COLUMNS = ("a", "kappa", "probability", "delta", "wrong", "usage")
SIMULATED = ("delta", "wrong", "usage")


class Settings(NamedTuple):
    """The test, the pairs on curves (A for each kappa), the pairs of a random walk, and how often each step is run."""

    repeats: int
    pairs: int
    kappas: tuple[float, ...] = (0.7, 1.3, 2.5)
    log_acceptance: tuple[float, ...] = (-3.0, -2.0, -1.2, -0.7, -0.35, -0.1, 0.25, 0.75, 1.5)
    n_data: int = 12_214
    m: int = 500
    epsilon: float = 0.05
    walk_acceptance: float = 0.5
    curve_points: int = 121
    seed: int = 1

    @property
    def design(self) -> Design:
        """The test."""
        return Design(self.n_data, self.m, self.epsilon)


def parts(settings: Settings) -> list[str]:
    """A curve for each kappa, and the pairs of a random walk."""
    return [*(f"kappa{kappa:g}" for kappa in settings.kappas), "walk"]


def work(settings: Settings, name: str, work: Work) -> Values:
    """Theory and simulation of the pairs of one part; of a curve, theory in between too."""
    rng = generator(settings.seed, "e2", name)
    if name == "walk":
        trial = TrialRun.at_stationarity(settings.n_data, settings.walk_acceptance, settings.pairs, rng)
        return _both(rng, settings, trial.log_acceptance, trial.kappa, work)
    kappa = float(name.removeprefix("kappa"))
    a = np.array(settings.log_acceptance)
    fine = np.linspace(a.min(), a.max(), settings.curve_points)
    curve = {f"curve_{key}": value for key, value in _theory(settings, fine, np.full(fine.size, kappa)).items()}
    return {**_both(rng, settings, a, np.full(a.size, kappa), work), **curve}


def _both(rng: np.random.Generator, settings: Settings, a: Floats, kappa: Floats, work: Work) -> dict[str, Floats]:
    """The theory's columns and the simulation's, with standard errors."""
    rows = []
    for number, pair in enumerate(zip(a, kappa, strict=True)):
        work.step(number / a.size)
        population = _population(rng, settings.n_data, *pair)
        seen = simulate_step(rng, settings.design, population, repeats=settings.repeats)
        rows.append([value for key in SIMULATED for value in (getattr(seen, key), getattr(seen, f"{key}_se"))])
    simulated = np.array(rows).T
    names = [name for key in SIMULATED for name in (f"seen_{key}", f"seen_{key}_se")]
    return {**_theory(settings, a, kappa), **dict(zip(names, simulated, strict=True))}


def _theory(settings: Settings, a: Floats, kappa: Floats) -> dict[str, Floats]:
    n = settings.n_data
    trial = TrialRun(n, a / n, kappa * np.sqrt(n - 1.0) / n)
    step = acceptance(settings.design, trial)
    return dict(zip(COLUMNS, (a, kappa, step.probability, step.delta, step.wrong, step.usage), strict=True))


def _population(rng: np.random.Generator, n: int, a: float, kappa: float) -> Floats:
    """Normal l_i with exactly this A and kappa."""
    values = rng.standard_normal(n)
    values -= values.mean()
    values *= kappa * np.sqrt(n - 1.0) / n / values.std()
    return values + a / n


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """K14 Figs 11 and 12, and Delta against A."""
    walk = values["walk"]
    off = {key: _off(values, key) for key in SIMULATED}
    even = (walk["probability"] >= EVEN[0]) & (walk["probability"] <= EVEN[1])
    delta, wrong = (float(np.abs(walk[key])[even].mean()) for key in ("delta", "wrong"))
    worst = worst_case(settings.design).error[0]
    checks = {
        "simulated Δ, wrong decisions and data use lie on the theory within 4 standard errors": max(off.values())
        <= SURPRISE,
        "where P_a is about a half, mean |Δ| is less than half of the mean probability of a wrong decision": delta
        < 0.5 * wrong,
        "no |Δ| exceeds the worst-case error": max(float(np.abs(part["delta"]).max()) for part in values.values())
        <= worst,
    }
    finding = (
        f"N = {settings.n_data:,}, m = {settings.m}, ε = {settings.epsilon:g}: over {int(even.sum())} pairs of a "
        f"random walk with P_a between {EVEN[0]:g} and {EVEN[1]:g} a decision is wrong with probability {wrong:.3f} on "
        f"average, but the acceptance probability is off by {delta:.4f} only, because wrong acceptances and wrong "
        f"rejections cancel; the worst-case bound is {worst:.3f}. Over all {walk['a'].size} pairs mean |Δ| is "
        f"{np.abs(walk['delta']).mean():.4f} and data use {walk['usage'].mean():.3f}. Where A > 0 nothing cancels and "
        f"Δ is negative. The largest distance of simulation ({settings.repeats:,} steps per pair) from theory is "
        f"{max(off.values()):.1f} standard errors. This is what K14 Figs 11 and 12 show, here with error bars."
    )
    return Report(finding, checks, [_table(settings, values)], _panels(settings, values, worst))


def _off(values: Mapping[str, Values], key: str) -> float:
    """The largest distance of simulation from theory in any part, in standard errors."""
    return max(float(np.max(np.abs(v[f"seen_{key}"] - v[key]) / v[f"seen_{key}_se"])) for v in values.values())


def _table(settings: Settings, values: Mapping[str, Values]) -> Table:
    columns = ["κ", "A", "P_a", "Δ theory", "Δ simulated", "± s.e.", "E_u[E] theory", "E_u[E] simulated", "± s.e."]
    keys = ("kappa", "a", "probability", "delta", "seen_delta", "seen_delta_se", "wrong", "seen_wrong", "seen_wrong_se")
    curves = [values[name] for name in parts(settings) if name != "walk"]
    rows = [[float(x) for x in row] for part in curves for row in zip(*(part[key] for key in keys), strict=True)]
    return Table("Error of one step", columns, rows)


def _panels(settings: Settings, values: Mapping[str, Values], worst: float) -> list[Panel]:
    walk = values["walk"]
    p, delta = walk["probability"], walk["seen_delta"]
    by_size = [
        with_bars("|Δ|, simulated", p, np.abs(delta), walk["seen_delta_se"]),
        Series("|Δ|, theory", p.tolist(), np.abs(walk["delta"]).tolist(), style="points"),
        with_bars("P(wrong decision), simulated", p, walk["seen_wrong"], walk["seen_wrong_se"]),
        Series("P(wrong decision), theory", p.tolist(), walk["wrong"].tolist(), style="points"),
        Series("worst case", [0.0, 1.0], [worst, worst]),
    ]
    approximate = [
        with_bars("simulated", p, p + delta, walk["seen_delta_se"]),
        Series("exact", [0.0, 1.0], [0.0, 1.0]),
    ]
    by_a, by_p = [], []
    for kappa in settings.kappas:
        part = values[f"kappa{kappa:g}"]
        simulated = part["seen_delta"], part["seen_delta_se"]
        by_a.append(Series(f"theory, κ = {kappa:g}", part["curve_a"].tolist(), part["curve_delta"].tolist()))
        by_a.append(with_bars(f"simulated, κ = {kappa:g}", part["a"], *simulated))
        below, fine = part["a"] <= 0, part["curve_a"] <= 0
        curve = part["curve_probability"][fine].tolist(), part["curve_delta"][fine].tolist()
        by_p.append(Series(f"theory, κ = {kappa:g}", *curve))
        by_p.append(with_bars(f"simulated, κ = {kappa:g}", part["probability"][below], *(s[below] for s in simulated)))
    return [
        Panel(
            "Error of the acceptance probability (K14 Fig. 11)",
            "exact acceptance probability",
            "error",
            by_size,
            note="Pairs of a random walk: where P_a is about a half, |Δ| is far below P(wrong decision).",
        ),
        Panel(
            "Approximate against exact acceptance probability (K14 Fig. 12)",
            "exact acceptance probability",
            "with the sequential test",
            approximate,
            note="The points lie near the diagonal; moves that should always be accepted (P_a = 1) are sometimes not.",
        ),
        Panel(
            "Δ where the move is not certain",
            "exact acceptance probability",
            "Δ",
            by_p,
            note="Δ changes its sign: unlikely moves are accepted too often, likely ones too rarely.",
        ),
        Panel(
            "Δ against the log of the Metropolis ratio",
            "A",
            "Δ",
            by_a,
            note="For A > 0 the move should always be accepted, so that every error lowers the acceptance probability.",
        ),
    ]


EXPERIMENT = Experiment(
    name="e2",
    title="Error of one accept/reject step",
    source="K14 supplement B, Figs 11 and 12",
    question="A test that often decides wrongly: how wrong is the probability of accepting a move?",
    sizes={
        "tiny": Settings(1000, 40, kappas=(1.3,), log_acceptance=(-2.0, -0.7, 0.5), n_data=2000, m=100),
        "quick": Settings(4000, 60),
        "full": Settings(50_000, 200),
    },
    parts=parts,
    work=work,
    report=report,
)
