"""E12: the worst case of sequential tests: with the best proposal for a Gaussian mean, some tests need all the data.

S17 prove a lower bound on their share and report no run. Full has up to a million data, and the calculator's curve goes
up to 10^9.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer import Design
from designer.core.arrays import Floats, Ints
from designer.engine.step_error import Rule
from designer.engine.walk import outcomes
from designer.rule.plan import as_plan
from samplers.decide import (
    AcceptTest,
    BarkerTest,
    Comparison,
    ConcentrationTest,
    Decision,
    ExactTest,
    SequentialTest,
    draw_threshold,
)
from samplers.experiments.framework.report import Cell, Panel, Report, ResultTable, Series
from samplers.experiments.framework.running import Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.series import with_bars

LEMMA = 0.0085  # c of S17 Lemma 1: p_0 p_1 p_2 in its proof
SURPRISE = 4.0  # standard errors
ACCURACY = 1e-7  # of the calculator's numbers
MEAN = 0.5
CONSTANT = (
    "with m a fixed share of N, the measured share of full tests is the same at every N, within 4 standard errors"
)
FALLS = "with fixed m and ε, the share of full tests falls with N: predicted at each step, measured from first to last"
STEADY = "at every N, the Barker test reads the share κ²/(1+κ²) of the data in whole batches, within 4 standard errors"
CHEAPER = "at every N, sequential and Barker tests evaluate fewer likelihoods than the exact test, which caches none"
FIXED, SHARE = "sequential, fixed m", "sequential, m grows with N"
BERNSTEIN, BARKER, EXACT = "concentration", "Barker minibatch", "exact"
TESTS = FIXED, SHARE, BERNSTEIN, BARKER, EXACT


class Settings(NamedTuple):
    """Numbers of data, tests at each, batch and ε (S17's), looks of the test whose m grows."""

    sizes: tuple[int, ...]
    tests: int
    theory: tuple[int, ...]
    m: int = 100
    epsilon: float = 0.005
    looks: int = 100
    delta: float = 0.01
    growth: float = 1.5
    theory_steps: int = 4000
    seed: int = 1

    def designs(self, n_data: int) -> dict[str, Design]:
        """The sequential tests for this many data."""
        batches = {FIXED: self.m, SHARE: max(2, n_data // self.looks)}
        return {name: Design(n_data, m, self.epsilon) for name, m in batches.items()}


class Steps(NamedTuple):
    """Proposals at stationarity: θ, θ', and the number that seeds u and the order of the data."""

    theta: Floats
    proposed: Floats
    seeds: Ints


def parts(settings: Settings) -> list[str]:
    """One part for each number of data, and one for the calculator."""
    return [*(f"n{n}" for n in settings.sizes), "theory"]


def work(settings: Settings, name: str, work: Work) -> Values:
    """All tests at one number of data, with the same proposals and u; or the calculator's predictions at any number."""
    if name == "theory":
        return _theory(settings, work)
    n = int(name.removeprefix("n"))
    rng = generator(settings.seed, "e12", name)
    x = rng.normal(MEAN, 1.0, n)
    steps = _steps(rng, x, settings.tests)
    a, kappa, v = _questions(x, steps)
    mu_std = (a - v) / kappa
    values: dict[str, Floats] = {"a": a, "kappa": kappa, "mu_std": mu_std, "exact": (a > v).astype(np.float64)}
    for number, (key, test) in enumerate(_tests(settings, n).items()):
        accepted, used, seconds = _decide(test, x, steps, work, number / len(TESTS))
        values |= {f"{key} accepted": accepted, f"{key} used": used, f"{key} seconds": seconds}
    for key, design in settings.designs(n).items():
        values |= {f"{key} {name}": value for name, value in _predict(design, mu_std).items()}
    return values


def _tests(settings: Settings, n_data: int) -> dict[str, AcceptTest]:
    tests: dict[str, AcceptTest] = {
        name: SequentialTest.from_design(design) for name, design in settings.designs(n_data).items()
    }
    tests[BERNSTEIN] = ConcentrationTest(settings.m, settings.delta, 2.0, settings.growth)
    tests[BARKER] = BarkerTest(settings.m)
    tests[EXACT] = ExactTest()
    return tests


def _steps(rng: np.random.Generator, x: Floats, count: int) -> Steps:
    """θ from the posterior N(mean of x, 1 / N), θ' from N(θ, 1 / N) (S17 section 2.1)."""
    sd = 1.0 / math.sqrt(x.size)
    theta = rng.normal(x.mean(), sd, count)
    return Steps(theta, rng.normal(theta, sd), rng.integers(2**63, size=count))


def _questions(x: Floats, steps: Steps) -> tuple[Floats, Floats, Floats]:
    """A, κ and log u of each step: lᵢ = (θ' - θ) (xᵢ - (θ + θ') / 2)."""
    n, move = x.size, steps.proposed - steps.theta
    a = n * move * (x.mean() - 0.5 * (steps.theta + steps.proposed))
    kappa = n / math.sqrt(n - 1.0) * np.abs(move) * x.std()
    v = np.array([draw_threshold(np.random.default_rng(seed), "metropolis") for seed in steps.seeds])
    return a, kappa, v


def _decide(test: AcceptTest, x: Floats, steps: Steps, work: Work, begin: float) -> tuple[Floats, Floats, Floats]:
    """Decisions, shares of the data read, and seconds; the first decision is repeated, because it compiles."""
    accepted, used, seconds = np.empty((3, steps.theta.size))
    ends = np.array([x.min(), x.max()])
    rule: Rule = "barker" if isinstance(test, BarkerTest) else "metropolis"

    def decide(k: int) -> Decision:
        question = _comparison(x, ends, steps.theta[k], steps.proposed[k], rule)
        return test.decide(np.random.default_rng(steps.seeds[k]), question)

    decide(0)
    for k in range(steps.theta.size):
        if k % 16 == 0:
            work.step(begin + k / steps.theta.size / len(TESTS))
        start = time.process_time()
        decision = decide(k)
        seconds[k] = time.process_time() - start
        accepted[k], used[k] = decision.accept, decision.n_used / x.size
    return accepted, used, seconds


def _comparison(x: Floats, ends: Floats, theta: float, proposed: float, rule: Rule) -> Comparison:
    """The question of one step; lᵢ is linear in xᵢ, so that its largest value is at an end of the data."""
    move, middle = proposed - theta, 0.5 * (theta + proposed)
    bound = float(np.abs(move * (ends - middle)).max())
    return Comparison(x.size, lambda i: move * (x[i] - middle), rule=rule, range_bound=bound)


def _predict(design: Design, mu_std: Floats) -> dict[str, Floats]:
    """The calculator's predictions for each test: probability of reading all data, expected data use, error."""
    outcome, _ = outcomes(as_plan(design), mu_std, ACCURACY)
    reach = 1.0 - outcome.below - outcome.above
    return {"reach": reach, "usage": outcome.usage, "error": outcome.error(mu_std)}


def _theory(settings: Settings, work: Work) -> Values:
    """The same averaged over the limiting law of μ_std: A = -d (a + d / 2), κ = |d|, with a and d normal."""
    rng = generator(settings.seed, "e12", "theory")
    a, d = rng.standard_normal((2, settings.theory_steps))
    mu_std = (-d * (a + 0.5 * d) - np.log(1.0 - rng.random(d.size))) / np.abs(d)
    table = np.empty((len(settings.theory), 2, 3))
    for number, n in enumerate(settings.theory):
        work.step(number / len(settings.theory), f"N = {n:,}")
        for k, design in enumerate(settings.designs(n).values()):
            table[number, k] = [value.mean() for value in _predict(design, mu_std).values()]
    return {"table": table, "barker": float(np.mean(d * d / (1.0 + d * d)))}


class WorstCaseResult(NamedTuple):
    """The results of one test at one number of data: shares with standard errors, and predictions if there are any."""

    n: int
    test: str
    all: float
    all_se: float
    all_predicted: float | None
    usage: float
    usage_se: float
    usage_predicted: float | None
    wrong: float | None
    wrong_predicted: float | None
    evaluations: float
    milliseconds: float


def _summary(n: int, m: int, test: str, part: Values) -> WorstCaseResult:
    used, count = part[f"{test} used"], part[f"{test} used"].size
    share = float(np.mean(used == 1.0))
    reach, usage, error = (
        float(part[f"{test} {key}"].mean()) if f"{test} {key}" in part else None for key in ("reach", "usage", "error")
    )
    if test == BARKER:  # the first multiple of m above N κ^2 / (1 + κ^2)
        needed = n * part["kappa"] ** 2 / (1.0 + part["kappa"] ** 2)
        usage = float(np.mean(np.minimum(m * np.ceil(needed / m), n))) / n
    wrong = None if test == BARKER else float(np.mean(part[f"{test} accepted"] != part["exact"]))
    spread = share if reach is None else reach
    share_se = math.sqrt((spread * (1.0 - spread) + 1.0 / count) / count)
    read, read_se = float(used.mean()), _se(used, part, test)
    took = 2.0 * n * read, 1e3 * float(np.mean(part[f"{test} seconds"]))  # each lᵢ needs both states
    return WorstCaseResult(n, test, share, share_se, reach, read, read_se, usage, wrong, error, *took)


def _se(used: Floats, part: Values, test: str) -> float:
    """Standard error of the mean data use, given the proposals if there is a prediction for them."""
    expected = part.get(f"{test} usage", used.mean())
    return float(np.sqrt(np.mean((used - expected) ** 2) / used.size))


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """Shares against N, measured and predicted."""
    rows = [_summary(n, settings.m, test, values[f"n{n}"]) for n in settings.sizes for test in TESTS]
    theory = values["theory"]["table"]
    predicted = [row for row in rows if row.test in (FIXED, SHARE)]
    off = max(
        max(
            abs(row.all - _known(row.all_predicted)) / row.all_se,
            abs(row.usage - _known(row.usage_predicted)) / row.usage_se,
        )
        for row in predicted
    )
    barker = [row for row in rows if row.test == BARKER]
    exact = {row.n: row.evaluations for row in rows if row.test == EXACT}
    checks = {
        "the measured shares agree with the calculator within 4 standard errors": off <= SURPRISE,
        "concentration tests, and sequential tests with m a share of N, need all data as often as Lemma 1 says": all(
            row.all >= LEMMA for row in rows if row.test in (SHARE, BERNSTEIN)
        ),
        CONSTANT: _alike([row for row in rows if row.test == SHARE]) <= SURPRISE,
        FALLS: bool(np.all(np.diff(theory[:, 0, 0]) < 0.0)) and _fallen([row for row in rows if row.test == FIXED]),
        "the Barker minibatch test needs all data less often than any other": all(
            row.all <= min(other.all for other in rows if other.n == row.n) for row in barker
        ),
        CHEAPER: all(row.evaluations < exact[row.n] for row in rows if row.test in (FIXED, SHARE, BARKER)),
        STEADY: all(abs(row.usage - _known(row.usage_predicted)) <= SURPRISE * row.usage_se for row in barker),
    }
    return Report(
        _finding(settings, rows, values["theory"], off, checks),
        checks,
        [_table(rows)],
        _panels(settings, rows, theory, checks),
    )


def _known(value: float | None) -> float:
    return math.nan if value is None else value


def _alike(rows: list[WorstCaseResult]) -> float:
    """The largest difference between a measured share and the mean of all, in standard errors."""
    mean = float(np.mean([row.all for row in rows]))
    return max(abs(row.all - mean) / row.all_se for row in rows)


def _fallen(rows: list[WorstCaseResult]) -> bool:
    """Whether the share at the largest N is below that at the smallest by more than one standard error."""
    first, last = rows[0], rows[-1]
    return first.all - last.all > math.hypot(first.all_se, last.all_se)


def _finding(
    settings: Settings, rows: list[WorstCaseResult], theory: Values, off: float, checks: Mapping[str, bool]
) -> str:
    last = {row.test: row for row in rows if row.n == settings.sizes[-1]}
    table, far = theory["table"], settings.theory
    below = [n for n, share in zip(far, table[:, 0, 0], strict=True) if share < LEMMA]
    constant = "does not depend on N" if checks[CONSTANT] else "depends on N"
    lemma = (
        f"below the lemma's {LEMMA:.2%} from N = {below[0]:,} on (it does not apply to a fixed batch and error)"
        if below
        else "which need not stay above the lemma's constant"
    )
    barker = [row.usage for row in rows if row.test == BARKER]
    steady = f"{min(barker):.0%} to {max(barker):.0%} of the data" + (" at every N" if checks[STEADY] else "")
    falls = "it falls" if checks[FALLS] else "it changes"
    took = ", ".join(f"{last[test].milliseconds:.3g} ms ({test})" for test in TESTS)
    return (
        f"At N = {settings.sizes[-1]:,}, with the best random walk for a Gaussian mean, {last[FIXED].all:.1%} of the "
        f"sequential tests with m = {settings.m} and ε = {settings.epsilon:g} need all the data, {last[SHARE].all:.1%} "
        f"with m = N/{settings.looks}, and {last[BERNSTEIN].all:.1%} of the concentration tests; the proof of S17 "
        f"Lemma 1 promises {LEMMA:.2%}. The calculator predicts these shares (largest difference {off:.1f} standard "
        f"errors). With m a fixed share of N, the fraction {constant} ({table[0, 1, 0]:.3f} at {far[0]:,}, "
        f"{table[-1, 1, 0]:.3f} at {far[-1]:,} by the calculator). With fixed m and ε, {falls} from "
        f"{table[0, 0, 0]:.3f} to {table[-1, 0, 0]:.4f}, {lemma}: with more looks a test stops before the end, rightly "
        f"or wrongly (wrong decisions: {table[0, 0, 2]:.3f} to {table[-1, 0, 2]:.3f}). Its data use is "
        f"{table[0, 0, 1]:.0%} at {far[0]:,} and {table[-1, 0, 1]:.0%} at {far[-1]:,}. The Barker test escapes the "
        f"lemma but not the cost: it reads {steady} (κ²/(1+κ²) gives {theory['barker']:.0%} for large N), against "
        f"{last[FIXED].usage:.0%} for the sequential test at N = {settings.sizes[-1]:,}, where a test takes {took}. "
        "Only a smaller κ helps all of them: control variates, or a higher temperature."
    )


def _table(rows: list[WorstCaseResult]) -> ResultTable:
    columns = [
        "N", "test", "needs all data", "± s.e.", "calculator", "data use", "± s.e.", "calculator", "wrong",
        "calculator", "likelihood evaluations/test", "milliseconds/test",
    ]  # fmt: skip
    cells: list[list[Cell]] = [list(row) for row in rows]
    return ResultTable("Tests that need all data (S17 Lemma 1: at least 0.85%)", columns, cells)


def _panels(settings: Settings, rows: list[WorstCaseResult], theory: Floats, checks: Mapping[str, bool]) -> list[Panel]:
    far = [float(n) for n in settings.theory]
    panels = []
    constant = "Constant if m is a share of N; " if checks[CONSTANT] else ""
    falls = "with fixed m it falls, as looks and errors grow." if checks[FALLS] else "beside it, fixed m."
    ends = f"from {theory[0, 0, 1]:.0%} to {theory[-1, 0, 1]:.0%} over these N"
    notes = {
        "all": f"{constant}{falls}",
        "usage": f"With fixed m and ε, the calculator's data use goes {ends}; other tests read a fixed share.",
        "wrong": "With fixed m and ε, more data mean more looks, and more chances of a wrong decision.",
    }
    for k, (key, title) in enumerate(
        {"all": "needs all data", "usage": "data use", "wrong": "wrong decisions"}.items()
    ):
        series = [
            Series(f"calculator, {name}", far, theory[:, number, k].tolist())
            for number, name in enumerate((FIXED, SHARE))
        ]
        for test in TESTS[:-1]:  # the exact test reads everything and is never wrong
            seen = [row for row in rows if row.test == test and getattr(row, key) is not None]
            if seen:
                series.append(_measured(test, seen, key))
        if key == "all":
            series.append(Series("S17 Lemma 1", [far[0], far[-1]], [LEMMA, LEMMA]))
        panels.append(Panel(title.capitalize(), "N", f"{title} (fraction)", series, log_x=True, note=notes[key]))
    return [*panels, *_costs(rows)]


def _costs(rows: list[WorstCaseResult]) -> list[Panel]:
    """Evaluations and time of each test, including the exact test."""
    panels = []
    for key, label in {"evaluations": "likelihood evaluations", "milliseconds": "milliseconds"}.items():
        series = []
        for test in TESTS:
            seen = [row for row in rows if row.test == test]
            series.append(Series(test, [float(row.n) for row in seen], [getattr(row, key) for row in seen]))
        title = f"{label.capitalize()} of a test"
        note = "Means over the tests, each run by itself in Python; nothing is cached between tests."
        panels.append(Panel(title, "N", f"{label} per test", series, log_x=True, log_y=True, note=note))
    return panels


def _measured(test: str, rows: list[WorstCaseResult], key: str) -> Series:
    x, y = [float(row.n) for row in rows], [getattr(row, key) for row in rows]
    if key == "wrong":
        return Series(test, x, y, style="points")
    return with_bars(test, x, y, [getattr(row, f"{key}_se") for row in rows])


EXPERIMENT = Experiment(
    name="e12",
    title="The worst case of sequential tests",
    source="S17 §2.1, Lemma 1",
    question="How many tests need all the data when the proposal is as good as it can be, and does that change with N?",
    sizes={
        "tiny": Settings((1000, 4000), 300, (1000, 10_000, 100_000), m=50, looks=20),
        "quick": Settings((1000, 10_000, 100_000), 300, (1000, 10_000, 100_000, 10**6, 10**7)),
        "full": Settings(
            (1000, 3000, 10_000, 30_000, 100_000, 300_000, 10**6), 1000, tuple(10**k for k in range(3, 10))
        ),
    },
    parts=parts,
    work=work,
    report=report,
)
