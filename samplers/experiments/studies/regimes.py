"""The regime map: which method wins from ten thousand data to ten million, with and without control variates.

Every chain starts from a draw of the posterior's quadratic proxy, and stops after a number of steps or of likelihood
evaluations. Full has N = 10^4 to 10^7 (0.8 GB of rows) with D = 20. The concentration test is not compiled: its data
per step can be compared with the others', its seconds cannot.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.engine.step_error import Rule
from designer.rule.design import Design
from samplers.chains.chain import Chain
from samplers.chains.draws import Draws
from samplers.decide import AcceptTest, BarkerTest, ConcentrationTest, ExactTest, SequentialTest
from samplers.experiments.framework.report import Report
from samplers.experiments.framework.running import MISSING, Experiment, Values, Work
from samplers.experiments.framework.seeds import generator
from samplers.experiments.peers.launch import NOT_INSTALLED, NoPeer, installed, nuts
from samplers.experiments.problems.tall import BoundedResiduals, TallProblem, moments, tall_problem
from samplers.experiments.studies.regime_map import (
    BARKER,
    CONCENTRATION,
    CONTROLLED,
    EXACT,
    GRADIENTS,
    NUTS,
    PROXY,
    SEQUENTIAL,
    WALK,
    MapCell,
    regime_report,
)
from samplers.models import Model
from samplers.models.control import Controlled
from samplers.study.risk import effective_size

MOVES = WALK, CONTROLLED, PROXY
REFERENCE = "reference"
SPENT_AT_ONCE = 4e7  # about this many evaluations between checks for cancellation
FIRST_AT_ONCE, MOST_AT_ONCE = 2, 1000  # steps


class Settings(NamedTuple):
    """Sizes, limits of every chain (steps and evaluations), evaluations for the reference, and the tests' settings.

    `slow_steps` is the limit on the steps of the concentration test, which is not compiled.
    """

    sizes: tuple[int, ...]
    steps: int
    slow_steps: int
    evaluations: float
    reference_evaluations: float
    nuts_seconds: float
    dimension: int = 20
    m: int = 500
    proxy_m: int = 100
    epsilons: tuple[float, ...] = (0.01, 0.05)
    delta: float = 0.01
    nuts_warmup: int = 60
    seed: int = 1

    @property
    def tests(self) -> list[str]:
        """All tests, the sequential ones by their ε."""
        return [*(f"{SEQUENTIAL}{epsilon:g}" for epsilon in self.epsilons), BARKER, CONCENTRATION, EXACT]


def cells(settings: Settings) -> list[MapCell]:
    """All cells; an exact random walk is the same with control variates, so it is run without them only."""
    return [
        MapCell(n, move, test)
        for n in settings.sizes
        for move, tests in (*((move, settings.tests) for move in MOVES), (GRADIENTS, [NUTS]))
        for test in tests
        if (move, test) != (CONTROLLED, EXACT)
    ]


def parts(settings: Settings) -> list[str]:
    """For each N the reference, then the cells; parts of the same N share the data in memory."""
    every = cells(settings)
    return [
        name
        for n in settings.sizes
        for name in (f"n{n}-{REFERENCE}", *(cell.name for cell in every if cell.n_data == n))
    ]


def work(settings: Settings, name: str, work: Work) -> Values:
    """The reference of one N, or one chain."""
    reason = _no_nuts(settings) if name.endswith(NUTS) else None
    if reason is not None:  # before the data are made
        return {MISSING: reason}
    n_data = int(name.split("-")[0].removeprefix("n"))
    problem, rng = tall_problem(n_data, settings.dimension, settings.seed), generator(settings.seed, "regimes", name)
    if name.endswith(REFERENCE):
        draws = max(20, int(settings.reference_evaluations / n_data))
        reference = moments(rng, problem, draws, lambda share: work.step(share, name))
        return {**reference._asdict(), "setup": problem.seconds}
    cell = next(cell for cell in cells(settings) if cell.name == name)
    if cell.test == NUTS:
        return _peer(settings, problem, work)
    steps = settings.slow_steps if cell.test == CONCENTRATION else settings.steps
    return _measured(_chain(settings, problem, cell, rng), steps, settings.evaluations, work)


def _chain(settings: Settings, problem: TallProblem, cell: MapCell, rng: np.random.Generator) -> Chain:
    model: Model = problem.model if cell.move == WALK else problem.proxies
    if cell.move != WALK and cell.test == CONCENTRATION:
        model = BoundedResiduals(problem.proxies, problem.model)
    proposal = problem.proxy if cell.move == PROXY else problem.walk
    rule: Rule = "barker" if cell.test == BARKER else "metropolis"
    return Chain(model, proposal, _test(settings, cell), problem.draw(rng, 1)[0], rng, rule)


def _test(settings: Settings, cell: MapCell) -> AcceptTest:
    m = settings.m if cell.move == WALK else settings.proxy_m
    if cell.test == EXACT:
        return ExactTest()
    if cell.test == BARKER:
        return BarkerTest(m)
    if cell.test == CONCENTRATION:
        return ConcentrationTest(m, settings.delta)
    return SequentialTest.from_design(Design(cell.n_data, m, float(cell.test.removeprefix(SEQUENTIAL))))


def evaluations_per_datum(chain: Chain) -> float:
    """Likelihoods computed for each datum read: at both states, or only at the new state if the old ones are cached.

    Proxies that are not stored need one more, at the centre.
    """
    proxies = chain.model.proxies if isinstance(chain.model, BoundedResiduals) else chain.model
    return chain.evaluations_per_datum + (isinstance(proxies, Controlled) and proxies.anchor is None)


def _measured(chain: Chain, steps: int, evaluations: float, work: Work) -> Values:
    """Run until the steps or the evaluations are used up."""
    per_datum = evaluations_per_datum(chain)
    chain.advance(2)  # compiles
    blocks: list[Draws] = []
    done, spent, seconds = 0, 0.0, 0.0
    while done < steps and spent < evaluations:
        work.step(max(done / steps, spent / evaluations))
        at_once = math.ceil(min(SPENT_AT_ONCE, evaluations - spent) * done / spent) if spent else FIRST_AT_ONCE
        start = time.perf_counter()
        part = chain.advance(min(at_once, MOST_AT_ONCE, steps - done))
        seconds += time.perf_counter() - start
        done, spent = done + part.accepted.size, spent + per_datum * float(part.n_used.sum())
        blocks.append(part)
    draws = Draws.joined(blocks)
    return {
        "steps": done,
        "data": spent / per_datum / done,
        "evaluations": spent / done,
        "seconds": seconds,
        "acceptance": float(draws.accepted.mean()),
        **_summary(draws.theta, int(draws.accepted.sum())),
    }


def _summary(theta: Floats, moved: int) -> Values:
    """Effective draws (0 if the chain is too short), means and standard deviations."""
    effective = effective_size(theta) if min(moved, len(theta)) > theta.shape[1] else 0.0
    effective = effective if math.isfinite(effective) else 0.0
    return {"effective": effective, "mean": theta.mean(axis=0), "sd": theta.std(axis=0)}


def _no_nuts(settings: Settings) -> str | None:
    """The reason why NUTS is not run, if there is one."""
    if settings.nuts_seconds == 0:
        return "not part of this size"
    return None if installed() else NOT_INSTALLED


def _peer(settings: Settings, problem: TallProblem, work: Work) -> Values:
    """The numbers of NUTS, or why there are none. A gradient counts as one evaluation of every datum."""
    try:
        result = nuts(problem, settings.nuts_seconds, settings.nuts_warmup, settings.seed, work)
    except NoPeer as reason:
        return {MISSING: str(reason)}
    draws, data = result["draws"], result["gradients"] * problem.model.n_data
    known = {"steps": len(draws), "data": data, "evaluations": data, "seconds": result["seconds"]}
    return {**known, "acceptance": result["acceptance"], **_summary(draws, len(draws))}


def report(settings: Settings, values: Mapping[str, Values]) -> Report:
    """The map and its winners."""
    references = {n: values[f"n{n}-{REFERENCE}"] for n in settings.sizes}
    return regime_report(settings.dimension, references, {cell: values[cell.name] for cell in cells(settings)})


EXPERIMENT = Experiment(
    name="regimes",
    title="Who wins where: from ten thousand data to ten million",
    source="not in the papers; methods of K14, S17 and Bardenet et al. 2014, 2017",
    question="For how many data does a test on a subsample pay off, and what do control variates change?",
    sizes={
        "tiny": Settings((2000, 8000), 4000, 200, 8e6, 2e6, 0.0, dimension=5),
        "quick": Settings((10**4, 10**5), 10_000, 500, 2e7, 1e7, 1.0, dimension=10),
        "full": Settings((10**4, 10**5, 10**6, 10**7), 100_000, 10_000, 6e8, 2e8, 60.0),
    },
    parts=parts,
    work=work,
    report=report,
)
