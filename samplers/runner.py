"""A config at work: chains that are saved as they go and resumed where they were, and their results."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from designer.errors import BadInput
from designer.records import TrialRun
from designer.schedule import Floats
from samplers.accept.comparison import AcceptTest
from samplers.accept.exact import ExactTest
from samplers.accept.sequential import SequentialTest
from samplers.adapt import Adaptation
from samplers.chain import BLOCK, Chain, ChainStopped, Draws, Progress, Reporter, in_parallel, streams
from samplers.config import SamplerConfig
from samplers.control import Controlled, find_mode
from samplers.datasets import load_labelled
from samplers.models import Model
from samplers.models.logistic import Logistic
from samplers.proposals import Proposal, ProxyStep, RandomWalk
from samplers.store import ChainStore, Checkpoint, Store
from samplers.trial import Audit, audit, observe

if TYPE_CHECKING:
    from xarray import DataTree


class Parts(NamedTuple):
    """A config made real."""

    model: Model
    proposal: Proposal
    test: AcceptTest
    start: Floats
    data_digest: str

    def chain(self, rng: np.random.Generator) -> Chain:
        """A chain at its start."""
        return Chain(self.model, self.proposal, self.test, self.start, rng)


def build(config: SamplerConfig) -> Parts:
    """Load the data and make model, proposal and test; the chains start at the posterior mode."""
    logistic = Logistic.from_data(*load_labelled(config.data.path, config.data.label), config.model.prior_precision)
    if config.proposal.kind == "adaptive" and not config.run.warmup:
        raise BadInput("run.warmup = 0: the adaptive proposal learns in warmup; give it some steps")
    if config.test is not None and config.test.n_data != logistic.n_data:
        raise BadInput(f"test.n_data = {config.test.n_data:,}: the data have {logistic.n_data:,} rows")
    mode = find_mode(logistic)
    second = Controlled.around(logistic, mode, 2)
    model: Model = logistic
    if config.model.control:
        model = second if config.model.control == 2 else Controlled.around(logistic, mode, config.model.control)
    proposal: Proposal = ProxyStep.of(second, config.proposal.beta or 1.0)
    if config.proposal.kind != "proxy":
        proposal = RandomWalk.with_covariance(np.linalg.inv(second.posterior_precision()), config.proposal.scale)
    test = ExactTest() if config.test is None else SequentialTest.from_design(config.test)
    return Parts(model, proposal, test, mode, hashlib.sha256(logistic.rows.tobytes()).hexdigest())


def run_config(
    config: SamplerConfig,
    output: str | Path,
    *,
    resume: bool = False,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> DataTree:
    """Run (or go on with) the chains of a config, saving them in `output`; returns all draws after warmup.

    The draws depend on the config alone: not on the workers, nor on where a run was killed and resumed.
    """
    store = Store(output)
    if not resume and store.chains():
        raise BadInput(f"{output}: holds a run already; give --resume to go on with it, or another directory")
    parts = build(config)
    digest = hashlib.sha256((config.digest + parts.data_digest).encode()).hexdigest()
    notes = {
        "digest": digest,
        "version": version("austerity"),
        "warmup": config.run.warmup,
        "n_data": parts.model.n_data,
    }
    store.describe(notes | ({} if config.test is None else {"design": config.test.to_toml()}))
    steps = config.run.warmup + config.run.draws
    report = Reporter(config.run.chains * steps, parts.model.n_data, progress)

    def whole(job: tuple[int, np.random.Generator], stop: Callable[[], bool]) -> None:
        number, rng = job
        with store.chain(number) as files:
            _SavedChain(config, parts, rng, files).run(steps, report, stop)

    in_parallel(whole, list(enumerate(streams(config.run.seed, config.run.chains))), workers, cancelled)
    return _results(store, config)


def collect_pairs(config: SamplerConfig, pairs: int, every: int = 10) -> TrialRun:
    """A trial run: pairs of one exact chain of the config, after its warmup."""
    parts = build(config)._replace(test=ExactTest())
    return observe(_warmed_up(config, parts), pairs * every, every).trial(parts.model.n_data)


def audit_config(config: SamplerConfig, steps: int, every: int) -> Audit:
    """One chain of the config after its warmup, every `every`-th decision compared with the exact one."""
    if config.test is None:
        raise BadInput("test: an exact test needs no audit")
    parts = build(config)
    return audit(config.test, observe(_warmed_up(config, parts), steps, every), parts.model.n_data)


def _adaptation(config: SamplerConfig, proposal: Proposal) -> Adaptation | None:
    return Adaptation(proposal) if config.proposal.kind == "adaptive" and isinstance(proposal, RandomWalk) else None


def _warmed_up(config: SamplerConfig, parts: Parts) -> Chain:
    """The first chain of a config at the end of its warmup."""
    chain, adaptation = parts.chain(streams(config.run.seed, 1)[0]), _adaptation(config, parts.proposal)
    while chain.steps < config.run.warmup:
        part = chain.advance(min(BLOCK, config.run.warmup - chain.steps))
        if adaptation is not None:
            chain.use(adaptation.learn(part))
    return chain


class _SavedChain:
    """One chain with its files: advances, adapts in warmup, saves every few seconds."""

    def __init__(self, config: SamplerConfig, parts: Parts, rng: np.random.Generator, files: ChainStore) -> None:
        self.warmup, self.seconds, self.files = config.run.warmup, config.run.checkpoint_seconds, files
        self.chain, self.adaptation = parts.chain(rng), _adaptation(config, parts.proposal)
        self.unsaved: list[Draws] = []
        self.saved_at = time.monotonic()

    def run(self, steps: int, report: Reporter, stop: Callable[[], bool]) -> None:
        """Go to `steps`, from the last checkpoint if there is one."""
        self.resume()
        report.skip(min(self.chain.steps, steps))
        try:
            while self.chain.steps < steps and not stop():
                report.add(self.advance(steps))
                if time.monotonic() - self.saved_at >= self.seconds:
                    self.save()
        finally:  # also when a likelihood is not finite, or the user interrupts: what there is is saved
            self.save()

    def resume(self) -> None:
        """Take up the newest good checkpoint."""
        last = self.files.latest()
        if last is None:
            return
        self.chain.steps, self.chain.theta = last.step, np.array(last.state["theta"])
        self.chain.rng.bit_generator.state = dict(last.rng)
        if self.adaptation is not None:
            self.adaptation.restore(last.state["adaptation"])
            self.chain.use(self.adaptation.proposal())

    def advance(self, steps: int) -> Draws:
        """Up to the next multiple of BLOCK, so that adaptation happens at the same steps however often a run stops."""
        goal = min(steps, (self.chain.steps // BLOCK + 1) * BLOCK)
        warming = self.chain.steps < self.warmup
        if warming:
            goal = min(goal, self.warmup)
        try:
            part = self.chain.advance(goal - self.chain.steps)
        except ChainStopped as stopped:
            self.unsaved.append(stopped.draws)
            raise
        self.unsaved.append(part)
        if warming and self.adaptation is not None:
            self.chain.use(self.adaptation.learn(part))
        return part

    def save(self) -> None:
        """Write what is new."""
        if sum(part.accepted.size for part in self.unsaved):
            state: dict[str, Any] = {"theta": self.chain.theta}
            if self.adaptation is not None:
                state["adaptation"] = self.adaptation.state()
            checkpoint = Checkpoint(self.chain.steps, self.chain.rng.bit_generator.state, state)
            self.files.save(checkpoint, Draws.joined(self.unsaved)._asdict())
        self.unsaved, self.saved_at = [], time.monotonic()


def _results(store: Store, config: SamplerConfig) -> DataTree:
    """The draws after warmup of the chains that have any."""
    from samplers.results import collect

    meta, begin, end = store.meta() or {}, config.run.warmup, config.run.warmup + config.run.draws
    chains = [store.chain(number).draws() for number in store.chains() if number < config.run.chains]
    kept = [{name: values[begin:end] for name, values in chain.items()} for chain in chains]
    kept = [chain for chain in kept if chain and chain["theta"].shape[0]]
    if not kept:
        raise BadInput(f"{store.directory}: no draws after warmup yet; --resume goes on")
    return collect(kept, {name: value for name, value in meta.items() if isinstance(value, (str, int, float))})
