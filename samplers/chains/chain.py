"""Markov chains: a step on the protocols, blocks of steps (fused where the parts are built in), several chains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer
from designer.engine.step_error import Rule
from samplers.chains.draws import ChainStopped, Draws, all_steps_or_none
from samplers.chains.likelihood_cache import Likelihoods
from samplers.chains.parallel import Progress, Reporter, in_parallel, streams
from samplers.compiled.block import run_block
from samplers.compiled.build import fused_model, fused_parts, fused_proposal, fused_test
from samplers.compiled.decisions import begin
from samplers.compiled.parts import MORE_LOOKS, Exact, Sequential
from samplers.decide import _permutation
from samplers.decide.comparison import AcceptTest, Comparison, Decision, NonFiniteTerm
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models import Model
from samplers.proposals import Proposal

BLOCK = 256  # steps between looks at the clock and at the cancel switch
MAX_DRAWS = 10**9

__all__ = [
    "BLOCK",
    "MAX_DRAWS",
    "Chain",
    "ChainStopped",
    "Draws",
    "Progress",
    "all_steps_or_none",
    "compare",
    "run",
    "step",
    "streams",
]


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


class Chain:
    """One chain: its parts, its state and its random numbers.

    A model, proposal and test that are built in run as one compiled call per block; others step by step, through their
    methods. Both make the same decisions from the same random numbers.

    Parameters
    ----------
    model
        What the data say: a `Model`, built in or the caller's own.
    proposal
        Draws candidates, a `Proposal`.
    test
        Decides, an `AcceptTest`.
    theta
        The start, D numbers.
    rng
        Random numbers; `streams` makes independent ones for several chains.
    rule
        "metropolis" or "barker".
    fuse
        Whether to use compiled blocks where they exist.

    Raises
    ------
    BadInput
        If the parts do not fit together.

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
        self._check_test(test)
        wanted = getattr(model, "dimension", None)
        if wanted is not None and self.theta.size != wanted:
            raise BadInput(f"start: has {self.theta.size:,} numbers, the model {wanted:,}")
        self._check(proposal)
        self._may_fuse = fuse
        self._fused: tuple[Any, Any, Any] | None
        self._kept: Likelihoods | None  # made when steps are made on the protocols
        self._filled_at: Floats | None  # theta whose log-likelihoods the exact test holds
        self._fuse()

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
        self._check_test(test)
        self.test = test
        self._fuse()

    def _check_test(self, test: AcceptTest) -> None:
        if isinstance(test, SequentialTest) and test.plan.schedule.n_data != self.model.n_data:
            made_for = test.plan.schedule.n_data
            raise BadInput(f"the test was designed for n_data = {made_for:,}, the model has {self.model.n_data:,}")

    def _check(self, proposal: Proposal) -> None:
        factor = getattr(proposal, "factor", None)
        if factor is not None and factor.shape != (self.theta.size, self.theta.size):
            raise BadInput(f"proposal: is for {factor.shape[0]:,} numbers, start has {self.theta.size:,}")

    def _fuse(self) -> None:
        """Make whole blocks of steps in one call from here on, if the parts are built in."""
        parts = self.model, self.proposal, self.test, self.rule
        self._fused = fused_parts(*parts) if self._may_fuse else None
        self._forget()

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
    """Several chains from the same start, in threads.

    Parameters
    ----------
    model, proposal, test, rule, fuse
        As for `Chain`.
    start
        Of every chain, D numbers.
    draws, warmup
        Steps of each chain that are kept, and steps before that are thrown away.
    chains
        How many.
    seed
        The draws depend on it alone, not on `workers`.
    workers
        Threads; as many as cores by default.
    progress, cancelled
        Called with a `Progress` after each block; asked as often, and what there is is returned when it says True.

    Returns
    -------
    list of Draws
        One per chain. `samplers.collect([draws._asdict() for draws in ...])` is what ArviZ wants.

    Raises
    ------
    ChainStopped
        If a log-likelihood is not finite.

    Examples
    --------
    >>> from samplers import Logistic, RandomWalk
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> found = run(model, RandomWalk.isotropic(0.2, 2), ExactTest(), start=np.zeros(2), draws=50, warmup=10, chains=2)
    >>> [draws.theta.shape for draws in found]
    [(50, 2), (50, 2)]
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
                if warming:
                    stopped.draws = stopped.draws.first(0)
                raise stopped.after(parts) from None
            if not warming:
                parts.append(part)
            report.add(part)
        return Draws.joined(parts)

    return in_parallel(whole, every, workers, cancelled)
