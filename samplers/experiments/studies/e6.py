"""E6: variable selection by reversible jumps, exact and by sequential tests.

The paper ran ten chains of each test for 3500 seconds, and took the truth from 400,000 exact samples of the same moves;
its chains from one variable and from all of them ended in different models. Full has its moves, prior and tests, on
the census or on the paper's MiniBooNE (or its synthetic twin), with a share of its samples. The truth is exact, too,
but its jumps fit the new model (see `model_jumps`), so that chains from different models agree. Exact jumps evaluate
both states at all data, as in the paper: nothing is cached between steps. With the paper's λ = 1e-10 the posterior of
the census is a single model of 22 variables; the next one is e⁻⁹ times as probable. So full has λ = 1e-4, where several
variables enter and leave, and inclusion probabilities can be compared. Chains start at the best model, or at the
paper's start, the constant alone. Quick has fewer rows and a prior that penalises variables less, so that many
variables enter and leave within a few seconds of exact sampling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.draws import Draws
from samplers.chains.driver import in_blocks
from samplers.chains.jump_chain import JumpChain
from samplers.data.sources import Source, load
from samplers.decide.comparison import Comparison
from samplers.experiments.framework.data_sets import notice, origin_of
from samplers.experiments.framework.knobs import Start
from samplers.experiments.framework.report import Cell, Check, Panel, Report, ResultTable
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import with_bars
from samplers.experiments.framework.shared import Shared
from samplers.experiments.problems.exact_vs_sequential import (
    ALLOWED,
    EXACT,
    TRUTH,
    Estimate,
    Verdict,
    accept_test,
    averaged,
    chains_of,
    drift,
    estimate,
    judged,
    kind_of,
    listed,
    names_of,
    numbered,
    own_error,
    rates,
    risk_panels,
)
from samplers.experiments.problems.headlines import (
    READ,
    TIME,
    headline_checks,
    headline_sentence,
    headline_table,
    in_paper,
    lowest_risk,
    paper_steps,
    with_memory,
)
from samplers.experiments.problems.inclusion import Inclusion, inclusion_error, inclusion_of, moving
from samplers.experiments.problems.model_jumps import ModelJumps, Models
from samplers.experiments.problems.timed_chain import timed_chain
from samplers.models.rj_logistic import Bools, RJLogistic

PAPER = {EXACT: 24_583, "ε = 0.01": 137_375, "ε = 0.05": 245_906, "ε = 0.1": 419_090}
TEST_POINTS = 500
MOVING = 3  # least number of variables that enter or leave in exact chains: with fewer there is little to compare
OPEN, ENOUGH = 0.01, 20  # inclusion probabilities that are neither 0 nor 1, and entries and exits that they need
FAR_APART = 0.9  # difference of inclusion probabilities
JUMPING = 0.001  # least share of accepted jumps of the truth
ONE, ALL, GOOD = "one variable", "all features", "the best model"  # where chains start
FROM = "from "  # begins the names of exact chains from these starts
CONVERGED = "the truth has converged: its halves, and its chains from different models, agree within 4 standard errors"
MIXES = "the truth accepts more than 0.1% of its jumps from model to model"
COUNTED = (
    f"inclusion probabilities of the truth from {OPEN:g} to {1 - OPEN:g} rest on at least {ENOUGH} entries or exits"
)
AGREE = "no inclusion probability of any test differs by more than 4 standard errors from the truth"
SAME = "K14 Fig. 13: from the same start, nor from that of exact jumps of the same kind"
STUCK = "K14 §6.3: exact jumps of the paper's kind end in different models from different starts"

Data = Literal["census", "miniboone"]


class Settings(NamedTuple):
    """The data, the tests, and the lengths: of the search for a model, of the truth, and a share of the paper's.

    `apart` is the length of the two exact chains that start at different models.
    """

    share: float
    chains: int
    search: int
    truth_chains: int
    truth_steps: int
    apart: int = 400
    data: Data = "census"
    rows: int | None = None
    rate: float = 1e-10
    sd_update: float = 0.01
    sd_birth: float = 0.1
    m: int = 500
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1)
    start: Start = "mode"
    seed: int = 1

    @property
    def names(self) -> list[str]:
        """The tests that are compared."""
        return names_of(self.epsilons)

    def steps(self, name: str) -> int:
        """Steps of a chain."""
        if name.startswith(FROM):
            return self.apart
        return self.truth_steps if name == TRUTH else max(400, round(self.share * paper_steps(PAPER, name)))


def parts(settings: Settings) -> list[str]:
    """The truth, exact chains from different models, and all chains."""
    first = [*numbered([TRUTH], settings.truth_chains), f"{FROM}{ONE}", f"{FROM}{ALL}"]
    return [*first, *numbered(settings.names, settings.chains)]


class Counting(JumpChain):
    """A chain that counts the births and deaths it proposes, and the steps that change the model."""

    tried = changed = 0

    def propose(self, rng: np.random.Generator, theta: Floats) -> tuple[Floats, Comparison]:
        proposed, question = super().propose(rng, theta)
        self.tried += bool(np.any((proposed != 0.0) != (theta != 0.0)))
        return proposed, question

    def advance(self, steps: int) -> Draws:
        before = self.theta != 0.0
        draws = super().advance(steps)
        active = np.vstack([before, draws.theta != 0.0])
        self.changed += int(np.any(active[1:] != active[:-1], axis=1).sum())
        return draws


class Prepared(NamedTuple):
    """The data, the model with its approximations, and the coefficients of the starts."""

    source: Source
    models: Models
    starts: Mapping[str, Floats]


_PREPARED = Shared[Prepared]()


def _prepared(settings: Settings, work: Work) -> Prepared:
    """Search for the best model with jumps that fit it, from all features."""
    source = load(settings.data, work.data, settings.rows)
    options = {"rate": settings.rate, "sd_update": settings.sd_update, "sd_birth": settings.sd_birth}
    work.step(0.0, "fitting all features")
    models = Models(RJLogistic.from_data(_with_constant(source.x), source.y, **options))
    chain = ModelJumps(models, models.whole, generator(settings.seed, "e6", "search"))

    def progress() -> None:
        work.step(0.0, f"looking for a good model, {chain.steps / settings.search:.0%}")

    seen = dict[bytes, Bools]()
    for draws in in_blocks(chain, settings.search, size=10, stop=progress):
        seen |= {(theta != 0.0).tobytes(): theta != 0.0 for theta in draws.theta}
    best = max(seen.values(), key=chain.evidence)
    one = models.coefficients(np.arange(models.whole.size) == 0)
    return Prepared(source, models, {ONE: one, ALL: models.whole, GOOD: models.coefficients(best)})


def work(settings: Settings, name: str, work: Work) -> Values:
    """One chain: running means of inclusion and predictions."""
    prepared = _PREPARED.get((settings, work.data), lambda: _prepared(settings, work))
    source, models, kind = prepared.source, prepared.models, kind_of(name)
    model, points = models.model, _with_constant(source.x_test[:TEST_POINTS])
    chains: list[Counting | ModelJumps] = []
    flips, last = np.zeros(model.dimension), list[Any]()  # how often each variable entered or left, and the last draw

    def functions(draws: Floats) -> Floats:
        active = draws != 0.0
        joined = np.vstack([*last, active])
        flips[:] += np.count_nonzero(joined[1:] != joined[:-1], axis=0)
        last[:] = [active[-1:]]
        return np.column_stack([active, 1.0 / (1.0 + np.exp(-draws @ points.T))])

    def chain(own: np.random.Generator) -> Counting | ModelJumps:
        if kind == TRUTH:
            start = (ONE, ALL, GOOD)[int(name.partition("#")[2]) % 3]
            fitting = ModelJumps(models, prepared.starts[start], own)
            if own is rng:  # not the one that only compiles
                fitting.warm_up(settings.search, lambda: work.step(0.0, f"{name}, warm-up"))
            chains.append(fitting)
        else:
            start = kind.removeprefix(FROM) if kind.startswith(FROM) else ONE if settings.start == "far" else GOOD
            test = accept_test(EXACT if kind.startswith(FROM) else kind, model.n_data, settings.m)
            chains.append(Counting(model, test, prepared.starts[start], own))
        return chains[-1]

    rng, thin = generator(settings.seed, "e6", name), 1 if kind == TRUTH else 5
    timed = timed_chain(chain, rng, settings.steps(kind), functions, work, thin=thin, block=200, keep=10)
    wrong = float(np.mean((timed.means[-1, model.dimension :] > 0.5) != (source.y_test[:TEST_POINTS] > 0.5)))
    jumps = {"tried": chains[-1].tried, "changed": chains[-1].changed, "flips": flips}
    return {**timed._asdict(), **jumps, "columns": model.dimension, "test_error": wrong, **origin_of(source)}


def _with_constant(x: Floats) -> Floats:
    return np.column_stack([np.ones(x.shape[0]), x])


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Samples per second, inclusion probabilities beside the truth, and the risk of predictions."""
    exact = chains_of([TRUTH], settings.truth_chains, values)[TRUTH]
    columns, truth = int(exact[0]["columns"]), estimate(exact)
    predictions = slice(columns, None)
    chains = chains_of(settings.names, settings.chains, values)
    verdicts = {name: judged(parts, truth, predictions) for name, parts in chains.items()}
    included = {name: inclusion_of(parts, exact, columns) for name, parts in chains.items()}
    among = {name: inclusion_of(chains[name], chains[EXACT], columns) for name in settings.names[1:]}
    rate, usage, wrong = rates(chains), averaged(chains, "usage"), averaged(chains, "test_error")
    heads = {key: lowest_risk(with_memory(chains, {}), truth, key, predictions) for key in (TIME, READ)}
    rows: list[list[Cell]] = [
        [
            name, settings.steps(name), rate[name], rate[name] / rate[EXACT],
            PAPER[name] / PAPER[EXACT] if name in PAPER else None, usage[name],
            included[name].largest, included[name].furthest,
            None if name == EXACT else among[name].furthest, float(included[name].inclusion.sum()),
            _jumping(chains[name]), wrong[name], verdicts[name].final, verdicts[name].shown,
            *(float(np.mean([part[key][-1] for part in chains[name]])) for key in ("seconds", "evaluations")),
        ]
        for name in settings.names
    ]  # fmt: skip
    names = [
        "test", "samples", "samples/s", "× exact (not cached)", "× exact (paper)", "data use",
        "largest difference in inclusion", "in standard errors", "from exact jumps of the same kind, in s.e.",
        "mean number of variables", "births and deaths accepted", "test error", "final risk", "resolved",
        "seconds", "likelihood evaluations",
    ]  # fmt: skip
    drifting, rests = drift(exact, slice(0, columns)), _entries(exact, truth, columns)
    checks: dict[str, Check] = {
        **headline_checks("K14 Fig. 4", heads),
        CONVERGED: drifting <= ALLOWED,
        MIXES: _jumping(exact) > JUMPING,
        COUNTED: rests >= ENOUGH,
        AGREE: max(included[name].furthest for name in settings.names[1:]) <= ALLOWED,
        SAME: _agree(list(among.values()), moving(chains[EXACT], columns)),
        STUCK: _far_apart(_last_half(values[f"{FROM}{ONE}"]), _last_half(values[f"{FROM}{ALL}"]), columns),
        "data use falls with ε": [*usage.values()] == sorted(usage.values(), reverse=True),
        "every test makes at least twice as many steps per likelihood evaluation": (
            max(usage[name] for name in settings.names[1:]) <= 0.5
        ),
    }
    tables = [
        ResultTable("Reversible jumps", names, rows),
        _truth_table(exact, truth, columns, drifting, rests),
        _starts_table(values, exact, columns),
        headline_table(heads),
        _open_table(included, exact, columns),
    ]
    panels = [_inclusion(included, truth.mean[:columns], inclusion_error(exact, columns))]
    panels += risk_panels(chains, verdicts, "risk in the predictive mean", own_error(truth, predictions))
    finding = _finding(settings, rows, verdicts, exact, float(truth.mean[:columns].sum()))
    return Report(f"{finding} {headline_sentence(heads)}", checks, tables, panels, [notice(exact[0])])


