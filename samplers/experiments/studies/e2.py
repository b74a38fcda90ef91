"""E2: the error of one accept/reject step, by theory and by simulation; wrong decisions of both kinds cancel.

K14 does not give the size of its simulation. The pairs are those of an exact random walk on handwritten digits, as in
E3. The lᵢ with their A and κ are drawn from a normal distribution, as the theory assumes (E1 uses real ones). Quick
and full differ in the numbers of pairs and of simulated steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer import Design, TrialRun, acceptance, simulate_step, worst_case
from designer.core.arrays import Floats
from samplers.chains.chain import Chain
from samplers.data.sources import load
from samplers.decide import ExactTest
from samplers.experiments.framework.data_sets import notice, origin_of
from samplers.experiments.framework.report import Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import with_bars
from samplers.models.control import find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import RandomWalk
from samplers.study.observe import observe

SURPRISE = 4.0  # standard errors
EVEN = (0.3, 0.7)  # acceptance probabilities that count as about one half
COLUMNS = ("a", "kappa", "probability", "delta", "wrong", "usage")
UNLIKELY = -1.0  # a move is unlikely if A is below this
ON_THEORY = "simulated Δ, wrong decisions and data use agree with the theory within 4 standard errors"
CANCEL = "where P_a is about one half, mean |Δ| is less than half the mean probability of a wrong decision"
OFTEN = "moves with A < -1 are accepted too often, by more than 4 standard errors of their mean Δ"
SIMULATED = ("delta", "wrong", "usage")


class Settings(NamedTuple):
    """The test, the pairs on curves (A for each κ), the pairs of a random walk, and the repeats of each step."""

    repeats: int
    pairs: int
    kappas: tuple[float, ...] = (0.7, 1.3, 2.5)
    log_acceptance: tuple[float, ...] = (-3.0, -2.0, -1.2, -0.7, -0.35, -0.1, 0.25, 0.75, 1.5)
    rows: int | None = None
    n_data: int = 12_214
    m: int = 500
    epsilon: float = 0.05
    prior_precision: float = 10.0
    scale: float = 0.01
    every: int = 20
    curve_points: int = 121
    seed: int = 1

    def design(self, n_data: int) -> Design:
        """The test."""
        return Design(n_data, self.m, self.epsilon)


def parts(settings: Settings) -> list[str]:
    """A curve for each κ, and the pairs of a random walk."""
    return [*(f"kappa{kappa:g}" for kappa in settings.kappas), "walk"]


def work(settings: Settings, name: str, work: Work) -> Values:
    """Theory and simulation of the pairs of one part; for a curve, also the theory in between."""
    rng = generator(settings.seed, "e2", name)
    if name == "walk":
        return _walk(rng, settings, work)
    kappa = float(name.removeprefix("kappa"))
    a = np.array(settings.log_acceptance)
    fine = np.linspace(a.min(), a.max(), settings.curve_points)
    n = settings.n_data
    curve = {f"curve_{key}": value for key, value in _theory(settings, n, fine, np.full(fine.size, kappa)).items()}
    return {**_both(rng, settings, n, a, np.full(a.size, kappa), work), **curve}


def _walk(rng: np.random.Generator, settings: Settings, work: Work) -> Values:
    """Pairs of an exact random walk, one in `every` steps, after a tenth as many steps of warm-up from the mode."""
    source = load("mnist79", work.data, settings.rows)
    model = Logistic.from_data(source.x, source.y, settings.prior_precision)
    walk = RandomWalk.isotropic(settings.scale, model.dimension)
    chain = Chain(model, walk, ExactTest(), find_mode(model), rng)
    steps = settings.every * settings.pairs
    work.step(0.0, "pairs of a random walk")
    chain.advance(max(200, steps // 10))
    seen = observe(chain, steps, settings.every)
    trial = seen.trial(model.n_data)
    known = {**origin_of(source), "n_data": model.n_data, "acceptance": float(seen.draws.accepted.mean())}
    return {**_both(rng, settings, model.n_data, trial.log_acceptance, trial.kappa, work), **known}


def _both(
    rng: np.random.Generator, settings: Settings, n: int, a: Floats, kappa: Floats, work: Work
) -> dict[str, Floats]:
    """The columns of the theory and of the simulation, with standard errors."""
    rows = []
    for number, pair in enumerate(zip(a, kappa, strict=True)):
        work.step(number / a.size)
        population = _population(rng, n, *pair)
        seen = simulate_step(rng, settings.design(n), population, repeats=settings.repeats)
        rows.append([value for key in SIMULATED for value in (getattr(seen, key), getattr(seen, f"{key}_se"))])
    simulated = np.array(rows).T
    names = [name for key in SIMULATED for name in (f"seen_{key}", f"seen_{key}_se")]
    return {**_theory(settings, n, a, kappa), **dict(zip(names, simulated, strict=True))}


def _theory(settings: Settings, n: int, a: Floats, kappa: Floats) -> dict[str, Floats]:
    trial = TrialRun(n, a / n, kappa * np.sqrt(n - 1.0) / n)
    step = acceptance(settings.design(n), trial)
    return dict(zip(COLUMNS, (a, kappa, step.probability, step.delta, step.wrong, step.usage), strict=True))


def _population(rng: np.random.Generator, n: int, a: float, kappa: float) -> Floats:
    """Normal lᵢ with exactly this A and κ."""
    values = rng.standard_normal(n)
    values -= values.mean()
    values *= kappa * np.sqrt(n - 1.0) / n / values.std()
    return values + a / n


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """K14 Figs 11 and 12, and Δ against A."""
    walk = values["walk"]
    off = {key: _off(values, key) for key in SIMULATED}
    even = (walk["probability"] >= EVEN[0]) & (walk["probability"] <= EVEN[1])
    delta, wrong = (float(np.abs(walk[key])[even].mean()) for key in ("delta", "wrong"))
    n = int(walk["n_data"])
    worst = worst_case(settings.design(n)).error[0]
    unlikely = walk["a"] < UNLIKELY
    often = float(walk["seen_delta"][unlikely].sum() / np.hypot(1e-12, np.linalg.norm(walk["seen_delta_se"][unlikely])))
    checks = {
        ON_THEORY: max(off.values()) <= SURPRISE,
        CANCEL: bool(even.any()) and delta < 0.5 * wrong,
        OFTEN: often > SURPRISE,
    }
    cancelled = (
        "because wrong acceptances and wrong rejections cancel" if checks[CANCEL] else "of which less than half cancels"
    )
    shown = " This reproduces K14 Figs 11 and 12, with error bars." if all(checks.values()) else ""
    finding = (
        f"N = {n:,}, m = {settings.m}, ε = {settings.epsilon:g}: over {int(even.sum())} pairs of an exact random walk "
        f"(acceptance {walk['acceptance']:.2f}) with P_a between {EVEN[0]:g} and {EVEN[1]:g}, a decision is wrong with "
        f"probability {wrong:.3f} on average, but the acceptance probability is off by only {delta:.4f}, {cancelled}; "
        f"the worst-case bound is {worst:.3f}. Over all {walk['a'].size} pairs, mean |Δ| is "
        f"{np.abs(walk['delta']).mean():.4f} and data use {walk['usage'].mean():.3f}. Where A > 0, no error can be a "
        f"wrong acceptance, so Δ cannot be positive. Simulation ({settings.repeats:,} steps per pair) and theory "
        f"differ by at most {max(off.values()):.1f} standard errors.{shown}"
    )
    return Report(finding, checks, [_table(settings, values)], _panels(settings, values, worst, checks), [notice(walk)])


def _off(values: Mapping[str, Values], key: str) -> float:
    """The largest difference between simulation and theory in any part, in standard errors."""
    return max(float(np.max(np.abs(v[f"seen_{key}"] - v[key]) / v[f"seen_{key}_se"])) for v in values.values())


def _table(settings: Settings, values: Mapping[str, Values]) -> ResultTable:
    columns = ["κ", "A", "P_a", "Δ theory", "Δ simulated", "± s.e.", "E_u[E] theory", "E_u[E] simulated", "± s.e."]
    keys = ("kappa", "a", "probability", "delta", "seen_delta", "seen_delta_se", "wrong", "seen_wrong", "seen_wrong_se")
    curves = [values[name] for name in parts(settings) if name != "walk"]
    rows = [[float(x) for x in row] for part in curves for row in zip(*(part[key] for key in keys), strict=True)]
    return ResultTable("Error of one step", columns, rows)


def _panels(settings: Settings, values: Mapping[str, Values], worst: float, checks: Mapping[str, bool]) -> list[Panel]:
    walk = values["walk"]
    far = "far below" if checks[CANCEL] else "not far below"
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
            note=f"Pairs of a random walk: where P_a is about one half, |Δ| is {far} P(wrong decision).",
        ),
        Panel(
            "Approximate against exact acceptance probability (K14 Fig. 12)",
            "exact acceptance probability",
            "with the sequential test",
            approximate,
            note="No error on the diagonal; moves that should always be accepted (P_a = 1) can only lie below it.",
        ),
        Panel(
            "Δ where the move is not certain",
            "exact acceptance probability",
            "Δ",
            by_p,
            note="Above 0 moves are accepted too often, below 0 too rarely.",
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
    question="If a test often decides wrongly, how wrong is the probability of accepting a move?",
    sizes={
        "tiny": Settings(1000, 60, (1.3,), (-2.0, -0.7, 0.5), rows=2000, n_data=2000, m=100, scale=0.02),
        "quick": Settings(4000, 60),
        "full": Settings(30_000, 120),
    },
    parts=parts,
    work=work,
    report=report,
    data=("mnist79",),
)
