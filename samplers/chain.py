"""Markov chains: a step on the protocols, blocks of steps (fused where the parts are built in), several chains."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from designer.acceptance import Rule
from designer.errors import BadInput, integer
from designer.schedule import Floats, Ints
from samplers import _permutation
from samplers.accept.comparison import AcceptTest, Comparison, Decision, NonFiniteTerm
from samplers.accept.exact import ExactTest
from samplers.accept.sequential import SequentialTest
from samplers.fused.block import run_block
from samplers.fused.build import fused_model, fused_parts, fused_proposal, fused_test
from samplers.fused.decisions import begin
from samplers.fused.parts import MORE_LOOKS, Exact, Sequential
from samplers.likelihoods import Likelihoods
from samplers.models import Model
from samplers.proposals import Proposal

BLOCK = 256  # steps between looks at the clock and at the cancel switch
MAX_DRAWS = 10**9

_T = TypeVar("_T")
_R = TypeVar("_R")


class Draws(NamedTuple):
    """What happened in consecutive steps: the state after each, whether it moved, data read and looks taken."""

    theta: Floats
    accepted: npt.NDArray[np.bool_]
    n_used: Ints
    n_looks: Ints

    @classmethod
    def empty(cls, steps: int, dimension: int) -> Draws:
        """Room for so many steps."""
        whole = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
        return cls(np.empty((steps, dimension)), np.zeros(steps, dtype=np.bool_), *whole)

    @classmethod
    def joined(cls, parts: list[Draws]) -> Draws:
        """One after the other."""
        theta, accepted, n_used, n_looks = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return cls(theta, accepted, n_used, n_looks)

    def first(self, steps: int) -> Draws:
        """The first few."""
        return Draws(self.theta[:steps], self.accepted[:steps], self.n_used[:steps], self.n_looks[:steps])


class ChainStopped(ArithmeticError):
    """A log-likelihood was not finite: at which step, for which proposal and datum; `draws` are those before."""

    def __init__(self, step: int, theta: Floats, index: int | None, draws: Draws) -> None:
        what = "prior or proposal" if index is None else f"log-likelihood of datum {index:,}"
        super().__init__(f"step {step:,}: the {what} is not finite at theta = {_short(theta)}")
        self.step, self.theta, self.index, self.draws = step, theta, index, draws


class Progress(NamedTuple):
    """How far all chains together have come."""

    done: int
    total: int
    seconds: float
    acceptance: float
    usage: float

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.done / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """At the rate so far."""
        return (self.total - self.done) / max(self.rate, 1e-9)


def step(
    rng: np.random.Generator,
    model: Model,
    proposal: Proposal,
    test: AcceptTest,
    theta: Floats,
    rule: Rule = "metropolis",
    kept: Likelihoods | None = None,
) -> tuple[Floats, Decision]:
    """One step of a chain on any model: propose, ask the test, move or stay.

    `kept` are the log-likelihoods at theta, for tests that want the sum of all l_i.
    """
    proposed = proposal.propose(rng, theta)
    comparison = compare(model, theta, proposed.theta, proposed.log_q, rule)
    if kept is not None:
        comparison = replace(comparison, full=kept.full(theta, proposed.theta))
    if math.isnan(comparison.log_ratio):
        raise ChainStopped(0, proposed.theta, None, Draws.empty(0, theta.size))
    try:
        decision = test.decide(rng, comparison)
    except NonFiniteTerm as bad:
        raise ChainStopped(0, proposed.theta, bad.index, Draws.empty(0, theta.size)) from None
    if decision.accept and kept is not None:
        kept.moved(proposed.theta)
    return (proposed.theta if decision.accept else theta), decision


def compare(
    model: Model, theta: Floats, theta_new: Floats, log_q: float = 0.0, rule: Rule = "metropolis"
) -> Comparison:
    """The question of a step. c = log prior(theta) - log prior(theta') + log q(theta'|theta) - log q(theta|theta')."""

    def terms(indices: Ints) -> Floats:
        with np.errstate(all="ignore"):  # what is not finite is noticed by the test, and named
            return model.terms(theta, theta_new, indices)

    log_ratio = model.log_prior(theta) - model.log_prior(theta_new) + log_q
    bound = getattr(model, "range_bound", None)  # of max |l_i|; a model may know one
    found = None if bound is None else lambda: bound(theta, theta_new)  # when a test asks: it may cost a pass
    return Comparison(model.n_data, terms, log_ratio, rule, found)


class Stateful(Protocol):
    """What the steps of a chain change."""

    theta: Floats
    steps: int
    rng: np.random.Generator


@contextmanager
def all_steps_or_none(chain: Stateful) -> Iterator[None]:
    """An error in the block takes the chain back to its begin, as if no step had been made.

    Not so `ChainStopped`, which hands over the draws so far: the chain stands behind the last of them.
    """
    before = chain.theta.copy(), chain.steps, chain.rng.bit_generator.state
    try:
        yield
    except ChainStopped:
        raise
    except BaseException:
        chain.theta, chain.steps, chain.rng.bit_generator.state = before
        raise


class Chain:
    """One chain: its parts, its state and its random numbers.

    Examples
    --------
    >>> from samplers.models.logistic import Logistic
    >>> from samplers.proposals import RandomWalk
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> chain = Chain(model, RandomWalk.isotropic(0.2, 2), ExactTest(), np.zeros(2), np.random.default_rng(1))
    >>> chain.advance(100).theta.shape
    (100, 2)
    """

    def __init__(
        self,
        model: Model,
        proposal: Proposal,
        test: AcceptTest,
        theta: npt.ArrayLike,
        rng: np.random.Generator,
        rule: Rule = "metropolis",
        *,
        fuse: bool = True,
    ) -> None:
        self.model, self.proposal, self.test, self.rule, self.rng = model, proposal, test, rule, rng
        self.theta = np.array(theta, dtype=np.float64)
        self.steps = 0
        if self.theta.ndim != 1 or not np.all(np.isfinite(self.theta)):
            raise BadInput(f"start: must be a list of finite numbers, has shape {self.theta.shape}")
        if isinstance(test, SequentialTest) and test.plan.schedule.n_data != model.n_data:
            made_for = test.plan.schedule.n_data
            raise BadInput(f"the test was designed for n_data = {made_for:,}, the model has {model.n_data:,}")
        wanted = getattr(model, "dimension", None)
        if wanted is not None and self.theta.size != wanted:
            raise BadInput(f"start: has {self.theta.size:,} numbers, the model {wanted:,}")
        self._check(proposal)
        self._fused = fused_parts(model, proposal, test, rule) if fuse else None
        self._kept: Likelihoods | None  # made when steps are made on the protocols
        self._filled_at: Floats | None  # theta whose log-likelihoods the exact test holds
        self._forget()

    def use(self, proposal: Proposal, model: Model | None = None) -> None:
        """Go on with another proposal, as warmup may want to, and with other control variates.

        The model, if given, must have the same posterior as the one before.
        """
        self._check(proposal)
        self.proposal = proposal
        if model is not None:
            self.model, self._kept = model, None
        if self._fused is not None:
            data, _, test = self._fused
            data = data if model is None else fused_model(model)
            self._filled_at = None
            move = fused_proposal(proposal, self.model)
            self._fused = None if data is None or move is None else (data, move, test)

    def use_test(self, test: AcceptTest) -> None:
        """Go on with another acceptance test, for as many data."""
        self.test, self._kept = test, None
        if self._fused is not None:
            data, move, _ = self._fused
            decision = fused_test(test, self.model.n_data, self.rule)
            self._fused = None if decision is None else (data, move, decision)
            self._filled_at = None

    def _check(self, proposal: Proposal) -> None:
        factor = getattr(proposal, "factor", None)
        if factor is not None and factor.shape != (self.theta.size, self.theta.size):
            raise BadInput(f"proposal: is for {factor.shape[0]:,} numbers, start has {self.theta.size:,}")

    def _forget(self) -> None:
        """Keep nothing of earlier steps but the state: an error may have left the rest half made."""
        self._kept = None
        if self._fused is not None:
            self._permutation = _permutation.fresh(self.model.n_data)
            self._filled_at = None

    def advance(self, steps: int) -> Draws:
        """Make so many steps, or none if there is an error other than `ChainStopped`."""
        with all_steps_or_none(self):
            try:
                return self._advance_fused(steps) if self._fused is not None else self._advance_by_steps(steps)
            except BaseException:
                self._forget()
                raise

    def _advance_fused(self, steps: int) -> Draws:
        assert self._fused is not None
        model, _, test = self._fused
        if isinstance(test, Exact) and not (
            self._filled_at is not None and np.array_equal(self._filled_at, self.theta)
        ):
            begin(model, test, self.theta)
        self._filled_at = None
        draws, before = Draws.empty(steps, self.theta.size), (self.theta.copy(), self.rng.bit_generator.state)
        done = 0
        while done < steps:
            done, looks, self._permutation = run_block(self.rng, *self._fused, self.theta, self._permutation, *draws)
            if done < steps:  # go back and repeat the block
                self.theta[:], self.rng.bit_generator.state = before
                if looks != MORE_LOOKS:  # something was not finite; the protocols say what
                    return self._advance_by_steps(steps)
                self._know_more_looks()
        self.steps += done
        self._filled_at = self.theta.copy()
        return draws

    def _know_more_looks(self) -> None:
        """Compute the bounds of four times as many looks for the fused sequential test."""
        assert self._fused is not None
        model, proposal, test = self._fused
        assert isinstance(test, Sequential)
        self._fused = model, proposal, fused_test(self.test, test.n_data, self.rule, 4 * test.looks.size)

    def _advance_by_steps(self, steps: int) -> Draws:
        """On the protocols. If stopped, theta, steps and random numbers are as after the last good step."""
        draws = Draws.empty(steps, self.theta.size)
        if self._kept is None and isinstance(self.test, ExactTest):
            self._kept = Likelihoods.of(self.model)
        for s in range(steps):
            before = self.rng.bit_generator.state
            try:
                parts = (self.model, self.proposal, self.test)
                self.theta, decision = step(self.rng, *parts, self.theta, self.rule, self._kept)
            except ChainStopped as stop:
                self.rng.bit_generator.state = before
                raise ChainStopped(self.steps, stop.theta, stop.index, draws.first(s)) from None
            draws.theta[s] = self.theta
            draws.accepted[s], draws.n_used[s], draws.n_looks[s] = decision
            self.steps += 1
        return draws


def streams(seed: int, chains: int) -> list[np.random.Generator]:
    """Independent random numbers for every chain, the same whatever runs them."""
    seed = integer("seed", seed, 0, 2**128)
    return [np.random.Generator(np.random.PCG64DXSM(child)) for child in np.random.SeedSequence(seed).spawn(chains)]


def run(
    model: Model,
    proposal: Proposal,
    test: AcceptTest,
    *,
    start: npt.ArrayLike,
    draws: int,
    warmup: int = 0,
    chains: int = 4,
    seed: int = 0,
    rule: Rule = "metropolis",
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    fuse: bool = True,
) -> list[Draws]:
    """Several chains from the same start; the draws of each after `warmup` steps that are thrown away.

    The draws depend on the seed alone, not on `workers`. When `cancelled` says so, what there is is returned.
    """
    draws, warmup = integer("draws", draws, 1, MAX_DRAWS), integer("warmup", warmup, 0, MAX_DRAWS)
    every = [
        Chain(model, proposal, test, start, rng, rule, fuse=fuse)
        for rng in streams(seed, integer("chains", chains, 1, 10**4))
    ]
    report = Reporter(len(every) * (draws + warmup), model.n_data, progress)

    def whole(chain: Chain, stop: Callable[[], bool]) -> Draws:
        parts = [Draws.empty(0, chain.theta.size)]
        while chain.steps < warmup + draws and not stop():
            warming = chain.steps < warmup
            goal = warmup if warming else warmup + draws
            try:
                part = chain.advance(min(BLOCK, goal - chain.steps))
            except ChainStopped as stopped:
                kept = parts if warming else [*parts, stopped.draws]
                raise ChainStopped(stopped.step, stopped.theta, stopped.index, Draws.joined(kept)) from None
            if not warming:
                parts.append(part)
            report.add(part)
        return Draws.joined(parts)

    return in_parallel(whole, every, workers, cancelled)


def in_parallel(
    task: Callable[[_T, Callable[[], bool]], _R],
    items: Sequence[_T],
    workers: int | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[_R]:
    """task(item, stop) for every item in threads; stop() tells a task to finish early.

    It does so when `cancelled` says so, when another task has failed, and when the user interrupts.
    """
    halt = threading.Event()

    def guarded(item: _T) -> _R:
        try:
            return task(item, lambda: halt.is_set() or (cancelled is not None and cancelled()))
        except BaseException:
            halt.set()
            raise

    workers = integer("workers", os.cpu_count() or 1 if workers is None else workers, 1, 1000)
    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(guarded, items))
        except BaseException:
            halt.set()
            raise


class Reporter:
    """Adds up what several chains report from their threads, and tells the caller."""

    def __init__(self, total: int, n_data: int, tell: Callable[[Progress], None] | None) -> None:
        self.total, self.n_data, self.tell = total, n_data, tell
        self.start, self.lock = time.monotonic(), threading.Lock()
        self.done = self.accepted = self.used = 0

    def skip(self, steps: int) -> None:
        """Steps of an earlier run."""
        with self.lock:
            self.total -= steps

    def add(self, part: Draws) -> None:
        """Steps made just now."""
        with self.lock:
            self.done += part.accepted.size
            self.accepted += int(part.accepted.sum())
            self.used += int(part.n_used.sum())
            if self.tell is not None:
                share = self.accepted / self.done, self.used / self.done / self.n_data
                self.tell(Progress(self.done, self.total, time.monotonic() - self.start, *share))


def _short(theta: Floats) -> str:
    shown = ", ".join(f"{value:.6g}" for value in theta[:5])
    return f"[{shown}{', …' if theta.size > 5 else ''}]"
