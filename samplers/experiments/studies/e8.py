"""E8: Gibbs sampling of a dense Markov random field, each conditional decided by a sequential test.

Full has the paper's field, tests and cliques; its chains have 10,000 sweeps each instead of 1000 seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.engine.bounds import sweep_bound
from designer.engine.step_error import acceptance
from designer.pairs.trial_run import TrialRun
from samplers.chains import gibbs
from samplers.decide.comparison import AcceptTest
from samplers.decide.exact import ExactTest
from samplers.experiments.framework.report import Cell, Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import with_bars
from samplers.experiments.problems.exact_vs_sequential import EXACT, TRUTH, accept_test, design_of, listed, names_of
from samplers.models.mrf import Bits, DenseMRF

CLIQUE = 5
PULLED = 3.0  # standard errors of the mean pull
SEEN_BIAS = 0.01  # a larger bias of a predicted conditional must be visible
RESOLVED = 1.25  # times the error of exact sampling: below that, bias cannot be distinguished from noise
USELESS = 0.5  # a larger bound on a probability says nothing
USAGE = 0.05  # tolerated relative difference of the data use
AGREE = "measured conditionals agree with the calculator"
TOWARDS = "conditionals are biased towards one half, as predicted and as measured (beyond 3 standard errors)"
FLOOR = "the L1 error of the largest ε exceeds that of exact sampling; for all ε for which it does, it rises with ε"
SURPRISE = 4.5  # standard errors, over hundreds of comparisons


class Settings(NamedTuple):
    """The field, the tests, the chains, and the measurements."""

    sweeps: int
    truth_sweeps: int
    cliques: int
    conditionals: int
    repeats: int
    dimension: int = 100
    sd: float = 0.02
    m: int = 500
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1, 0.15, 0.2, 0.25)
    points: int = 25
    burn_in: int = 200
    seed: int = 1

    def field(self) -> DenseMRF:
        """The random field."""
        return DenseMRF.random(generator(self.seed, "e8", "field"), self.dimension, self.sd)

    def subsets(self) -> Ints:
        """Random cliques of five variables."""
        rng = generator(self.seed, "e8", "cliques")
        return np.array([rng.choice(self.dimension, CLIQUE, replace=False) for _ in range(self.cliques)])


def parts(settings: Settings) -> list[str]:
    """A long exact chain; then a chain and a set of conditionals for each test."""
    chains = [f"chain {name}" for name in names_of(settings.epsilons)]
    return [TRUTH, *chains, *(f"conditionals {name}" for name in names_of(settings.epsilons))]


def work(settings: Settings, name: str, work: Work) -> Values:
    """The numbers of one part."""
    field = settings.field()
    if name == TRUTH:
        counts, *_ = _chain(settings, field, ExactTest(), TRUTH, np.array([settings.truth_sweeps]), work)
        return {"counts": counts}
    kind, _, test = name.partition(" ")
    if kind == "conditionals":
        return _conditionals(settings, field, test, work)
    at = np.unique(np.geomspace(20, settings.sweeps, settings.points).astype(np.int64))
    counts, terms, seconds = _chain(settings, field, accept_test(test, field.n_data, settings.m), test, at, work)
    return {"counts": counts, "sweeps": at, "terms": terms, "seconds": seconds}


def _chain(
    settings: Settings, field: DenseMRF, test: AcceptTest, name: str, at: Ints, work: Work
) -> tuple[Ints, Floats, Floats]:
    """Counts of the 32 states of each clique after some numbers of sweeps; terms read and seconds spent so far."""
    rng, subsets = generator(settings.seed, "e8", "chain", name), settings.subsets()
    x = gibbs.run(rng, field, ExactTest(), start=np.zeros(field.dimension), draws=settings.burn_in).x[-1]
    gibbs.run(np.random.default_rng(0), field, test, start=x, draws=1)  # compiles before time is measured
    counts = np.zeros((at.size, settings.cliques, 2**CLIQUE), dtype=np.uint32)
    terms, seconds = np.zeros(at.size), np.zeros(at.size)
    total, done, spent, read = np.zeros(counts.shape[1:], dtype=np.uint32), 0, 0.0, 0
    for k, end in enumerate(at):
        while done < end:
            work.step(done / int(at[-1]), name)
            start = time.process_time()
            block = gibbs.run(rng, field, test, start=x, draws=min(500, int(end) - done))
            spent, read = spent + time.process_time() - start, read + int(block.n_used.sum())
            x, done = block.x[-1], done + block.x.shape[0]
            _count(block.x, subsets, total)
        counts[k], terms[k], seconds[k] = total, read, spent
    return counts, terms, seconds


def _count(x: Bits, subsets: Ints, total: Ints) -> None:
    """Add the states of every clique to the counts."""
    powers = 2 ** np.arange(CLIQUE)
    states = x[:, subsets] @ powers  # (sweeps, cliques)
    for clique in range(subsets.shape[0]):
        total[clique] += np.bincount(states[:, clique], minlength=2**CLIQUE).astype(np.uint32)


def _conditionals(settings: Settings, field: DenseMRF, name: str, work: Work) -> Values:
    """P(X_i is set to 1) by repetition, beside the true conditional and the calculator's prediction (Fig. 14)."""
    rng = generator(settings.seed, "e8", "states")  # the same states for every test
    sites, states = (
        rng.integers(field.dimension, size=settings.conditionals),
        rng.integers(2, size=(settings.conditionals, field.dimension), dtype=np.int8),
    )
    own, test = generator(settings.seed, "e8", "conditionals", name), accept_test(name, field.n_data, settings.m)
    seen, moments = [], []
    for k, (site, x) in enumerate(zip(sites.tolist(), states, strict=True)):
        work.step(k / settings.conditionals, f"conditionals, {name}")
        seen.append(gibbs.conditional(own, field, test, x, site, settings.repeats))
        terms = field.terms(x, site, np.arange(field.n_data))
        moments.append((terms.mean(), terms.std(), field.probability(x, site)))
    mu, sigma, exact = np.array(moments).T
    measured = {"exact": exact, "seen": np.array([s.probability for s in seen]), "se": np.array([s.se for s in seen])}
    measured["usage"] = np.array([s.usage for s in seen])
    if name == EXACT:
        return {**measured, "predicted": exact, "predicted_usage": np.ones(exact.size)}
    step = acceptance(design_of(name, field.n_data, settings.m), TrialRun(field.n_data, mu, sigma), "barker")
    return {**measured, "predicted": step.probability + step.delta, "predicted_usage": step.usage}


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Both figures of the supplement, beside the calculator."""
    names = names_of(settings.epsilons)
    curves = {name: values[f"chain {name}"] for name in names}
    errors = {name: _errors(curve["counts"], values[TRUTH]["counts"]) for name, curve in curves.items()}
    conditionals = {name: values[f"conditionals {name}"] for name in names}
    surprise = max(float(np.max(np.abs(c["seen"] - c["predicted"]) / c["se"])) for c in conditionals.values())
    bias = {name: float(np.abs(c["predicted"] - c["exact"]).max()) for name, c in conditionals.items()}
    seen = {name: _largest(c) for name, c in conditionals.items()}
    used = {name: float(c["terms"][-1] / c["sweeps"][-1]) for name, c in curves.items()}
    per_sweep = {name: used[name] / used[EXACT] for name in names}
    ends = {name: float(errors[name][-1]) for name in names}
    resolved = [name for name in names[1:] if ends[name] > RESOLVED * ends[EXACT]]
    biased = [name for name in names if bias[name] > SEEN_BIAS]
    checks = {
        AGREE: surprise <= SURPRISE,
        TOWARDS: bool(biased) and all(_towards_half(conditionals[name]) for name in biased),
        f"at {names[1]} no conditional is off by more than 0.01, as predicted and as measured (within noise)": (
            bias[names[1]] < 0.01 and seen[names[1]][0] < 0.01 + SURPRISE * seen[names[1]][1]
        ),
        "the terms read for the conditionals agree with the calculator within 5%": all(
            abs(c["usage"].mean() / c["predicted_usage"].mean() - 1.0) <= USAGE for c in conditionals.values()
        ),
        FLOOR: names[-1] in resolved and all(ends[a] < ends[b] for a, b in pairwise(resolved)),
    }
    milliseconds = {name: 1e3 * float(c["seconds"][-1]) / float(c["sweeps"][-1]) for name, c in curves.items()}
    rows: list[list[Cell]] = [
        [name, per_sweep[name], bias[name], *seen[name], ends[name], name in resolved, milliseconds[name]]
        for name in names
    ]
    columns = ["test", "terms read (share)", "largest |Δ|, calculator", "measured", "± s.e.", "L1 error at the end"]
    columns += ["above exact sampling", "ms per sweep"]
    finding = _finding(settings, rows, checks, surprise)
    tables = [ResultTable("Gibbs sampling by sequential tests", columns, rows)]
    return Report(finding, checks, tables, _panels(curves, errors, conditionals, checks, milliseconds))


def _finding(settings: Settings, rows: list[list[Cell]], checks: Mapping[str, bool], surprise: float) -> str:
    exact, first, last = rows[0], rows[1], rows[-1]
    bound = sweep_bound(float(first[2] or 0.0), 0.0, settings.dimension)
    useful = "no useful bound" if bound > USELESS else "a bound"
    pull = "pulled towards one half" if checks[TOWARDS] else "off (not always towards one half)"
    as_said = "as the calculator predicts" if checks[AGREE] else "NOT as the calculator predicts"
    floor = "the bias floor" if checks[FLOOR] else "no bias floor is resolved at this length"
    faster = [str(row[0]) for row in rows[1:] if float(row[7] or 0.0) < float(exact[7] or 0.0)]
    time_spent = (
        f"{', '.join(faster)} are faster than exact sampling" if faster else "no test is faster than exact sampling"
    )
    return (
        f"On a field of {settings.dimension} variables, ε = {settings.epsilons[0]:g} … {settings.epsilons[-1]:g} read "
        f"{first[1]:.0%} … {last[1]:.0%} of the terms of exact Gibbs sampling. Conditionals are {pull}, by at most "
        f"{first[2]:.4f} at {first[0]} (measured {first[3]:.4f} ± {first[4]:.4f}; paper: within 0.01) and "
        f"{last[2]:.3f} at {last[0]}, {as_said} (largest difference {surprise:.1f} standard errors). After "
        f"{settings.sweeps:,} sweeps the L1 error over cliques of five is {exact[5]:.4f} for exact sampling and "
        f"{last[5]:.4f} at {last[0]}: {floor}. In time, {time_spent} ({listed([row[7] for row in rows], '.2f')} ms per "
        f"sweep, exact first): exact sampling reads its terms in memory order, a test gathers them. Theorem 4 for a "
        f"sweep gives {bound:.2f} at best at {first[0]}, even with η = 0: {useful} for {settings.dimension} sites."
    )


def _errors(counts: Ints, truth: Ints) -> Floats:
    """K14 Eqn 48: mean L1 distance over cliques, at each recorded number of sweeps."""
    p = counts / counts.sum(axis=2, keepdims=True)
    true = truth[-1] / truth[-1].sum(axis=1, keepdims=True)
    error: Floats = np.abs(p - true).sum(axis=2).mean(axis=1)
    return error


def _largest(part: Values) -> tuple[float, float]:
    """The largest measured error of a conditional, with its standard error."""
    off = np.abs(part["seen"] - part["exact"])
    return float(off.max()), float(part["se"][np.argmax(off)])


def _towards_half(part: Values) -> bool:
    """Whether all predicted conditionals, and on average the measured ones, lie between the exact one and one half."""
    side = np.sign(0.5 - part["exact"])
    pull = float(np.sum(side * (part["seen"] - part["exact"])) / np.linalg.norm(part["se"]))
    return bool(np.all((part["predicted"] - part["exact"]) * side >= -1e-9)) and pull > PULLED


def _panels(
    curves: Mapping[str, Values],
    errors: Mapping[str, Floats],
    by_test: Mapping[str, Values],
    checks: Mapping[str, bool],
    milliseconds: Mapping[str, float],
) -> list[Panel]:
    conditionals = []
    pull = "Errors pull towards one half; lines" if checks[TOWARDS] else "Lines"
    floor = " A curve that flattens has reached its bias floor." if checks[FLOOR] else ""
    fastest = min(milliseconds, key=lambda name: milliseconds[name])
    for name, values in by_test.items():
        order = np.argsort(values["exact"])
        x, y, se = values["exact"][order], (values["seen"] - values["exact"])[order], values["se"][order]
        conditionals.append(with_bars(name, x, y, se))
        if name != EXACT:
            conditionals.append(Series(f"{name}, calculator", x, (values["predicted"] - values["exact"])[order]))
    by_time = [Series(name, curves[name]["seconds"], errors[name]) for name in errors]
    by_terms = [Series(name, curves[name]["terms"], errors[name]) for name in errors]
    label = "mean L1 error over cliques"
    return [
        Panel(
            "Error of conditional probabilities",
            "exact P(X_i = 1 | others)",
            "assigned minus exact",
            conditionals,
            note=f"{pull} are the calculator's predictions.",
        ),
        Panel("Error against time", "seconds", label, by_time, True, True, f"Fastest per sweep: {fastest}.{floor}"),
        Panel(
            "Error against work",
            "terms read",
            label,
            by_terms,
            True,
            True,
            f"The same against terms read.{floor}",
        ),
    ]


EXPERIMENT = Experiment(
    name="e8",
    title="Gibbs sampling on a dense Markov random field",
    source="K14 supplement F, Figs 14 and 15",
    question="Can sequential tests decide Gibbs updates whose conditionals are sums of thousands of terms?",
    sizes={
        "tiny": Settings(400, 4000, 60, 12, 4000, dimension=40, sd=0.05, m=100, epsilons=(0.01, 0.1, 0.25), points=6),
        "quick": Settings(600, 5000, 200, 16, 4000, epsilons=(0.01, 0.05, 0.1, 0.25)),
        "full": Settings(10_000, 100_000, 1600, 40, 15_000),
    },
    parts=parts,
    work=work,
    report=report,
)
