"""E6: variable selection by reversible jumps, exact and by sequential tests.

The paper ran ten chains of each test for 3500 seconds, and took the truth from 400,000 exact samples. Full has its
moves, prior and tests, on the census or on the paper's MiniBooNE (or its synthetic twin), for a quarter of an hour on
one core: two chains of each test with a tenth of the paper's samples, and the truth from four exact chains with 48,000
samples in total. Exact jumps evaluate both states at all data, as in the paper: nothing is cached between steps. Quick
has fewer rows and a prior that penalises variables less, so that many variables enter and leave within a few seconds of
exact sampling, and inclusion probabilities can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.draws import Draws
from samplers.chains.driver import in_blocks
from samplers.chains.jump_chain import JumpChain
from samplers.data.sources import Source, load
from samplers.decide.comparison import Comparison
from samplers.experiments.framework.data_sets import notice, origin_of
from samplers.experiments.framework.report import Cell, Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import with_bars
from samplers.experiments.framework.shared import Shared
from samplers.experiments.problems.exact_vs_sequential import (
    EXACT,
    TRUTH,
    Estimate,
    Verdict,
    accept_test,
    averaged,
    chains_of,
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
from samplers.experiments.problems.timed_chain import timed_chain
from samplers.models.rj_logistic import RJLogistic

PAPER = {EXACT: 24_583, "ε = 0.01": 137_375, "ε = 0.05": 245_906, "ε = 0.1": 419_090}
TEST_POINTS = 500
ALLOWED = 4.0  # standard errors, for the largest of about fifty differences
MOVING = 3  # least number of variables that enter or leave in exact chains: with fewer there is little to compare
POOLED = 1, 2, 4  # blocks pooled: longer blocks give larger errors for variables that enter and leave slowly
AGREE = "no inclusion probability of any test differs by more than 4 standard errors from that of long exact chains"
CALIBRATED = "nor does that of one long exact chain from the others, so the standard errors are large enough"
COMPARABLE = "at least three variables enter or leave in the long exact chains and in the chains of every test"

Data = Literal["census", "miniboone"]


class Settings(NamedTuple):
    """The data, the tests, and the lengths: of the warm-up, of the truth, and as a share of the paper's."""

    share: float
    chains: int
    burn_in: int
    truth_chains: int
    truth_steps: int
    data: Data = "census"
    rows: int | None = None
    rate: float = 1e-10
    sd_update: float = 0.01
    sd_birth: float = 0.1
    m: int = 500
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1)
    seed: int = 1

    @property
    def names(self) -> list[str]:
        """The tests that are compared."""
        return names_of(self.epsilons)

    def steps(self, name: str) -> int:
        """Steps of a chain."""
        return self.truth_steps if name == TRUTH else max(400, round(self.share * PAPER[name]))


def parts(settings: Settings) -> list[str]:
    """The truth, and all chains."""
    return [*numbered([TRUTH], settings.truth_chains), *numbered(settings.names, settings.chains)]


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
    """The data, the model, and the coefficients of a good model as starting point."""

    source: Source
    model: RJLogistic
    start: Floats


_PREPARED = Shared[Prepared]()


def _prepared(settings: Settings, work: Work) -> Prepared:
    """Find a good model from the paper's start, the constant alone: with the largest ε, then with the smallest."""
    source = load(settings.data, work.data, settings.rows)
    options = {"rate": settings.rate, "sd_update": settings.sd_update, "sd_birth": settings.sd_birth}
    model = RJLogistic.from_data(_with_constant(source.x), source.y, **options)
    test, last = (accept_test(settings.names[k], model.n_data, settings.m) for k in (-1, 1))
    start = np.zeros(model.dimension)
    start[0] = 0.1
    chain = JumpChain(model, test, start, generator(settings.seed, "e6", "burn-in"))

    def progress() -> None:
        work.step(0.0, f"looking for a good model, {chain.steps / settings.burn_in:.0%}")

    for _ in in_blocks(chain, settings.burn_in, size=500, stop=progress):
        if 2 * chain.steps >= settings.burn_in:
            chain.use_test(last)
    return Prepared(source, model, chain.theta)


def work(settings: Settings, name: str, work: Work) -> Values:
    """One chain, from the good model that all chains share: running means of inclusion and predictions."""
    prepared = _PREPARED.get((settings, work.data), lambda: _prepared(settings, work))
    source, model, kind = prepared.source, prepared.model, kind_of(name)
    points, chains = _with_constant(source.x_test[:TEST_POINTS]), []

    def functions(draws: Floats) -> Floats:
        return np.column_stack([draws != 0.0, 1.0 / (1.0 + np.exp(-draws @ points.T))])

    def chain(own: np.random.Generator) -> JumpChain:
        chains.append(Counting(model, accept_test(kind, model.n_data, settings.m), prepared.start, own))
        return chains[-1]

    rng = generator(settings.seed, "e6", name)
    timed = timed_chain(chain, rng, settings.steps(kind), functions, work, thin=5, block=200, keep=10)
    wrong = float(np.mean((timed.means[-1, model.dimension :] > 0.5) != (source.y_test[:TEST_POINTS] > 0.5)))
    jumps = {"tried": chains[-1].tried, "changed": chains[-1].changed}
    return {**timed._asdict(), **jumps, "columns": model.dimension, "test_error": wrong, **origin_of(source)}


