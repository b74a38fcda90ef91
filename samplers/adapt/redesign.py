"""Design from the running chain: pairs recorded on the way, a new search every so often, every attempt in a log.

K14 supplement D suggests to re-design as the chain goes. A pair costs a pass over all the data, so they are recorded
only as fast as a share of the data read allows. The designs stop changing at a given step, by default the end of the
warmup: from there on the chain is a Markov chain with one fixed test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from designer.core.progress import Progress, raise_if
from designer.engine.step_error import Rule
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import as_plan
from designer.search.criteria import OverPairs
from designer.search.search import ACCURACY, search
from samplers.adapt.warmup import Warmup
from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.driver import advance_to, in_blocks
from samplers.chains.parallel import streams
from samplers.chains.protocol import MarkovChain
from samplers.chains.spec import ChainSpec
from samplers.config.assemble import build
from samplers.config.config import SamplerConfig
from samplers.config.schema import RedesignTable, check_redesign
from samplers.decide.sequential import SequentialTest
from samplers.study.observe import Pair, observing

GRAIN = 16  # a pair is recorded at a multiple of so many steps, or not: the same however a run is stopped and resumed
LEAST_PAIRS = 20  # no search on fewer; so many are recorded before the first one, whatever they cost


class Change(NamedTuple):
    """One attempt to re-design, made after `step` steps on the latest `pairs` pairs.

    `m` to `growth` are those of the design in use from here on; `error` and `usage` what is predicted of it on these
    pairs, `old_error` and `old_usage` of the one before. `passes` over all data were made for pairs so far, `read` data
    by the tests; `reason` says why the design was changed or kept.
    """

    step: int
    pairs: int
    changed: bool
    m: int
    epsilon: float
    alpha: float
    growth: float
    error: float
    usage: float
    old_error: float
    old_usage: float
    passes: int
    read: int
    reason: str

    @property
    def line(self) -> str:
        """In words."""
        what = "changed to" if self.changed else "kept"
        return (
            f"step {self.step:,}: {what} m = {self.m:,}, epsilon = {self.epsilon:g}, alpha = {self.alpha:g} "
            f"({self.reason}; on {self.pairs:,} pairs error {self.old_error:.3g} -> {self.error:.3g}, "
            f"data {self.old_usage:.2%} -> {self.usage:.2%})"
        )


class Redesign:
    """Advances a chain, records pairs, and gives it new designs; `state` and `restore` carry it over a stop.

    A pair is recorded once the tests have read enough to pay for it: of all data read up to any moment at most
    `table.share` were read for pairs. Only the first 20 come by time instead, or a test so careless that it reads next
    to nothing would never be found out.
    """

    def __init__(self, table: RedesignTable, until: int, design: Design, rule: Rule = "metropolis") -> None:
        self.table, self.until, self.rule = table, until, rule
        self.design = design.without_notes
        self.pairs: Floats = np.empty((0, 4))  # mu, sigma, skew, log_ratio
        self.passes = self.read = 0
        self.log: list[Change] = []

    @classmethod
    def of(cls, table: RedesignTable | None, spec: ChainSpec, warmup: int) -> Redesign | None:
        """For one chain of a run; None if its design does not change."""
        if table is None:
            return None
        assert spec.design is not None  # the config has checked that the test is sequential
        return cls(table, table.until or warmup, spec.design, spec.rule)

    def advance(self, chain: MarkovChain, steps: int) -> Draws:
        """Make so many steps of a chain; record pairs and change its design on the way."""
        return advance_to(chain, chain.steps + steps, size=None, advance=lambda most: self._piece(chain, most))

    def _piece(self, chain: MarkovChain, steps: int) -> Draws:
        """At most so many steps: up to the next one after which a pair or a search may be due."""
        here, goal = chain.steps, chain.steps + steps
        if here >= self.until:
            return chain.advance(steps)
        try:
            if here % GRAIN == 0 and (self._affordable() or self._due(here)):
                part = self._observed(chain)
            else:
                next_grain, next_design = ((here // size + 1) * size for size in (GRAIN, self.table.every))
                part = chain.advance(min(goal, next_grain, next_design, self.until) - here)
        except ChainStopped as stopped:
            self.read += int(stopped.draws.n_used.sum())
            raise
        self.read += int(part.n_used.sum())
        if chain.steps % self.table.every == 0:
            self._redesign(chain)
        return part

    def _affordable(self) -> bool:
        """Whether one more pass keeps the share of pairs in all data read."""
        share = self.table.share
        return (self.passes + 1) * self.design.n_data * (1.0 - share) <= share * self.read

    def _due(self, step: int) -> bool:
        """Whether the next of the first few pairs is due, to have them all when the first search comes."""
        return self.passes < LEAST_PAIRS and step * LEAST_PAIRS >= self.passes * self.table.every

    def _observed(self, chain: MarkovChain) -> Draws:
        """One step, whose pair is recorded."""
        pairs: list[Pair] = []
        (draws,) = observing(chain, chain.steps + 1, 1, pairs)
        for pair in pairs:
            self.passes += 1
            if pair.sigma > 0.0:
                row = [[pair.mu, pair.sigma, pair.skew, pair.log_ratio]]
                self.pairs = np.concatenate([self.pairs, row])[-self.table.pairs :]
        return draws

    @property
    def trial(self) -> TrialRun:
        """The latest pairs."""
        mu, sigma, skew, log_ratio = self.pairs.T
        return TrialRun(self.design.n_data, mu, sigma, log_ratio, skew)

    def _redesign(self, chain: MarkovChain) -> None:
        """Search anew, and use what is found if that is worth it; the log has it in any case."""
        if len(self.pairs) < LEAST_PAIRS:
            return
        trial, table = self.trial, self.table
        judge = OverPairs(trial, self.rule)
        old = judge(as_plan(self.design), ACCURACY)
        found = search(trial, table.tolerance, rule=self.rule, space=table.space, workers=1)
        new, kept = old, self.design
        if found.best is None or found.usage is None or found.error is None:
            reason = "no design keeps the tolerance"
        elif old.error <= table.tolerance and found.usage > (1.0 - table.gain) * old.usage:
            reason = "none saves enough"
        else:
            reason = "tolerance broken" if old.error > table.tolerance else "fewer data"
            self.design, new = found.best.without_notes, judge(as_plan(found.best), ACCURACY)
            chain.use_test(SequentialTest.from_design(self.design))
        design, predicted = self.design, (new.error, new.usage, old.error, old.usage)
        knobs = design.m, design.epsilon, design.alpha, design.growth
        entry = chain.steps, len(trial), design != kept, *knobs, *predicted, self.passes, self.read, reason
        self.log.append(Change(*entry))

    def state(self) -> dict[str, Any]:
        """All of it, for a checkpoint."""
        counts = {"passes": self.passes, "read": self.read}
        return counts | {"design": self.design.to_json(), "pairs": self.pairs, "log": to_json(self.log)}

    def restore(self, chain: MarkovChain, state: Mapping[str, Any]) -> None:
        """From a checkpoint: the chain continues with the test it had."""
        self.passes, self.read = int(state["passes"]), int(state["read"])
        self.pairs, self.log = np.array(state["pairs"]), from_json(state["log"])
        self.design = Design.from_json(state["design"])
        chain.use_test(SequentialTest.from_design(self.design))


def to_json(log: Sequence[Change]) -> str:
    """A log as text."""
    return json.dumps([change._asdict() for change in log])


def from_json(text: str) -> list[Change]:
    """The log in a text.

    Examples
    --------
    >>> change = Change(1000, 100, True, 500, 0.05, 0.5, 1.0, 0.01, 0.4, 0.2, 0.3, 12, 10**6, "tolerance broken")
    >>> from_json(to_json([change])) == [change]
    True
    """
    return [Change(**entry) for entry in json.loads(text)]


def logs_in(attributes: Mapping[Any, Any]) -> list[list[Change]]:
    """The log of every chain in the attributes of results; empty if there was nothing to re-design."""
    return [[Change(**entry) for entry in log] for log in json.loads(attributes.get("redesign", "[]"))]


# --- one chain in memory ----------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """A few consecutive steps: where they end, the acceptance rate, and the share of the data that the tests read."""

    step: int
    acceptance: float
    usage: float


class Followed(NamedTuple):
    """A chain that was re-designed on its way: the log, what it did from window to window, its last pairs.

    `passes` over all data were made for the pairs; `read` data were read by the tests while the designs could change.
    """

    log: list[Change]
    windows: list[Window]
    trial: TrialRun | None
    passes: int
    read: int
    n_data: int

    @property
    def share(self) -> float:
        """Of the data read up to the last change, the part that was read for pairs."""
        return self.passes * self.n_data / max(1, self.passes * self.n_data + self.read)


def follow(
    config: SamplerConfig,
    steps: int,
    *,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Followed:
    """The first chain of a config with `[redesign]`, its first `steps` steps, in memory.

    It makes the draws of `run_config`. `progress` is told (steps done, all); when `cancelled` says so, `Cancelled` is
    raised.
    """
    if config.redesign is None:
        raise BadInput("redesign: missing; this table says how to re-design the chain")
    spec = build(config)
    redesign = Redesign.of(config.redesign, spec, config.run.warmup)
    assert redesign is not None
    return _followed(config, spec, redesign, steps, progress, cancelled)


def follow_from(
    config: SamplerConfig,
    m: int,
    epsilon: float,
    table: RedesignTable,
    steps: int,
    *,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Followed:
    """`follow` for a config with any test: the chain begins with this batch (at most N) and this threshold.

    The rule stays that of the config's own test.
    """
    spec = build(config)
    design = Design(spec.model.n_data, min(m, spec.model.n_data), epsilon)
    check_redesign(table, design, config.proposal, config.run)
    redesign = Redesign(table, table.until or config.run.warmup, design, config.rule)
    spec = spec._replace(test=SequentialTest.from_design(design), design=design)
    return _followed(config, spec, redesign, steps, progress, cancelled)


def _followed(
    config: SamplerConfig,
    spec: ChainSpec,
    redesign: Redesign,
    steps: int,
    progress: Progress | None,
    cancelled: Callable[[], bool] | None,
) -> Followed:
    chain, warmup = spec.chain(streams(config.run.seed, config.run.chains)[0]), Warmup(spec)
    windows, n_data, until = [], chain.n_data, config.run.warmup
    advance, stop = partial(redesign.advance, chain), partial(raise_if, cancelled)
    for part in in_blocks(chain, steps, breaks=[until], advance=advance, stop=stop):
        if chain.steps <= until:
            warmup.learn(chain, part)
        windows.append(Window(chain.steps, float(part.accepted.mean()), float(part.n_used.mean()) / n_data))
        if progress is not None:
            progress(chain.steps, steps)
    trial = redesign.trial if len(redesign.pairs) else None
    return Followed(redesign.log, windows, trial, redesign.passes, redesign.read, n_data)
