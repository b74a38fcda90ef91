"""E3 on taller data: N rows of a data set drawn with replacement, up to a million.

The chains start at a draw from the proxies' posterior, and their walk has its covariance, so that all N are comparable:
they differ in how the data that a step reads, with and without proxies, grow with N.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.rule.design import Design
from samplers.chains.chain import Chain
from samplers.data.sources import Source
from samplers.decide.sequential import SequentialTest
from samplers.experiments.framework.report import Cell, Panel, ResultTable, Series
from samplers.experiments.framework.running import Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.framework.shared import Shared
from samplers.experiments.problems.exact_vs_sequential import EXACT, RESOLVED, accept_test, name_of
from samplers.experiments.problems.tall import TallProblem, moments
from samplers.experiments.problems.timed_chain import timed_chain
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk

CONTROLLED, PROXY, MOMENTS = "control variates", "proxy proposals", "moments"
POINTS = 25
GROWTH = "data per step grow faster than √N without proxies, and slower with them"
AHEAD = "at every N, proxy proposals reach a lower risk than the exact walk with no more likelihood evaluations"


class Tall(NamedTuple):
    """Numbers of data; data read by the exact chain at each, steps of chains with proxies, draws for the moments.

    `longer` has one factor for each ε: how many times more steps a plain test makes than the exact chain.
    """

    sizes: tuple[int, ...]
    reads: int
    proxy_steps: int
    draws: int
    epsilons: tuple[float, ...] = (0.01, 0.1)
    longer: tuple[float, ...] = (1.5, 4.0)

    @property
    def names(self) -> list[str]:
        """The chains at each number of data."""
        return [EXACT, *map(name_of, self.epsilons), CONTROLLED, PROXY]

    @property
    def parts(self) -> list[str]:
        """Parts of the experiment: for each number of data, the posterior's moments and all chains."""
        return [part_of(n, name) for n in self.sizes for name in [MOMENTS, *self.names]]

    def steps(self, name: str, n_data: int) -> int:
        """Steps of a chain."""
        if name in (CONTROLLED, PROXY):
            return self.proxy_steps
        times = dict(zip(self.names, (1.0, *self.longer), strict=False))[name]
        return max(100, round(times * self.reads / n_data))


class Common(NamedTuple):
    """Batch sizes of the plain test and of the test with proxies, the ε of the latter, prior and seed."""

    m: int
    proxy_m: int
    proxy_epsilon: float
    prior_precision: float
    seed: int


def part_of(n_data: int, name: str) -> str:
    """The name of a part."""
    return f"N {n_data} {name}"


def is_tall(part: str) -> bool:
    """Whether a part belongs to the taller data."""
    return part.startswith("N ")


def replicated(source: Source, n_data: int, prior_precision: float, seed: int) -> TallProblem:
    """This many rows with their labels, drawn with replacement; all rows once if the data set has that many."""
    own = source.y.size
    rng = generator(seed, "replicated", str(n_data))
    chosen = np.arange(own) if n_data == own else rng.integers(own, size=n_data)
    x: npt.NDArray[Any] = source.x.astype(np.float32)[chosen]
    start = time.process_time()
    model = Logistic.mapped(x, source.y[chosen] > 0, prior_precision)
    proxies = Controlled.around(model, find_mode(model))
    walk = RandomWalk.with_covariance(np.linalg.inv(proxies.posterior_precision()))
    return TallProblem(model, proxies, walk, ProxyStep.of(proxies), time.process_time() - start)


_PROBLEM = Shared[TallProblem]()