def _with_constant(x: Floats) -> Floats:
    return np.column_stack([np.ones(x.shape[0]), x])


class Inclusion(NamedTuple):
    """Inclusion probabilities of a test's chains, and the largest difference from the truth, absolute and in s.e.

    `moved` counts the variables that entered or left.
    """

    inclusion: Floats
    se: Floats
    largest: float
    furthest: float
    moved: int


def inclusion_of(parts: Sequence[Values], exact: Sequence[Values], columns: int) -> Inclusion:
    """Compare the inclusion probabilities with those of exact chains, using the standard errors of both."""
    inclusion, truth = (np.mean([part["means"][-1, :columns] for part in chains], axis=0) for chains in (parts, exact))
    se, true_se = inclusion_error(parts, columns), inclusion_error(exact, columns)
    difference = np.abs(inclusion - truth)
    far = difference / np.hypot(se, true_se)
    return Inclusion(inclusion, se, float(difference.max()), float(far.max()), moving(parts, columns))


def moving(parts: Sequence[Values], columns: int) -> int:
    """Number of variables that entered or left in these chains."""
    return int(np.count_nonzero(np.sum([_changes(part["blocks"][:, :columns]) for part in parts], axis=0)))


def inclusion_error(parts: Sequence[Values], columns: int) -> Floats:
    """Standard errors of the inclusion probabilities over several chains: the largest of several estimates.

    Mixing is slow, so the estimates come from shorter and longer blocks, and from n independent periods in or out: one
    for each chain and one for each time that a variable enters or leaves. So a chain in which a variable never moved
    counts as one draw, not as certainty.
    """
    blocks = [part["blocks"][:, :columns] for part in parts]
    samples = [np.concatenate([_pooled(block, together) for block in blocks]) for together in POOLED]
    errors = [sample.std(axis=0, ddof=1) / np.sqrt(len(sample)) for sample in samples if len(sample) > 1]
    n = len(blocks) + np.sum([_changes(block) for block in blocks], axis=0)
    share = (n * samples[0].mean(axis=0) + 0.5) / (n + 1.0)  # not 0 or 1 after n periods of the same kind
    worst: Floats = np.max([*errors, np.sqrt(share * (1.0 - share) / n)], axis=0)
    return worst


def _changes(blocks: Floats) -> Floats:
    """A lower bound on how often each variable entered or left, from changes within and between blocks."""
    within = np.sum((blocks > 0.0) & (blocks < 1.0), axis=0)
    between = np.sum(np.abs(np.diff(blocks, axis=0)) == 1.0, axis=0)
    changes: Floats = (within + between).astype(np.float64)
    return changes


