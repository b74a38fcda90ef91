"""E1: error and data use of one sequential test: theory, and simulation with real log-likelihood differences.

Quick has the paper's size (1000 tests at each point). Full has twenty times as many tests, to resolve what the paper's
error bars hide, and 400,000 steps for each row of a table about skewness, which the paper does not have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer import Design, TrialRun, acceptance, characteristics, simulate, simulate_step
from designer.core.arrays import Floats, Ints
from designer.engine.skew import SLACK, in_range, slopes
from designer.engine.walk import Characteristics
from designer.rule.boundary import threshold
from designer.rule.plan import as_plan
from samplers.chains.chain import Chain
from samplers.data.sources import Source, load
from samplers.decide import Comparison, ExactTest
from samplers.experiments.framework.data_sets import notice, origin_of
from samplers.experiments.framework.report import Cell, Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import with_bars
from samplers.models.control import find_mode
from samplers.models.logistic import Logistic
from samplers.models.moments import moments
from samplers.proposals import RandomWalk

SURPRISE = 4.0  # standard errors
LEANING = 3.0  # standard errors
ON_THEORY = "error and data use with normal lᵢ agree with the theory within 4 standard errors"
CORRECTED = (
    "error and data use on lᵢ of the data agree with the theory with skewness, within 4 s.e. and second-order terms"
)
STUDENT = "at n = 500 and more, each tail of t beyond Student's 5% points holds 4% to 6%, within 4 s.e. (K14 Fig. 7)"
LARGE, TAIL = 500, 0.05  # K14's rule is m ≈ 500
KOLMOGOROV = 1.95  # sqrt(n) times the distance of n independent draws exceeds this with probability 0.001
NEAR = 3.0  # |μ_std| up to which errors are not rare
NEAR_ZERO = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
MU_STD = (*(-mu for mu in reversed(NEAR_ZERO)), 0.0, *NEAR_ZERO)
SHAPES = {"normal": 0.0, "gamma(4)": 1.0, "exponential": 2.0, "−exponential": -2.0}  # skewness


class Settings(NamedTuple):
    """The tests of the figures, and the steps of the table about skewness: (shape of lᵢ, m, A)."""

    repeats: int
    skew_repeats: int
    rows: int | None = None
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1)
    m: int = 500
    mu_std: tuple[float, ...] = MU_STD
    prior_precision: float = 10.0
    walk: float = 0.01
    warmup: int = 200
    samples: int = 5000
    sizes: tuple[int, ...] = (20, 100, 500, 5000)
    walks: int = 5
    walk_mu_std: float = 2.0
    skewed: tuple[tuple[str, int, float], ...] = (
        ("normal", 500, -0.7),
        ("normal", 100, 0.5),
        ("gamma(4)", 500, -0.7),
        ("gamma(4)", 500, 0.5),
        ("gamma(4)", 100, -0.7),
        ("exponential", 500, -0.7),
        ("−exponential", 500, -0.7),
    )
    skew_data: int = 20_000
    skew_kappa: float = 1.3
    skew_epsilon: float = 0.05
    seed: int = 1


def parts(settings: Settings) -> list[str]:
    """A curve for each ε, the statistic itself, and skewed lᵢ."""
    return [*(f"epsilon{epsilon:g}" for epsilon in settings.epsilons), "statistic", "skewness"]


def work(settings: Settings, name: str, work: Work) -> Values:
    """The numbers of one part."""
    rng = generator(settings.seed, "e1", name)
    if name == "skewness":
        return _skewness(rng, settings, work)
    source = load("mnist79", work.data, settings.rows)
    work.step(0.1, "a pair of the random walk")
    population = _differences(generator(settings.seed, "e1", "pair"), settings, source)  # the same in every part
    skewness = _skew(population)
    known = {**origin_of(source), "n_data": population.size, "skewness": skewness}
    work.step(0.3, "tests")
    if name == "statistic":
        return {**known, **_statistic(rng, settings, population)}
    design = Design(population.size, settings.m, float(name.removeprefix("epsilon")))
    at, fine = (characteristics(design, mu) for mu in (settings.mu_std, _fine(settings)))
    values = {**known, "mu_std": np.array(settings.mu_std), "theory_error": at.error, "theory_usage": at.usage}
    for kind, terms in (("data", population), ("normal", None)):
        seen = simulate(rng, design, settings.mu_std, settings.repeats, terms)
        values |= {f"{kind}_{key}": getattr(seen, key) for key in ("error", "error_se", "usage", "usage_se")}
        work.step(0.7, "tests of normal lᵢ")
    values |= _corrected(design, np.array(settings.mu_std), skewness, at, "corrected")
    values |= _corrected(design, _fine(settings), skewness, fine, "fine_corrected")
    return {**values, "fine_error": fine.error, "fine_usage": fine.usage}


def _corrected(design: Design, mu_std: Floats, skewness: float, at: Characteristics, name: str) -> dict[str, Floats]:
    """Error and data use with the first-order effect of skewness; NaN where first order is not enough."""
    plan = as_plan(design)
    slope, enough = slopes(plan, mu_std), bool(in_range(plan, np.array([skewness]))[0])
    change = skewness if enough else np.nan
    return {f"{name}_error": at.error + change * slope.error(mu_std), f"{name}_usage": at.usage + change * slope.usage}


def _fine(settings: Settings) -> Floats:
    return np.linspace(min(settings.mu_std), max(settings.mu_std), 401)


def _differences(rng: np.random.Generator, settings: Settings, source: Source) -> Floats:
    """The lᵢ of one proposal of the random walk, after some steps from the mode."""
    model = Logistic.from_data(source.x, source.y, settings.prior_precision)
    walk = RandomWalk.isotropic(settings.walk, model.dimension)
    chain = Chain(model, walk, ExactTest(), find_mode(model), rng)
    chain.advance(settings.warmup)
    return model.terms(chain.theta, walk.propose(rng, chain.theta).theta, np.arange(model.n_data))


def _skew(values: Floats) -> float:
    return moments(Comparison(values.size, lambda indices: values[indices]))[2]


def _statistic(rng: np.random.Generator, settings: Settings, population: Floats) -> dict[str, Floats]:
    """t of many samples of n data at μ = μ_0 (K14 Fig. 7), and z along some tests with drift (Fig. 8)."""
    n_data, m, mean = population.size, settings.m, population.mean()
    sizes = np.array([n for n in settings.sizes if 2 * n <= n_data])
    t = np.empty((sizes.size, settings.samples))
    for row, n in enumerate(sizes):
        for k in range(settings.samples):
            t[row, k] = _z(rng.choice(population, n, replace=False, shuffle=False), np.array([n]), n_data, mean)[0]
    looks = as_plan(Design(n_data, m, 0.05)).schedule.n[:-1]
    mu_0 = population.mean() - settings.walk_mu_std * population.std() / np.sqrt(n_data - 1.0)
    walks = np.array([_z(rng.permutation(population), looks, n_data, mu_0) for _ in range(settings.walks)])
    return {"t": t, "sizes": sizes, "walks": walks, "pi": looks / n_data}


def _z(values: Floats, looks: Ints, n_data: int, mu_0: float) -> Floats:
    """The studentised mean at each look (K14 Eqns 4 and 5)."""
    shifted = values - mu_0
    n = looks.astype(np.float64)
    mean = np.cumsum(shifted)[looks - 1] / n
    square = np.cumsum(shifted * shifted)[looks - 1] / n
    deviation = np.sqrt((square - mean**2) * n / (n - 1.0))
    z: Floats = mean / (deviation / np.sqrt(n) * np.sqrt(1.0 - (n - 1.0) / (n_data - 1.0)))
    return z


def _skewness(rng: np.random.Generator, settings: Settings, work: Work) -> Values:
    """Δ of one step for lᵢ of several shapes: from μ and σ alone, with skewness, and simulated."""
    n, kappa = settings.skew_data, settings.skew_kappa
    rows = []
    for number, (shape, m, a) in enumerate(settings.skewed):
        work.step(number / len(settings.skewed), f"{shape}, m = {m}")
        values = _drawn(rng, shape, n)
        values = (values - values.mean()) / values.std() * (kappa * np.sqrt(n - 1.0) / n) + a / n
        design = Design(n, m, settings.skew_epsilon)
        trial = TrialRun(n, [values.mean()], [values.std()], skew=[_skew(values)])
        theory, corrected = (acceptance(design, trial, skew=known) for known in (False, True))
        seen = simulate_step(rng, design, values, repeats=settings.skew_repeats)
        deltas = theory.delta[0], corrected.delta[0], seen.delta, seen.delta_se
        rows.append([_skew(values), *deltas, theory.usage[0], corrected.usage[0], seen.usage])
    return {"rows": np.array(rows)}


def _drawn(rng: np.random.Generator, shape: str, n: int) -> Floats:
    if shape == "normal":
        return rng.standard_normal(n)
    if shape == "gamma(4)":
        return rng.gamma(4.0, size=n)
    sign = -1.0 if shape.startswith("−") else 1.0
    return sign * rng.exponential(size=n)


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """K14 Figs 1, 10, 7 and 8, and the table about skewness."""
    curves = {epsilon: values[f"epsilon{epsilon:g}"] for epsilon in settings.epsilons}
    skew = values["skewness"]["rows"]
    distance, corrected = (skew[:, 3] - skew[:, 1]) / skew[:, 4], np.abs(skew[:, 3] - skew[:, 2])
    covered = np.isfinite(corrected)
    signs = np.array([np.sign(SHAPES[shape]) for shape, _, _ in settings.skewed])
    uncertain = (signs != 0.0) & np.array([a < 0.0 for _, _, a in settings.skewed])
    lowered = -(signs * distance)[uncertain]
    leaning = [_leaning(part) for part in curves.values()]
    checks = {
        ON_THEORY: _off(curves) <= SURPRISE,
        "Δ with normal lᵢ agrees with the theory within 4 standard errors": bool(
            np.all(np.abs(distance[signs == 0.0]) <= SURPRISE)
        ),
        CORRECTED: all(_meets(part, key) for part in curves.values() for key in ("error", "usage")),
        "positive skewness lowers Δ of uncertain moves, negative skewness raises it; in total by over 4 s.e.": bool(
            np.all(lowered > 0.0) and lowered.sum() > SURPRISE * np.sqrt(lowered.size)
        ),
        "with the correction for skewness, Δ agrees with the theory within 4 s.e. and second-order terms": bool(
            np.any(covered & (signs != 0.0)) and np.all((corrected - SURPRISE * skew[:, 4])[covered] <= SLACK)
        ),
    }
    statistic = _statistic_table(values["statistic"])
    checks[STUDENT] = all(abs(row[k] - TAIL) <= 0.01 + SURPRISE * row[3] for row in _large(statistic) for k in (1, 2))
    tables = [_table(curves), _skew_table(settings, skew), statistic]
    panels = _panels(settings, curves, checks) + _statistic_panels(settings, values["statistic"])
    finding = f"{_finding(settings, curves, skew, leaning, checks)} {_statistic_sentence(statistic)}"
    return Report(finding, checks, tables, panels, [notice(curves[settings.epsilons[0]])])


def _off(curves: Mapping[float, Values]) -> float:
    """The largest difference between normal lᵢ and the theory, in standard errors."""

    def distance(part: Values, key: str) -> float:
        se = np.maximum(
            part[f"normal_{key}_se"], 1.0 / part["n_data"]
        )  # a data use that never varied is known to one datum
        return float(np.max(np.abs(part[f"normal_{key}"] - part[f"theory_{key}"]) / se))

    return max(distance(part, key) for part in curves.values() for key in ("error", "usage"))


def _meets(part: Values, key: str) -> bool:
    """Whether tests on lᵢ of the data agree with the theory with skewness; False if that does not apply."""
    off = np.abs(part[f"data_{key}"] - part[f"corrected_{key}"])
    return bool(np.all(off <= SURPRISE * part[f"data_{key}_se"] + SLACK))


def _leans(curves: Mapping[float, Values], leaning: list[float]) -> bool:
    """Whether tests on lᵢ of the data clearly err more often on the side that the skewness favours."""
    return all(
        value * np.sign(part["skewness"]) > LEANING for value, part in zip(leaning, curves.values(), strict=True)
    )


def _leaning(part: Values) -> float:
    """Mean error at μ_std > 0 minus mean error at μ_std < 0, in standard errors."""
    mu, error, se = part["mu_std"], part["data_error"], part["data_error_se"]
    near = (mu != 0.0) & (np.abs(mu) <= NEAR)
    return float(np.sum(np.sign(mu[near]) * error[near]) / np.sqrt(np.sum(se[near] ** 2)))


def _finding(
    settings: Settings, curves: Mapping[float, Values], skew: Floats, leaning: list[float], checks: Mapping[str, bool]
) -> str:
    first, middle = next(iter(curves.values())), settings.mu_std.index(0.0)
    worst = "; ".join(
        f"ε = {epsilon:g}: error {part['normal_error'][middle]:.3f} (theory {part['theory_error'][middle]:.3f}), data "
        f"use {part['normal_usage'][middle]:.3f} ({part['theory_usage'][middle]:.3f})"
        for epsilon, part in curves.items()
    )
    leant = "; ".join(
        f"ε = {epsilon:g}: the error differs by at most {_most(part, 'theory'):.3f} from the theory "
        f"({_shown(_most(part, 'corrected'), '.3f')} with the correction for skewness), with more wrong "
        f"{'acceptances' if value < 0 else 'rejections'} ({abs(value):.1f} standard errors)"
        for (epsilon, part), value in zip(curves.items(), leaning, strict=True)
    )
    shown = "; ".join(
        f"{shape}, m = {m}, A = {a:g}: Δ = {row[3]:.4f} ± {row[4]:.4f} (theory {row[1]:.4f}, corrected "
        f"{_shown(row[2], '.4f')})"
        for (shape, m, a), row in zip(settings.skewed, skew, strict=True)
        if SHAPES[shape] != 0.0
    )
    agree, figures = ("agree", " This reproduces K14 Figs 1 and 10.") if checks[ON_THEORY] else ("do NOT agree", "")
    lean = "lean to one side" if _leans(curves, leaning) else "do not clearly lean to one side"
    return (
        f"N = {first['n_data']:,}, m = {settings.m}, {settings.repeats:,} tests at each of {len(settings.mu_std)} "
        f"values of μ_std. With normal lᵢ, error and data use {agree} with the theory: they differ by at most "
        f"{_off(curves):.1f} standard errors. In the worst case, μ_std = 0: {worst}.{figures} The lᵢ of a step of "
        f"logistic regression are skewed ({first['skewness']:.2f}), and the errors {lean}: {leant}. The effect of "
        f"skewness on a step, for lᵢ of known shape: {shown}."
    )


def _shown(value: float, form: str) -> str:
    """A number, or the reason why there is none."""
    return "none: too skewed for m" if np.isnan(value) else f"{value:{form}}"


def _most(part: Values, theory: str) -> float:
    """The largest difference between a theory and the error on lᵢ of the data."""
    return float(np.abs(part["data_error"] - part[f"{theory}_error"]).max())


def _table(curves: Mapping[float, Values]) -> ResultTable:
    columns = ["ε", "μ_std"]
    keys = ["mu_std"]
    for key, title in (("error", "error"), ("usage", "data use")):
        columns += [f"{title}, theory", f"{title}, normal lᵢ", "± s.e."]
        columns += [f"{title}, with skewness", f"{title}, lᵢ of the data", "± s.e."]
        keys += [f"theory_{key}", f"normal_{key}", f"normal_{key}_se"]
        keys += [f"corrected_{key}", f"data_{key}", f"data_{key}_se"]
    rows = [
        [epsilon, *map(float, row)]
        for epsilon, part in curves.items()
        for row in zip(*(part[key] for key in keys), strict=True)
    ]
    return ResultTable("One sequential test (K14 Figs 1 and 10)", columns, rows)


def _skew_table(settings: Settings, skew: Floats) -> ResultTable:
    columns = ["lᵢ", "m", "A", "skewness", "Δ theory", "Δ with skewness", "Δ simulated", "± s.e."]
    columns += ["data use theory", "data use with skewness", "data use simulated"]
    rows: list[list[Cell]] = [[*given, *map(float, row)] for given, row in zip(settings.skewed, skew, strict=True)]
    return ResultTable(f"Skewed lᵢ: N = {settings.skew_data:,}, κ = {settings.skew_kappa:g}", columns, rows)


def _panels(settings: Settings, curves: Mapping[float, Values], checks: Mapping[str, bool]) -> list[Panel]:
    panels = []
    lean = "; tests on lᵢ of the data follow the curves with skewness" if checks[CORRECTED] else ""
    fine = _fine(settings).tolist()
    for key, title, figure in (("error", "Error", 1), ("usage", "Data use", 10)):
        series = []
        for epsilon, part in curves.items():
            series.append(Series(f"theory, ε = {epsilon:g}", fine, part[f"fine_{key}"].tolist()))
            if np.all(np.isfinite(part[f"fine_corrected_{key}"])):
                name = f"theory with skewness, ε = {epsilon:g}"
                series.append(Series(name, fine, part[f"fine_corrected_{key}"].tolist()))
            series.append(_points(part, "data", key, f"lᵢ of the data, ε = {epsilon:g}"))
            series.append(_points(part, "normal", key, f"normal lᵢ, ε = {epsilon:g}"))
        note = f"Error and data use fall quickly as μ_std moves away from 0{lean}."
        panels.append(Panel(f"{title} of one test (K14 Fig. {figure})", "μ_std", title.lower(), series, note=note))
    return panels


def _points(part: Values, kind: str, key: str, name: str) -> Series:
    return with_bars(name, part["mu_std"], part[f"{kind}_{key}"], part[f"{kind}_{key}_se"])


def _statistic_table(part: Values) -> ResultTable:
    """How t at μ = μ_0 compares with Student's distribution, for each number of data."""
    from scipy.special import stdtr, stdtrit

    rows: list[list[Cell]] = []
    for n, t in zip(part["sizes"].tolist(), part["t"], strict=True):
        edge, ordered = float(stdtrit(n - 1.0, 1.0 - TAIL)), np.sort(t)
        below, grid = stdtr(n - 1.0, ordered), np.arange(t.size + 1) / t.size
        away = max(float(np.max(grid[1:] - below)), float(np.max(below - grid[:-1])))
        tails = float(np.mean(t < -edge)), float(np.mean(t > edge)), math.sqrt(TAIL * (1.0 - TAIL) / t.size)
        rows.append([n, *tails, away, KOLMOGOROV / math.sqrt(t.size)])
    columns = ["n", "below the 5% point", "above the 95% point", "± s.e.", "Kolmogorov distance", "99.9% of its noise"]
    return ResultTable("The t statistic at μ = μ_0 beside Student's distribution (K14 Fig. 7)", columns, rows)


