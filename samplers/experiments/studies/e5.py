"""E5: designs of a sequential test for independent component analysis: optimal, heuristic and worst-case.

Full is the paper's size: 1.95 million samples of music, noise and two Gaussian sources, a walk that accepts half of its
proposals, 100 pairs to find the designs and 100 fresh pairs to measure them. Quick has only some of the samples. The
data set `audio` has four sounds instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from designer import Design, FrontierPoint, Space, TrialRun, bootstrap, frontier
from designer.core.arrays import Floats
from designer.search.criteria import Criterion
from designer.search.resample import Bootstrap
from designer.search.search import Options
from samplers.chains.chain import Chain
from samplers.chains.driver import in_blocks
from samplers.decide import ExactTest
from samplers.experiments.framework.data_sets import notice
from samplers.experiments.framework.report import Cell, Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.shared import Shared
from samplers.experiments.problems.ica_problem import TunedUnmixing, tuned_unmixing
from samplers.study.observe import observe

AVERAGE, FIXED, WORST = "average", "fixed-m", "worst-case"
SHAPED = "average, any alpha"
SHOWN = {
    AVERAGE: "average design",
    FIXED: "fixed m",
    WORST: "worst-case design",
    SHAPED: "average design, bounds of any shape",
}
COLUMNS = ("m", "epsilon", "alpha", "train_error", "train_usage")
HITS = "on fresh pairs, the error of the average design agrees with the target within twice the band"
WASTES = "the worst-case design has less than half its target error, and uses more data than the average design"
HALF = "the walk accepts half of its proposals, within 5 points"
PAIRS = ("mu", "sigma", "skew", "log_ratio")


Data = Literal["audio-gaussian", "audio"]


class Settings(NamedTuple):
    """Rows of the data (None: all), the chain, the pairs, and the tolerances."""

    rows: int | None
    tolerances: tuple[float, ...]
    pairs: int = 100
    every: int = 10
    warmup: int = 100
    data: Data = "audio-gaussian"
    acceptance: float = 0.5
    fixed_m: int = 600
    resamples: int = 1000
    seed: int = 1


class MeasuredDesign(NamedTuple):
    """A design with its error and data use on the training pairs, and on fresh pairs with bands."""

    criterion: str
    tolerance: float
    design: Design
    train_error: float
    train_usage: float
    fresh: Bootstrap


def parts(settings: Settings) -> list[str]:
    """Training pairs with their designs, and fresh pairs of another chain."""
    return ["train", "fresh"]


_PREPARED = Shared[TunedUnmixing]()


def _prepared(settings: Settings, work: Work) -> TunedUnmixing:
    """The problem with its mode and its walk, the same for every part."""
    return tuned_unmixing(settings.data, settings.rows, settings.acceptance, work)


def work(settings: Settings, name: str, work: Work) -> Values:
    """Run a chain and observe its proposals on all data; for "train", find the designs."""
    tuned = _PREPARED.get((settings, work.data), lambda: _prepared(settings, work))
    rng, model = generator(settings.seed, "e5", name), tuned.problem.model
    share = 0.5 if name == "train" else 1.0
    chain = Chain(model, tuned.walk, ExactTest(), tuned.peak.mode, rng)
    for _ in in_blocks(chain, settings.warmup, size=10, stop=lambda: work.step(0.0, "warm-up")):
        pass
    pairs, accepted = [], []
    for k in range(settings.pairs):
        work.step(share * k / settings.pairs, "pairs")
        seen = observe(chain, settings.every, settings.every)
        pairs += seen.pairs
        accepted.append(seen.draws.accepted)
    observed = {
        **tuned.origin,
        "n_data": model.n_data,
        "acceptance": float(np.concatenate(accepted).mean()),
        **{key: np.array([getattr(pair, key) for pair in pairs]) for key in PAIRS},
    }
    return observed if name == "fresh" else {**observed, **_designs(settings, _trial(observed), work)}


def _trial(part: Values) -> TrialRun:
    return TrialRun(part["n_data"], part["mu"], part["sigma"], part["log_ratio"], part["skew"])


def _designs(settings: Settings, trial: TrialRun, work: Work) -> dict[str, Floats]:
    """The designs of K14 (over m and ε), and the average design with α free; a row for each tolerance."""

    def designs(begin: float, space: Space, *criteria: Criterion) -> list[FrontierPoint]:
        def progress(done: int, total: int) -> None:
            work.step(begin + 0.25 * done / total, "designs")

        options: Options = {
            "space": space,
            "fixed_m": settings.fixed_m,
            "confidence": None,  # as in the paper
            "skew": False,
            "progress": progress,
            "cancelled": work.cancelled,
        }
        return frontier(trial, settings.tolerances, None, criteria, **options)

    points: list[tuple[str, FrontierPoint]] = [
        (point.criterion, point) for point in designs(0.5, Space(alpha=(0.5, 0.5)), "average", "fixed-m", "worst-case")
    ]
    points += [(SHAPED, point) for point in designs(0.75, Space(), "average")]
    return {key: np.array([_row(point) for name, point in points if name == key]) for key in SHOWN}


def _row(point: FrontierPoint) -> list[float]:
    """Tolerance and COLUMNS; NaN if no design meets the tolerance."""
    if point.design is None:
        return [point.tolerance, *[np.nan] * len(COLUMNS)]
    design, numbers = point.design, (point.train_error, point.train_usage)
    return [point.tolerance, design.m, design.epsilon, design.alpha, *(np.nan if x is None else x for x in numbers)]


def _measure(settings: Settings, values: Mapping[str, Values]) -> list[MeasuredDesign]:
    """Measure every design on the fresh pairs, with bootstrap bands."""
    fresh, measured = _trial(values["fresh"]), []
    for criterion in SHOWN:
        for tolerance, m, epsilon, alpha, error, usage in values["train"][criterion]:
            if not np.isfinite(epsilon):
                continue
            design = Design(fresh.n_data, int(m), float(epsilon), float(alpha))
            rng = generator(settings.seed, "e5", criterion, f"{tolerance:g}")
            band = bootstrap(rng, design, fresh, repeats=settings.resamples, skew=False)  # as they were made
            measured.append(MeasuredDesign(criterion, float(tolerance), design, float(error), float(usage), band))
    return measured


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Both panels of K14 Fig. 6."""
    measured = _measure(settings, values)
    of = {key: [row for row in measured if row.criterion == key] for key in SHOWN}
    by_tolerance = {key: {row.tolerance: row for row in rows} for key, rows in of.items()}
    both = sorted(by_tolerance[AVERAGE].keys() & by_tolerance[FIXED].keys())
    saved = {t: by_tolerance[AVERAGE][t].fresh.usage.value / by_tolerance[FIXED][t].fresh.usage.value for t in both}
    worse = {
        t: by_tolerance[WORST][t].fresh.usage.value / row.fresh.usage.value
        for t, row in by_tolerance[AVERAGE].items()
        if t in by_tolerance[WORST]
    }
    acceptance = float(np.mean([float(values[name]["acceptance"]) for name in values]))
    checks = {
        HALF: abs(acceptance - settings.acceptance) < 0.05,
        "a design of every kind is found at the largest target": all(
            settings.tolerances[-1] in by_tolerance[key] for key in SHOWN
        ),
        HITS: bool(of[AVERAGE]) and all(_near(row) for row in of[AVERAGE]),
        "on the training pairs, it never needs more data than fixed m": bool(both)
        and all(by_tolerance[AVERAGE][t].train_usage <= by_tolerance[FIXED][t].train_usage * 1.001 for t in both),
        WASTES: bool(worse)
        and all(row.fresh.error.value < 0.5 * row.tolerance for row in of[WORST])
        and all(ratio > 1.0 for ratio in worse.values()),
    }
    finding = _finding(settings, values, of, saved, worse, checks)
    return Report(finding, checks, [_table(measured)], _panels(settings, of, checks), [notice(values["train"])])