def tall_work(tall: Tall, common: Common, source: Source, part: str, work: Work) -> Values:
    """The posterior's moments, or one timed chain with running means of its coordinates."""
    n_data, name = int(part.split(" ", 2)[1]), part.split(" ", 2)[2]
    key = n_data, common, source.origin
    problem = _PROBLEM.get(key, lambda: replicated(source, n_data, common.prior_precision, common.seed))
    rng = generator(common.seed, "e3", part)
    if name == MOMENTS:
        return {**moments(rng, problem, tall.draws, work.step)._asdict(), "preparing": problem.seconds}

    def chain(own: np.random.Generator) -> Chain:
        start = problem.draw(own, 1)[0]
        if name in (CONTROLLED, PROXY):
            small = Design(n_data, min(common.proxy_m, n_data), common.proxy_epsilon)
            proposal = problem.proxy if name == PROXY else problem.walk
            return Chain(problem.proxies, proposal, SequentialTest.from_design(small), start, own)
        return Chain(problem.model, problem.walk, accept_test(name, n_data, common.m), start, own)

    steps = tall.steps(name, n_data)
    block = max(1, min(1000, 10**8 // n_data))  # about a second between checks for cancellation
    options = {"points": POINTS, "thin": 1, "keep": 1, "block": block}
    return timed_chain(chain, rng, steps, lambda draws: draws, work, **options)._asdict()


class TallResult(NamedTuple):
    """One chain at one number of data: the cost of a step, and how far its means are from the posterior's.

    Risks are mean squared errors of the coordinates' means in posterior variances: 1 at the start, 1/n for n
    independent draws. So the number of effective draws is 1 / (risk - error of the truth).
    """

    n_data: int
    name: str
    steps: int
    data: float
    usage: float
    evaluations: float
    microseconds: float
    acceptance: float
    risk: float
    risk_at_exact: float
    effective: float
    per_second: float


def tall_results(tall: Tall, values: Mapping[str, Values]) -> list[TallResult]:
    """Results of all chains; `risk_at_exact` is the risk at the evaluations of the exact chain, or else at the end."""
    rows = []
    for n in tall.sizes:
        budget = float(values[part_of(n, EXACT)]["evaluations"][-1])
        for name in tall.names:
            part = values[part_of(n, name)]
            risk, spent, steps = risk_of(values, n, name), part["evaluations"], int(part["at"][-1])
            seconds, evaluations = float(part["seconds"][-1]), float(spent[-1])
            within = float(np.interp(min(budget, evaluations), spent, risk))
            usage = float(part["usage"])
            each = usage * n, usage, evaluations / steps, 1e6 * seconds / steps, float(part["acceptance"])
            effective = _effective(part, values[part_of(n, MOMENTS)], float(risk[-1]))
            rows.append(TallResult(n, name, steps, *each, float(risk[-1]), within, effective, effective / seconds))
    return rows


def _effective(part: Values, known: Values, risk: float) -> float:
    """Effective draws from the risk if it exceeds the truth's own error, otherwise from the chain's blocks."""
    own, blocks = float(known["error"]) ** 2, part["blocks"]
    if risk > RESOLVED * own:
        return 1.0 / (risk - own)
    return float(len(blocks) / np.mean(blocks.var(axis=0, ddof=1) / known["sd"] ** 2))


def risk_of(values: Mapping[str, Values], n_data: int, name: str) -> Floats:
    """Mean squared error of the running means of all coordinates, in posterior variances."""
    known, part = values[part_of(n_data, MOMENTS)], values[part_of(n_data, name)]
    risk: Floats = np.mean(((part["means"] - known["mean"]) / known["sd"]) ** 2, axis=1)
    return risk


def tall_checks(tall: Tall, rows: Sequence[TallResult]) -> dict[str, bool]:
    """Statements that should hold, each true or false in this run."""
    data = {(row.n_data, row.name): row.data for row in rows}
    first, last = tall.sizes[0], tall.sizes[-1]
    growth = {name: data[last, name] / data[first, name] for name in tall.names}
    root = math.sqrt(last / first)
    risk = {(row.n_data, row.name): row.risk_at_exact for row in rows}
    plain, helped = tall.names[1:-2], (CONTROLLED, PROXY)
    return {
        GROWTH: all(growth[name] > root for name in plain) and all(growth[name] < root for name in helped),
        AHEAD: all(risk[n, PROXY] < risk[n, EXACT] for n in tall.sizes),
    }


def tall_table(rows: Sequence[TallResult], values: Mapping[str, Values]) -> ResultTable:
    """All chains, and the error of the reference moments."""
    columns = [
        "N", "chain", "steps", "data per step", "data use", "likelihood evaluations/step", "microseconds/step",
        "acceptance", "final risk", "risk at the exact chain's evaluations", "effective draws", "effective draws/s",
        "the truth's own risk",
    ]  # fmt: skip
    cells: list[list[Cell]] = [[*row, float(values[part_of(row.n_data, MOMENTS)]["error"]) ** 2] for row in rows]
    return ResultTable("The same rows drawn with replacement, up to N", columns, cells)


def tall_panels(tall: Tall, rows: Sequence[TallResult], values: Mapping[str, Values]) -> list[Panel]:
    """Data per step and effective draws per second against N; risk against time and work at the largest N."""
    panels = []
    titles = {"data": "Data per step", "per_second": "Effective draws per second"}
    for key, title in titles.items():
        series = []
        for name in tall.names:
            seen = [row for row in rows if row.name == name]
            series.append(Series(name, [float(row.n_data) for row in seen], [getattr(row, key) for row in seen]))
        note = "Rows of the data set drawn with replacement; a walk of the posterior's shape, and proxy proposals."
        panels.append(Panel(f"{title} against N", "N", title.lower(), series, True, True, note))
    largest, label = tall.sizes[-1], "risk of the coordinates' means (posterior variances)"
    for key, x in {"seconds": "seconds of sampling", "evaluations": "likelihood evaluations"}.items():
        series = [
            Series(name, values[part_of(largest, name)][key], risk_of(values, largest, name)) for name in tall.names
        ]
        title, note = (
            f"N = {largest:,}: risk against {key}",
            "Lower left is better; a chain that never moves has risk 1.",
        )
        panels.append(Panel(title, x, label, series, True, True, note))
    return panels


def tall_sentence(tall: Tall, rows: Sequence[TallResult], values: Mapping[str, Values]) -> str:
    """The result in words."""
    by = {(row.n_data, row.name): row for row in rows}
    plain = name_of(tall.epsilons[0])

    def over(key: str, name: str, form: str) -> str:
        return ", ".join(f"{getattr(by[n, name], key):{form}}" for n in tall.sizes)

    preparing = ", ".join(f"{float(values[part_of(n, MOMENTS)]['preparing']):.2g}" for n in tall.sizes)
    return (
        f"On N = {', '.join(f'{n:,}' for n in tall.sizes)} rows drawn with replacement from the data set, with a walk "
        f"of the posterior's shape, a step of the plain test with {plain} reads {over('data', plain, ',.0f')} data, "
        f"with control variates {over('data', CONTROLLED, ',.0f')}, and with proxy proposals "
        f"{over('data', PROXY, ',.0f')}. Effective draws per second: exact {over('per_second', EXACT, '.2g')}, "
        f"{plain} {over('per_second', plain, '.2g')}, control variates {over('per_second', CONTROLLED, '.2g')}, proxy "
        f"proposals {over('per_second', PROXY, '.2g')}, after {preparing} seconds for mode and proxies."
    )
