"""From a chain to a `TrialRun`, and what a test did in the steps that were recorded.

At every k-th step a full pass over the data gives the moments of the lᵢ of that proposal: a pair for the calculator.
The same pass gives the exact decision for the same u and, if the chain's test is not exact, what the test does to this
pair for all u together (`StepError`): what an audit judges (`samplers.study.audit`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from designer.core.errors import BadInput, integer
from designer.engine.step_error import Rule
from designer.pairs.notes import Note
from designer.pairs.residuals import Keeper, Residuals, Weighted
from designer.pairs.trial_run import TrialRun
from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.driver import in_blocks
from samplers.chains.protocol import MarkovChain, State
from samplers.chains.stepping import all_steps_or_none
from samplers.decide.comparison import Comparison, NonFiniteTerm, draw_threshold
from samplers.decide.exact import ExactTest
from samplers.decide.exact_minibatch import ExactMinibatchTest
from samplers.models.moments import moments
from samplers.proposals import ArrowStep, ProxyStep
from samplers.study.integrated import PRECISION, StepError, all_terms, step_error

WITHOUT_ERROR = ExactTest, ExactMinibatchTest
SPACING = 10  # steps from one pair of a random walk to the next
CORRELATED = 0.2  # correlation of pairs to allow
MOST_KEPT = 5000  # pairs whose residuals are kept, 16 kB each


class Pair(NamedTuple):
    """One proposal, evaluated on all data.

    Attributes
    ----------
    mu, sigma, skew
        Moments of its lᵢ.
    log_ratio
        c, minus the usual log ratio of priors and proposals.
    v
        log u, or logit u by Barker's rule.
    accepted, exact
        The test's decision, and the exact one with the same u.
    n_used
        Data that the test read (heavy rows, which every step reads, are not among them).
    kept
        Values that stand for its lᵢ, for the residuals of a trial run; None if none were kept.
    theta, proposed
        The state and the proposal, where the test's errors are recorded, too; otherwise None.

    Examples
    --------
    >>> Pair(mu=0.0, sigma=0.1, skew=0.0, log_ratio=0.0, v=-0.5, accepted=True, exact=True, n_used=500).exact
    True
    """

    mu: float
    sigma: float
    skew: float
    log_ratio: float
    v: float
    accepted: bool
    exact: bool
    n_used: int
    kept: Weighted | None = None
    theta: State | None = None
    proposed: State | None = None


class Observed(NamedTuple):
    """A chain's draws, and the pairs recorded on the way.

    Attributes
    ----------
    draws
        As `Chain.advance` gives them.
    pairs
        Each a `Pair`.
    rule
        Of the chain.
    errors
        What the chain's test does to each of these pairs, a `StepError`; none if the test is exact.

    Examples
    --------
    >>> pair = Pair(0.0, 0.1, 0.0, 0.0, -0.5, True, True, 500)
    >>> len(Observed(Draws.empty(0, 1), [pair, pair]).trial(n_data=1000))
    2
    """

    draws: Draws
    pairs: list[Pair]
    rule: Rule = "metropolis"
    errors: Sequence[StepError] = ()

    def trial(self, n_data: int, notes: Mapping[str, Note] | None = None) -> TrialRun:
        """The pairs for the calculator; those whose lᵢ are all equal are left out (there is nothing to test)."""
        pairs = [pair for pair in self.pairs if pair.sigma > 0]
        if not pairs:
            raise BadInput("no pairs: no step was recorded, or none that the data could decide")
        mu, sigma, skew, log_ratio = np.array([pair[:4] for pair in pairs]).T
        kept = any(pair.kept is not None for pair in pairs)
        whole = len(pairs) <= MOST_KEPT and kept
        if kept and not whole:
            notes = {**(notes or {}), "no_residuals": f"they are kept of at most {MOST_KEPT:,} pairs"}
        residuals = Residuals.joined(pair.kept for pair in pairs) if whole else None
        return TrialRun(n_data, mu, sigma, log_ratio, skew, residuals, notes)


def observe(chain: MarkovChain, steps: int, every: int = 10) -> Observed:
    """Advance a chain, and record the pair of every `every`-th step. The draws are the same as without.

    If the chain's test is not exact, what it does to each pair is recorded too, for `audit`. Steps that the prior or
    the proposal decides alone give no pair.

    Parameters
    ----------
    chain
        Any chain whose steps are decisions about pairs, such as `Chain` and `JumpChain`.
    steps
        How many to make.
    every
        Steps from one pair to the next; each pair costs a pass over the data.

    Returns
    -------
    Observed
        Its `trial(n_data)` is a trial run for the calculator; `audit` judges its `errors`.

    Examples
    --------
    >>> from samplers import Chain, ExactTest, Logistic, RandomWalk
    >>> x = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> chain = Chain(model, RandomWalk.isotropic(0.2, 2), ExactTest(), np.zeros(2), np.random.default_rng(1))
    >>> len(observe(chain, steps=100, every=5).trial(model.n_data))
    20
    """
    check_observable(chain)
    steps, every = integer("steps", steps, 1, 10**9), integer("every", every, 1, 10**9)
    pairs: list[Pair] = []
    errors: list[StepError] | None = None if isinstance(chain.test, WITHOUT_ERROR) else []
    parts = [Draws.empty(0, chain.theta.size)]
    try:
        for part in observing(chain, chain.steps + steps, every, pairs, errors=errors):
            parts.append(part)
    except ChainStopped as stopped:
        raise stopped.after(parts) from None
    return Observed(Draws.joined(parts), pairs, chain.rule, errors or ())


def check_observable(chain: MarkovChain) -> None:
    """Refuse a chain whose decisions cannot be compared with exact ones."""
    chain.propose(np.random.default_rng(0), chain.theta)  # refuses steps that are not about one pair


def observing(
    chain: MarkovChain,
    goal: int,
    every: int,
    pairs: list[Pair],
    stop: Callable[[], object] | None = None,
    errors: list[StepError] | None = None,
    precision: float = PRECISION,
) -> Iterator[Draws]:
    """Advance a chain to step `goal`, block by block; the pair of every `every`-th step is added to `pairs`.

    With `errors`, what the test does to the pair for all u is added there, with a standard error of `precision`.
    """
    first = chain.steps

    def piece(steps: int) -> Draws:
        plain = every - 1 - (chain.steps - first) % every  # steps before the next pair
        if plain:
            return chain.advance(min(steps, plain))
        wanted = None if errors is None else precision
        part, pair, error = _recorded_step(chain, wanted, keep=len(pairs) < MOST_KEPT)
        pairs.extend([] if pair is None else [pair])
        if errors is not None and error is not None:
            errors.append(error)
        return part

    return in_blocks(chain, goal, size=None, advance=piece, stop=stop)


def _recorded_step(
    chain: MarkovChain, precision: float | None, *, keep: bool
) -> tuple[Draws, Pair | None, StepError | None]:
    """One step and its pair, by a full pass over the data; uses the same random numbers as any other step.

    With a `precision`, also what the test does to the pair for all u.
    """
    before, theta, keeper = copy.deepcopy(chain.rng), chain.theta.copy(), Keeper() if keep else None
    proposed = theta
    try:
        with all_steps_or_none(chain):
            part = chain.advance_by_steps(1)
            proposed, comparison = chain.propose(before, theta)
            v = draw_threshold(before, chain.rule)
            if math.isinf(comparison.log_ratio):
                return part, None, None
            question = _with_known_terms(chain, theta, proposed, comparison)
            terms = None if precision is None else all_terms(question)
            known = question if terms is None else replace(question, terms=terms.take)
            mu, sigma, skew = moments(known, keeper)
    except NonFiniteTerm as bad:  # of a datum that the test had not read
        row = getattr(getattr(chain, "model", None), "row_number", int)
        raise ChainStopped.at(proposed, row(bad.index)).after_steps(chain.steps, Draws.empty(0, theta.size)) from None
    exact = comparison.n * mu - comparison.log_ratio > v
    decided = bool(part.accepted[0]), exact, int(part.n_used[0]) - chain.n_always
    kept = keeper.kept(mu, sigma, skew) if keeper is not None and sigma > 0 else None
    error: StepError | None = None
    states: tuple[State | None, State | None] = (None, None)
    if terms is not None and precision is not None:
        states = theta, np.array(proposed)
        own = np.random.default_rng(before.integers(2**63))  # random numbers that no step uses
        asked = chain.test, terms, comparison.log_ratio, chain.rule
        error = step_error(own, *asked, range_bound=comparison.known_bound(), precision=precision)
    return part, Pair(mu, sigma, skew, comparison.log_ratio, v, *decided, kept, *states), error


def _with_known_terms(chain: MarkovChain, theta: State, proposed: State, comparison: Comparison) -> Comparison:
    """The comparison with the lᵢ that an exact decision has just evaluated: no further pass over the data."""
    known = getattr(chain, "known_terms", None)
    terms = None if known is None else known(theta, proposed)
    return comparison if terms is None else replace(comparison, terms=terms)


def independent(proposal: object) -> bool:
    """Whether proposals do not depend on the state: proxy proposals with β = 1."""
    return isinstance(proposal, ProxyStep) and proposal.beta == 1.0


def spacing(proposal: object) -> int:
    """Steps from one pair to the next, so that a trial run costs no more passes over the data than it must.

    Each step of an exact chain is a pass. Independent proposals give a new pair every time. Steps that keep a share
    ρ = √(1 - β²) of the state give pairs whose correlation, about ρᵏ after k steps, should be small; random walks and
    whatever else give one in ten.

    Examples
    --------
    >>> from samplers.proposals import RandomWalk
    >>> spacing(RandomWalk.isotropic(0.1, 2))
    10
    """
    if not isinstance(proposal, (ProxyStep, ArrowStep)):
        return SPACING
    keep = math.sqrt(1.0 - proposal.beta**2)
    return 1 if keep < CORRELATED else min(SPACING, math.ceil(math.log(CORRELATED) / math.log(keep)))