def _near(row: MeasuredDesign) -> bool:
    """Whether the target is within twice the band of the fresh pairs: the training pairs are a sample too."""
    band = row.fresh.error
    width = band.high - band.low
    return band.low - 0.5 * width <= row.tolerance <= band.high + 0.5 * width


def _finding(
    settings: Settings,
    values: Mapping[str, Values],
    of: Mapping[str, list[MeasuredDesign]],
    saved: Mapping[float, float],
    worse: Mapping[float, float],
    checks: Mapping[str, bool],
) -> str:
    train, fresh = values["train"], values["fresh"]
    lines = "; ".join(
        f"target {row.tolerance:g}: {row.fresh.error.value:.2g} "
        f"[{row.fresh.error.low:.2g}, {row.fresh.error.high:.2g}], "
        f"{row.fresh.usage.value:.1%} of the data (m = {row.design.m:,}, ε = {row.design.epsilon:.3g})"
        for row in of[AVERAGE]
    )
    largest = max(saved, default=np.nan)
    ratio = saved.get(largest, np.nan)
    verdict = "about half when the error is large" + (", which is not seen here" if ratio > 0.7 else "")
    free = {row.tolerance: row.fresh.usage.value for row in of[SHAPED]}
    shape = max(
        (row.fresh.usage.value / free[row.tolerance] for row in of[AVERAGE] if row.tolerance in free), default=1
    )
    hits = "meets its target on pairs it has not seen" if checks[HITS] else "does NOT meet its target on fresh pairs"
    wastes = "wastes data" if checks[WASTES] else "is not shown to waste data"
    as_in = "As in K14 Fig. 6" if checks[HITS] and checks[WASTES] else "Unlike in K14 Fig. 6"
    return (
        f"N = {train['n_data']:,}, {len(train['mu'])} training pairs and {len(fresh['mu'])} fresh ones of a chain with "
        f"acceptance {train['acceptance']:.2f}. Average design on fresh pairs: {lines}. At the largest common target, "
        f"{largest:g}, it uses {ratio:.2f} times the data of fixed m = {settings.fixed_m} (K14: {verdict}); the "
        f"worst-case design uses up to {max(worse.values(), default=np.nan):.1f} times the data of the average one at "
        f"the same target. Bounds of any shape (α from 0.5 to 1) save up to a further factor of {shape:.2f}. {as_in}, "
        f"the average design {hits}, and the worst-case design {wastes}."
    )


