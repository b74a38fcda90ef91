"""Design from the running chain: record pairs on the way, search again every so often, log every attempt.

K14 supplement D suggests redesigning the test as the chain runs. A pair costs a pass over all the data, so pairs are
recorded only as fast as a given share of the data read allows. The designs stop changing at a given step, by default at
the end of the warm-up: from there on the chain is a Markov chain with one fixed test.
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
from designer.search.search import SEARCH_ACCURACY, Options, SearchResult, search
from samplers.adapt.warmup import Warmup
from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.driver import advance_to, in_blocks
from samplers.chains.parallel import streams
from samplers.chains.protocol import MarkovChain
from samplers.chains.spec import ChainSpec
from samplers.config.assemble import build
from samplers.config.config import SamplerConfig
from samplers.config.fits import check_redesign
from samplers.config.schema import RedesignTable
from samplers.decide.sequential import SequentialTest
from samplers.study.observe import Pair, observing

GRAIN = 16  # pairs are recorded only at multiples of this: the same ones however a run is stopped and resumed
LEAST_PAIRS = 20  # needed for a search; this many are recorded before the first one, whatever they cost


class Change(NamedTuple):
    """One attempt to redesign, made after `step` steps on the latest `pairs` pairs.

    `m` to `growth` are those of the design in use from here on. `error` and `usage` are its predictions on these pairs,
    `old_error` and `old_usage` those of the design before. So far `passes` over all data were made for pairs, and the
    tests have read `read` data. `reason` says why the design was changed or not.
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
        """The attempt in one line."""
        what = "changed to" if self.changed else "kept"
        return (
            f"step {self.step:,}: {what} m = {self.m:,}, ε = {self.epsilon:g}, α = {self.alpha:g} "
            f"({self.reason}; on {self.pairs:,} pairs error {self.old_error:.3g} -> {self.error:.3g}, "
            f"data {self.old_usage:.2%} -> {self.usage:.2%})"
        )


class Redesign:
    """Advances a chain, records pairs, and gives it new designs; `state` and `restore` are for checkpoints.

    A pair is recorded once the tests have read enough to pay for it: at any time at most `table.share` of all data read
    were read for pairs. The first 20 pairs are recorded at fixed steps instead. Otherwise a test so careless that it
    reads next to nothing would never be replaced.
    """

    def __init__(self, table: RedesignTable, until: int, design: Design, rule: Rule = "metropolis") -> None:
        self.table, self.until, self.rule = table, until, rule
        self.design = design.without_notes
        self.pairs: Floats = np.empty((0, 4))  # μ, σ, skew, log_ratio
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
        """Make this many steps of a chain; record pairs and change its design on the way."""
        return advance_to(chain, chain.steps + steps, size=None, advance=lambda most: self._piece(chain, most))

    def _piece(self, chain: MarkovChain, steps: int) -> Draws:
        """At most this many steps: up to the next one after which a pair or a search may be due."""
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
        """Whether the share of data read for pairs allows one more pass."""
        share = self.table.share
        return (self.passes + 1) * self.design.n_data * (1.0 - share) <= share * self.read

    def _due(self, step: int) -> bool:
        """Whether the next of the first pairs is due, so that all of them are there for the first search."""
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
        """Search again, use the best design if it is worth it, and log the attempt."""
        if len(self.pairs) < LEAST_PAIRS:
            return
        trial, table = self.trial, self.table
        judge = OverPairs(trial, self.rule)
        old = judge(as_plan(self.design), SEARCH_ACCURACY)
        new, before = old, self.design
        result = self._searched(trial)
        if isinstance(result, str):
            reason = result
        elif result.best is None or result.usage is None or result.error is None:
            reason = "no design meets the tolerance"
        elif old.error <= table.tolerance and result.usage > (1.0 - table.gain) * old.usage:
            reason = "none saves enough"
        else:
            reason = "tolerance broken" if old.error > table.tolerance else "fewer data"
            self.design, new = result.best.without_notes, judge(as_plan(result.best), SEARCH_ACCURACY)
            chain.use_test(SequentialTest.from_design(self.design))
        design, predicted = self.design, (new.error, new.usage, old.error, old.usage)
        knobs = design.m, design.epsilon, design.alpha, design.growth
        entry = chain.steps, len(trial), design != before, *knobs, *predicted, self.passes, self.read, reason
        self.log.append(Change(*entry))

    def _searched(self, trial: TrialRun) -> SearchResult | str:
        """The best design, or why no search can be made of these pairs, for example because they are too few.

        A careless test can keep the chain from its posterior, so pairs of the burn-in must do.
        """
        table = self.table
        # by the normal theory, as `judge` has it: pairs of the warm-up keep no residuals
        options: Options = {"rule": self.rule, "space": table.space, "stationary": False, "workers": 1, "skew": False}
        if table.confidence is not None:
            options["confidence"] = table.confidence
        try:
            return search(trial, table.tolerance, **options)
        except BadInput as refusal:
            return str(refusal).split(": ", 1)[0]

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
    """The log of every chain in the attributes of results; empty for a run without redesigns."""
    return [[Change(**entry) for entry in log] for log in json.loads(attributes.get("redesign", "[]"))]


# --- one chain in memory ----------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """A few consecutive steps: where they end, their acceptance rate and data use."""

    step: int
    acceptance: float
    usage: float


class Followed(NamedTuple):
    """A chain that was redesigned as it ran: the log, what it did from window to window, its last pairs.

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
        """Share of the data read for pairs, of all data read while the design could change."""
        return self.passes * self.n_data / max(1, self.passes * self.n_data + self.read)


def follow(
    config: SamplerConfig,
    steps: int,
    *,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Followed:
    """The first chain of a config with `[redesign]`, its first `steps` steps, in memory.

    It makes the same draws as `run_config`. `progress` is called with (steps done, all steps); once `cancelled` says
    True, `Cancelled` is raised.
    """
    if config.redesign is None:
        raise BadInput("redesign: missing; this table says how to redesign the chain")
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
    """`follow` for a config with any test: the chain starts with this m (at most N) and this ε.

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
        windows.append(
            Window(chain.steps, float(part.accepted.mean()), float(part.n_used.mean()) / chain.data_per_step)
        )
        if progress is not None:
            progress(chain.steps, steps)
    trial = redesign.trial if len(redesign.pairs) else None
    return Followed(redesign.log, windows, trial, redesign.passes, redesign.read, n_data)