def _pooled(blocks: Floats, together: int) -> Floats:
    """Means of this many consecutive blocks; blocks left over at the beginning are not used."""
    count = len(blocks) // together
    last = blocks[len(blocks) - count * together :].reshape(count, together, blocks.shape[1])
    means: Floats = last.mean(axis=1)
    return means


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Samples per second, inclusion probabilities beside the exact ones, and the risk of predictions."""
    exact = chains_of([TRUTH], settings.truth_chains, values)[TRUTH]
    columns, truth = int(exact[0]["columns"]), estimate(exact)
    predictions = slice(columns, None)
    chains = chains_of(settings.names, settings.chains, values)
    verdicts = {name: judged(parts, truth, predictions) for name, parts in chains.items()}
    included = {name: inclusion_of(parts, exact, columns) for name, parts in chains.items()}
    rate, usage, wrong = rates(chains), averaged(chains, "usage"), averaged(chains, "test_error")
    jumping = {name: _jumping(parts) for name, parts in chains.items()}
    rows: list[list[Cell]] = [
        [
            name, settings.steps(name), rate[name], rate[name] / rate[EXACT], PAPER[name] / PAPER[EXACT], usage[name],
            included[name].largest, included[name].furthest, float(included[name].inclusion.sum()), jumping[name],
            wrong[name], verdicts[name].final, verdicts[name].shown,
            *(float(np.mean([part[key][-1] for part in chains[name]])) for key in ("seconds", "evaluations")),
        ]
        for name in settings.names
    ]  # fmt: skip
    names = [
        "test", "samples", "samples/s", "× exact (not cached)", "× exact (paper)", "data use",
        "largest difference in inclusion", "in standard errors", "mean number of variables",
        "births and deaths accepted", "test error", "final risk", "resolved",
        "seconds", "likelihood evaluations",
    ]  # fmt: skip
    moved = moving(exact, columns)
    others = [[part for part in exact if part is not one] for one in exact]
    alone = max(inclusion_of([one], rest, columns).furthest for one, rest in zip(exact, others, strict=True))
    checks = {
        "data use falls with ε": [*usage.values()] == sorted(usage.values(), reverse=True),
        "every test makes at least twice as many steps per likelihood evaluation": (
            max(usage[name] for name in settings.names[1:]) <= 0.5
        ),
        AGREE: max(included[name].furthest for name in settings.names[1:]) <= ALLOWED,
        CALIBRATED: alone <= ALLOWED,
        COMPARABLE: min(moved, *(included[name].moved for name in settings.names[1:])) >= MOVING,
    }
    tables = [ResultTable("Reversible jumps", names, rows), _truth_table(exact, truth, columns, moved)]
    panels = [_inclusion(included, truth, columns)]
    panels += risk_panels(chains, verdicts, "risk in the predictive mean", own_error(truth, predictions))
    finding = _finding(settings, rows, verdicts, _jumping(exact), float(truth.mean[:columns].sum()))
    return Report(finding, checks, tables, panels, [notice(exact[0])])


def _jumping(parts: Sequence[Values]) -> float:
    """Share of proposed births and deaths that were accepted."""
    return float(sum(part["changed"] for part in parts) / max(1, sum(part["tried"] for part in parts)))


def _truth_table(exact: Sequence[Values], truth: Estimate, columns: int, moved: int) -> ResultTable:
    names = ["exact chains", "samples in total", "effective draws (smallest)", "rms s.e. of predictions"]
    names += ["births and deaths accepted", "variables that entered or left"]
    error = own_error(truth, slice(columns, None)) ** 0.5
    steps = sum(int(part["at"][-1]) for part in exact)
    return ResultTable("The truth", names, [[len(exact), steps, truth.effective, error, _jumping(exact), moved]])


def _finding(
    settings: Settings, rows: list[list[Cell]], verdicts: Mapping[str, Verdict], jumping: float, variables: float
) -> str:
    tests = rows[1:]
    unresolved = [name for name, verdict in verdicts.items() if not verdict.resolved]
    weak = f" The final risk of {', '.join(unresolved)} is within the truth's own error." if unresolved else ""
    never = (
        "No birth or death was accepted in any exact chain: nothing can be said about inclusion."
        if jumping == 0.0
        else f"Exact chains accept {jumping:.2%} of births and deaths (paper: about 2% once a good model is found)."
    )
    return (
        f"On {settings.data} with λ = {settings.rate:g}, from the same good model ({variables:.1f} variables on "
        f"average), tests with ε = {listed(settings.epsilons, 'g')} read "
        f"{listed([row[5] for row in tests], '.1%')} of the data and draw "
        f"{listed([row[3] for row in tests], '.2g')} times as many samples per second as exact reversible jumps, which "
        f"cache no log-likelihoods (paper, on MiniBooNE: 5.6, 10, 17). {never} The largest difference between an "
        f"inclusion probability and the truth is {listed([row[6] for row in tests], '.3f')} "
        f"({listed([row[7] for row in tests], '.1f')} standard errors); for exact chains of {rows[0][1]:,} samples it "
        f"is {rows[0][6]:.3f} ({rows[0][7]:.1f}). {_verdict(rows, variables)}{weak}"
    )


def _verdict(rows: list[list[Cell]], variables: float) -> str:
    """Which tests differ from exact jumps, and in what way."""
    far = [row for row in rows[1:] if float(row[7] or 0.0) > ALLOWED]
    if not far:
        return f"No test differs by more than {ALLOWED:g} standard errors."
    numbers = listed([row[8] for row in far], ".1f")
    return (
        f"{', '.join(str(row[0]) for row in far)} differ by more than {ALLOWED:g} standard errors and have {numbers} "
        f"variables on average, while exact jumps have {variables:.1f}."
    )


def _inclusion(included: Mapping[str, Inclusion], truth: Estimate, columns: int) -> Panel:
    variables = np.arange(columns, dtype=np.float64)
    series = [Series("truth", variables, truth.mean[:columns], style="bars")]
    series += [with_bars(name, variables, one.inclusion, one.se) for name, one in included.items()]
    far = [name for name, one in included.items() if one.furthest > ALLOWED]
    which = ", ".join(far) or "none"
    note = f"Bars are two standard errors. Tests that differ from the truth by more than {ALLOWED:g} of them: {which}."
    return Panel("Inclusion probabilities", "variable", "probability", series, note=note)


EXPERIMENT = Experiment(
    name="e6",
    title="Variable selection by reversible jumps",
    source="K14 §6.3, supplement E, Figs 4 and 13",
    question="Do sequential tests find the same variables as exact reversible jumps, and how much faster?",
    sizes={
        "tiny": Settings(0.02, 2, 2000, 3, 3000, rows=5000, rate=0.05),
        "quick": Settings(0.03, 3, 6000, 4, 6000, rows=5000, rate=0.05),
        "full": Settings(0.1, 2, 30_000, 4, 12_000),
    },
    parts=parts,
    work=work,
    report=report,
    data=("census",),
)