def _table(measured: list[MeasuredDesign]) -> ResultTable:
    columns = ["design", "target", "m", "ε", "α", "error, training", "error, fresh", "from", "to", "data use, training"]
    columns += ["data use, fresh", "from", "to"]
    rows: list[list[Cell]] = []
    for row in measured:
        design = row.design.m, row.design.epsilon, row.design.alpha
        rows.append([SHOWN[row.criterion], row.tolerance, *design, row.train_error, *row.fresh.error, row.train_usage])
        rows[-1] += list(row.fresh.usage)
    return ResultTable("Designs and their results on fresh pairs (K14 Fig. 6)", columns, rows)


def _panels(settings: Settings, of: Mapping[str, list[MeasuredDesign]], checks: Mapping[str, bool]) -> list[Panel]:
    panels: list[Panel] = []
    hits = "The average design meets its target" if checks[HITS] else "The average design misses its target somewhere"
    wastes = "The worst-case design needs far more data." if checks[WASTES] else "Data use against the target."
    for key, y, note in (
        (
            "error",
            "mean |Δ| on fresh pairs",
            f"{hits}; below the line, the error is smaller than required.",
        ),
        (
            "usage",
            "data use on fresh pairs",
            wastes,
        ),
    ):
        series = []
        for criterion, rows in of.items():
            if not rows:  # no design meets any of the tolerances
                continue
            bands = [getattr(row.fresh, key) for row in rows]
            x, value, low, high = zip(
                *((row.tolerance, *band) for row, band in zip(rows, bands, strict=True)), strict=True
            )
            name = SHOWN[criterion] + (f" = {settings.fixed_m}" if criterion == FIXED else "")
            series.append(Series(name, x, value, low, high))
        if key == "error":
            series.append(Series("target", settings.tolerances, settings.tolerances))
        letter = "ab"[len(panels)]
        panels.append(Panel(f"K14 Fig. 6({letter})", "target error", y, series, log_x=True, log_y=True, note=note))
    return panels


_TARGETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)

EXPERIMENT = Experiment(
    name="e5",
    title="Optimal design of the sequential test",
    source="K14 §6.5, Fig. 6",
    question="Does a test designed on a trial run meet its tolerance on fresh pairs, and how much data does it save?",
    sizes={
        "tiny": Settings(5000, (0.01, 0.05), pairs=40, warmup=60, fixed_m=250, resamples=200),
        "quick": Settings(50_000, _TARGETS),
        "full": Settings(None, (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1), every=5),
    },
    parts=parts,
    work=work,
    report=report,
    data=("audio-gaussian",),
)