def _last_half(part: Values) -> Values:
    """The second half of a chain."""
    blocks = part["blocks"][len(part["blocks"]) // 2 :]
    return {**part, "blocks": blocks, "means": blocks.mean(axis=0)[None]}


def _far_apart(one: Values, other: Values, columns: int) -> Check:
    """Whether two chains include different variables: one that is nearly always in here and nearly never there."""
    different = np.abs(one["means"][-1, :columns] - other["means"][-1, :columns])
    return bool(different.max() > FAR_APART)


def _agree(among: Sequence[Inclusion], moved: int) -> Check:
    """Whether tests agree with exact jumps of the same kind; unresolved if hardly any variable moved in those."""
    if max(one.furthest for one in among) > ALLOWED:
        return False
    return True if moved >= MOVING else None


def _entries(exact: Sequence[Values], truth: Estimate, columns: int) -> float:
    """The fewest entries and exits of a variable that is neither always in nor always out (infinite: there is none)."""
    share = truth.mean[:columns]
    undecided = (share > OPEN) & (share < 1.0 - OPEN)
    return float(np.min(np.sum([part["flips"] for part in exact], axis=0)[undecided], initial=np.inf))


def _jumping(parts: Sequence[Values]) -> float:
    """Share of proposed jumps that were accepted."""
    return float(sum(part["changed"] for part in parts) / max(1, sum(part["tried"] for part in parts)))


def _truth_table(exact: Sequence[Values], truth: Estimate, columns: int, drifting: float, rests: float) -> ResultTable:
    names = [
        "exact chains", "samples in total", "effective draws (smallest)", "rms s.e. of predictions",
        "largest s.e. of an inclusion probability", "jumps accepted", "variables that entered or left",
        "fewest entries and exits of an undecided variable", "largest drift or difference between chains, in s.e.",
    ]  # fmt: skip
    error = own_error(truth, slice(columns, None)) ** 0.5
    steps = sum(int(part["at"][-1]) for part in exact)
    largest, fewest = float(np.nanmax(truth.se[:columns])), rests if np.isfinite(rests) else None
    row: list[Cell] = [len(exact), steps, truth.effective, error, largest, _jumping(exact), moving(exact, columns)]
    row += [fewest, drifting]
    return ResultTable("The truth: jumps that fit the new model", names, [row])


def _starts_table(values: Mapping[str, Values], exact: Sequence[Values], columns: int) -> ResultTable:
    """Where exact chains of either kind end, from different models (K14 §6.3)."""
    names = ["start", "jumps", "samples", "variables at the end", "jumps accepted", "test error"]
    rows: list[list[Cell]] = []
    chains = [(start, "as in the paper", values[f"{FROM}{start}"]) for start in (ONE, ALL)]
    chains += [((ONE, ALL, GOOD)[k % 3], "that fit the new model", part) for k, part in enumerate(exact)]
    for start, kind, part in chains:
        size = float(part["blocks"][-1, :columns].sum())
        rows.append([start, kind, int(part["at"][-1]), size, _jumping([part]), float(part["test_error"])])
    return ResultTable("Exact chains from different models", names, rows)


def _finding(
    settings: Settings,
    rows: list[list[Cell]],
    verdicts: Mapping[str, Verdict],
    exact: Sequence[Values],
    variables: float,
) -> str:
    tests = rows[1:]
    unresolved = [name for name, verdict in verdicts.items() if not verdict.resolved]
    weak = f" The final risk of {', '.join(unresolved)} is within the truth's own error." if unresolved else ""
    where = {"mode": "the best model", "far": "the constant alone"}[settings.start]
    return (
        f"On {settings.data} with λ = {settings.rate:g} and {settings.share:.2g} of the paper's samples, from {where}, "
        f"tests with ε = {listed(settings.epsilons, 'g')} read {listed([row[5] for row in tests], '.1%')} of the data "
        f"and draw {listed([row[3] for row in tests], '.2g')} times as many samples per second as exact reversible "
        f"jumps, which cache no log-likelihoods{in_paper(PAPER, settings.names[1:])}. Exact chains accept "
        f"{rows[0][10]:.2%} of births and deaths (paper: about 2% once a good model is found), tests "
        f"{listed([row[10] for row in tests], '.2%')}. The truth accepts {_jumping(exact):.0%} of its jumps, and has "
        f"{variables:.1f} variables on average. The largest difference between an inclusion probability and the truth "
        f"is {listed([row[6] for row in tests], '.3f')} ({listed([row[7] for row in tests], '.1f')} standard errors); "
        f"for exact chains of {rows[0][1]:,} samples it is {rows[0][6]:.3f} ({rows[0][7]:.1f}). "
        f"{_verdict(rows, variables)}{weak}"
    )


def _verdict(rows: list[list[Cell]], variables: float) -> str:
    """Which tests differ from the truth, and in what way."""
    far = [row for row in rows[1:] if float(row[7] or 0.0) > ALLOWED]
    if not far:
        return f"No test differs by more than {ALLOWED:g} standard errors."
    numbers = listed([row[9] for row in far], ".1f")
    return (
        f"{', '.join(str(row[0]) for row in far)} differ by more than {ALLOWED:g} standard errors and have {numbers} "
        f"variables on average, while the truth has {variables:.1f}."
    )


def _open_table(included: Mapping[str, Inclusion], exact: Sequence[Values], columns: int) -> ResultTable:
    """Inclusion probabilities of the variables that are neither always in nor always out, in the truth or in a test."""
    truth = inclusion_of(exact, exact, columns)
    shown = {"truth": truth, **included}
    flips = np.sum([part["flips"] for part in exact], axis=0)
    undecided = np.any([(one.inclusion > OPEN) & (one.inclusion < 1.0 - OPEN) for one in shown.values()], axis=0)
    names = ["variable (0: the constant)", "entries and exits in the truth"]
    rows: list[list[Cell]] = [
        [k, int(flips[k]), *(float(value[k]) for one in shown.values() for value in (one.inclusion, one.se))]
        for k in np.flatnonzero(undecided).tolist()
    ]
    columns_of = [head for name in shown for head in (name, "± s.e.")]
    return ResultTable("Inclusion probabilities that are neither 0 nor 1", [*names, *columns_of], rows)


def _inclusion(included: Mapping[str, Inclusion], truth: Floats, se: Floats) -> Panel:
    variables = np.arange(truth.size, dtype=np.float64)
    series = [with_bars("truth", variables, truth, se)._replace(style="bars")]
    series += [with_bars(name, variables, one.inclusion, one.se) for name, one in included.items()]
    far = [name for name, one in included.items() if one.furthest > ALLOWED]
    which = ", ".join(far) or "none"
    note = f"Bars are two standard errors. Tests that differ from the truth by more than {ALLOWED:g} of them: {which}."
    return Panel("Inclusion probabilities", "variable", "probability", series, note=note)


EXPERIMENT = Experiment(
    name="e6",
    title="Variable selection by reversible jumps",
    source="K14 §6.3, supplement E, Figs 4 and 13; K16 §4.2.3, Figs 7 and 8",
    question="Do sequential tests find the same variables as exact reversible jumps, and how much faster?",
    sizes={
        "tiny": Settings(0.01, 2, 30, 3, 150, rows=5000, rate=0.05),
        "quick": Settings(0.02, 3, 60, 3, 500, rows=5000, rate=0.05),
        "full": Settings(0.1, 4, 300, 6, 1500, PAPER[EXACT], rate=1e-4),
        "paper": Settings(1.0, 10, 1000, 6, 10_000, PAPER[EXACT], start="far"),
    },
    parts=parts,
    work=work,
    report=report,
    data=("census",),
    listing=("chains", "epsilons"),
    knobs=("chains", "epsilon", "start"),
)
