"""Metropolis-Hastings chains: step by step on any model, in compiled blocks where the parts are built in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from designer.engine.step_error import Rule
from samplers.chains.draws import Draws
from samplers.chains.likelihood_cache import Likelihoods
from samplers.chains.remembering import Remembering
from samplers.chains.stepping import SteppedChain, all_steps_or_none, decide
from samplers.compiled.block import run_block
from samplers.compiled.build import fused_model, fused_parts, fused_proposal, fused_test
from samplers.compiled.decisions import begin
from samplers.compiled.parts import MORE_LOOKS, Exact, ExactMinibatch, Sequential
from samplers.decide import _permutation
from samplers.decide.comparison import AcceptTest, Comparison, Decision
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import check_designed_for
from samplers.models import Model
from samplers.proposals import Proposal

PROBES = 3  # comparisons that tell a model from another
NEAR = 1e-3  # how far from the start they are, relative to 1 + |θ|


def compare(
    model: Model, theta: Floats, theta_new: Floats, log_q: float = 0.0, rule: Rule = "metropolis"
) -> Comparison:
    """The question of a step, with c = log prior(θ) - log prior(θ') + log q(θ'|θ) - log q(θ|θ')."""

    def terms(indices: Ints) -> Floats:
        with np.errstate(all="ignore"):  # the test notices and names what is not finite
            return model.terms(theta, theta_new, indices)

    log_ratio = model.log_prior(theta) - model.log_prior(theta_new) + log_q
    range_bound = getattr(model, "range_bound", None)  # of max |lᵢ|; a model may know one
    bound = None if range_bound is None else lambda: range_bound(theta, theta_new)  # may cost a pass: only if asked
    term_bounds = getattr(model, "bounds", None)  # of each |lᵢ|, likewise
    bounds = None if term_bounds is None else lambda: term_bounds(theta, theta_new)
    return Comparison(model.n_data, terms, log_ratio, rule, bound, bounds=bounds)


def probe(rng: np.random.Generator, model: Model, theta: Floats) -> Iterator[Comparison]:
    """Comparisons of θ with a few states near it, by which one model can be told from another."""
    for _ in range(PROBES):
        move = NEAR * (1.0 + np.abs(theta)) * rng.standard_normal(theta.size)
        yield compare(model, theta, theta + _inside(model, theta, move))


def _inside(model: Model, theta: Floats, move: Floats) -> Floats:
    """The move; if it leaves the prior's support, its components with signs that keep θ inside, where there are any.

    A start at a bound is common (zeros for positive parameters), and outside the model may say nothing about the data.
    """
    if math.isfinite(model.log_prior(theta + move)):
        return move
    inside = np.zeros_like(move)
    for j in range(move.size):
        for component in (move[j], -move[j]):
            inside[j] = component
            if math.isfinite(model.log_prior(theta + inside)):
                break
        else:
            inside[j] = 0.0
    return inside if inside.any() else move


class Chain(SteppedChain):
    """One Metropolis-Hastings chain; it follows the chain protocol (`samplers.chains.protocol`).

    If model, proposal and test are built in, a block of steps is one compiled call; otherwise the chain steps through
    their methods. Both ways make the same decisions from the same random numbers.

    Parameters
    ----------
    model
        What the data say: a `Model`, built in or your own.
    proposal
        A `Proposal`: draws proposed states.
    test
        An `AcceptTest`: decides.
    theta
        The start, D numbers.
    rng
        Random numbers; `samplers.chains.parallel.streams` makes independent ones for several chains.
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
        if self.theta.ndim != 1 or not np.all(np.isfinite(self.theta)):
            raise BadInput(f"start: must be a list of finite numbers, has shape {self.theta.shape}")
        check_designed_for(test, self.n_data, n_heavy=self.n_always)
        dimension = getattr(model, "dimension", None)
        if dimension is not None and self.theta.size != dimension:
            raise BadInput(f"start: has {self.theta.size:,} numbers, the model {dimension:,}")
        self._check(proposal)
        self._may_fuse = fuse
        self._fused: tuple[Any, Any, Any] | None
        self._likelihoods: Likelihoods | None  # of the state; made when the chain steps through the protocols
        self._filled_at: Floats | None  # the state about which the compiled test holds something
        self._fuse()

    @property
    def evaluations_per_datum(self) -> float:
        """The exact test stores the log-likelihoods of the state, and so evaluates one state per datum.

        For other tests both states, unless the model remembers one: then as measured so far.
        """
        if isinstance(self.test, ExactTest):
            return 1.0
        return self.model.evaluations_per_datum if isinstance(self.model, Remembering) else 2.0

    def use(self, proposal: Proposal, model: Model | None = None) -> None:
        """Go on with another proposal, as warm-up may want to, and with other control variates.

        The model, if given, must have the same posterior as the one before.
        """
        self._check(proposal)
        self.proposal = proposal
        if model is not None:
            self.model, self._likelihoods = model, None
        if self._fused is not None:
            data, _, test = self._fused
            if model is not None:
                data, test = fused_model(model), fused_test(self.test, model, self.rule)
            self._filled_at = None
            move = fused_proposal(proposal, self.model)
            self._fused = None if data is None or move is None or test is None else (data, move, test)

    def use_test(self, test: AcceptTest) -> None:
        """Go on with another acceptance test for the same number of data."""
        check_designed_for(test, self.n_data, n_heavy=self.n_always)
        self.test = test
        self._fuse()

    def _check(self, proposal: Proposal) -> None:
        factor = getattr(proposal, "factor", None)
        if factor is not None and factor.shape != (self.theta.size, self.theta.size):
            raise BadInput(f"proposal: is for {factor.shape[0]:,} numbers, start has {self.theta.size:,}")

    def _fuse(self) -> None:
        """From here on make whole blocks of steps in one call, if the parts are built in."""
        parts = self.model, self.proposal, self.test, self.rule
        self._fused = fused_parts(*parts) if self._may_fuse else None
        self.forget()

    def forget(self) -> None:
        """Keep only the state: an error may have left the rest half made."""
        self._likelihoods = None
        if self._fused is not None:
            self._permutation = _permutation.fresh(self.n_data)
            self._filled_at = None

    def propose(self, rng: np.random.Generator, theta: Floats) -> tuple[Floats, Comparison]:
        """A proposed state, and the question whether to accept it."""
        proposed = self.proposal.propose(rng, theta)
        return proposed.theta, compare(self.model, theta, proposed.theta, proposed.log_q, self.rule)

    def known_terms(self, theta: Floats, theta_new: Floats) -> Callable[[Ints], Floats] | None:
        """The lᵢ of the latest step, if its exact decision has evaluated them for all data; None if not."""
        return None if self._likelihoods is None else self._likelihoods.differences(theta, theta_new)

    def probes(self, rng: np.random.Generator) -> Iterator[Comparison]:
        """Comparisons of the state with a few near it."""
        return probe(rng, self.model, self.theta)

    def step(self, rng: np.random.Generator, theta: Floats) -> tuple[Floats, Decision]:
        """One step on any model: propose, ask the test, move or stay; then the model's move without data."""
        proposed, comparison = self.propose(rng, theta)
        if self._likelihoods is None and isinstance(self.test, ExactTest):
            self._likelihoods = Likelihoods.of(self.model)
        if self._likelihoods is not None:
            comparison = replace(comparison, full=self._likelihoods.full(theta, proposed))
        row_number = getattr(self.model, "row_number", None)
        decision = decide(rng, self.test, comparison, proposed, row_number=row_number)
        if decision.accept and self._likelihoods is not None:
            self._likelihoods.moved(proposed)
        counted = decision._replace(n_used=decision.n_used + self.n_always)
        return self._refreshed(rng, proposed if decision.accept else theta), counted

    def _refreshed(self, rng: np.random.Generator, theta: Floats) -> Floats:
        """θ after the model's own move without data, if it has one."""
        refresh = getattr(self.model, "refresh", None)
        if refresh is None:
            return theta
        moved: Floats = refresh(rng, theta)
        if self._likelihoods is not None and moved is not theta:
            self._likelihoods.refreshed(theta, moved)
        return moved

    def advance(self, steps: int) -> Draws:
        """Make this many steps.

        `ChainStopped` leaves the chain after the last good step; any other error takes it back to the first.
        """
        with all_steps_or_none(self):
            return self._advance_fused(steps) if self._fused is not None else self.advance_by_steps(steps)

    def _advance_fused(self, steps: int) -> Draws:
        assert self._fused is not None
        model, _, test = self._fused
        if isinstance(test, (Exact, ExactMinibatch)) and not (
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
                if looks != MORE_LOOKS:  # something was not finite, or beyond its bound; the protocols say what
                    return self.advance_by_steps(steps)
                self._know_more_looks()
        draws.n_used[:] += self.n_always
        self.steps += done
        self._filled_at = self.theta.copy()
        return draws

    def _know_more_looks(self) -> None:
        """Compute the bounds of four times as many looks for the compiled sequential test."""
        assert self._fused is not None
        model, proposal, test = self._fused
        assert isinstance(test, Sequential)
        self._fused = model, proposal, fused_test(self.test, self.model, self.rule, 4 * test.looks.size)