def _large(table: ResultTable) -> list[list[float]]:
    """The rows with enough data for K14's rule m ≈ 500."""
    return [[float(cell) for cell in row if cell is not None] for row in table.rows if float(row[0] or 0) >= LARGE]


def _statistic_sentence(table: ResultTable) -> str:
    shown = "; ".join(f"{row[1]:.1%} and {row[2]:.1%} at n = {row[0]:,}" for row in table.rows)
    return f"Of the t statistic at μ = μ_0, below and above the points where Student's distribution has 5%: {shown}."


def _statistic_panels(settings: Settings, part: Values) -> list[Panel]:
    from scipy.special import gammaln

    edges = np.linspace(-4.0, 4.0, 41)
    x, fine = 0.5 * (edges[1:] + edges[:-1]), np.linspace(-4.0, 4.0, 161)
    normal = np.exp(-0.5 * fine**2) / np.sqrt(2.0 * np.pi)
    panels = []
    for n, t in zip(part["sizes"].tolist(), part["t"], strict=True):
        density = np.histogram(t, edges)[0] / (t.size * (edges[1] - edges[0]))
        nu = n - 1.0
        scale = np.exp(gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu)) / np.sqrt(nu * np.pi)
        student = scale * (1.0 + fine**2 / nu) ** (-0.5 * (nu + 1.0))
        series = [
            Series("samples without replacement", x.tolist(), density.tolist(), style="bars"),
            Series("normal", fine.tolist(), normal.tolist()),
            Series("Student", fine.tolist(), student.tolist()),
        ]
        note = "Bars: samples without replacement. Lines: the normal and Student's distribution."
        panels.append(Panel(f"The statistic at n = {n:,} and μ = μ_0 (K14 Fig. 7)", "t", "density", series, note=note))
    pi = part["pi"]
    mean, bound = settings.walk_mu_std * np.sqrt(pi / (1.0 - pi)), threshold(0.05)
    lines = [Series("mean ± 1.96", pi.tolist(), mean.tolist(), (mean - 1.96).tolist(), (mean + 1.96).tolist())]
    lines += [Series(f"test {k}", pi.tolist(), z.tolist()) for k, z in enumerate(part["walks"], start=1)]
    lines += [Series(f"bound {sign:+g} G", [0.0, 1.0], [sign * bound] * 2) for sign in (1.0, -1.0)]
    title = f"z along some tests, μ_std = {settings.walk_mu_std:g} (K14 Figs 8 and 9)"
    note = "The mean of z grows without bound towards the full data, so that the last decision is always right."
    return [*panels, Panel(title, "fraction of the data", "z", lines, note=note)]


_TINY = (("normal", 300, -0.7), ("exponential", 300, -0.7), ("−exponential", 300, -0.7))

EXPERIMENT = Experiment(
    name="e1",
    title="One sequential test",
    source="K14 §5.1 and supplement A, Figs 1, 7-10",
    question="Does a sequential test make as many errors, and read as much data, as the theory says?",
    sizes={
        "tiny": Settings(
            4000, 20_000, 4000, (0.05,), 200, (-5.0, -1.0, 0.0, 1.0, 5.0), samples=500, skewed=_TINY, skew_data=6000
        ),
        "quick": Settings(1000, 10_000),
        "full": Settings(20_000, 400_000, samples=20_000),
    },
    parts=parts,
    work=work,
    report=report,
    data=("mnist79",),
)
