"""From a chain to a `TrialRun`, and what a test did in the steps that were recorded.

At every k-th step a full pass over the data gives the moments of the lᵢ of that proposal: a pair for the calculator.
The same pass gives the exact decision for the same u and, if the chain's test is not exact, what the test does to this
pair for all u together (`StepError`): what an audit judges (`samplers.study.audit`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from designer.core.errors import BadInput, integer
from designer.engine.step_error import Rule
from designer.pairs.trial_run import TrialRun
from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.driver import in_blocks
from samplers.chains.protocol import MarkovChain
from samplers.chains.stepping import all_steps_or_none
from samplers.decide.comparison import NonFiniteTerm, draw_threshold
from samplers.decide.exact import ExactTest
from samplers.models.moments import moments
from samplers.study.integrated import PRECISION, StepError, all_terms, step_error


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
        Data that the test read.

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

    def trial(self, n_data: int) -> TrialRun:
        """The pairs for the calculator; those whose lᵢ are all equal are left out (there is nothing to test)."""
        rows = np.array([pair[:4] for pair in self.pairs if pair.sigma > 0]).reshape(-1, 4)
        if len(rows) == 0:
            raise BadInput("no pairs: no step was recorded, or none that the data could decide")
        mu, sigma, skew, log_ratio = rows.T
        return TrialRun(n_data, mu, sigma, log_ratio, skew)


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
    errors: list[StepError] | None = None if isinstance(chain.test, ExactTest) else []
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
        part, pair, error = _recorded_step(chain, None if errors is None else precision)
        pairs.extend([] if pair is None else [pair])
        if errors is not None and error is not None:
            errors.append(error)
        return part

    return in_blocks(chain, goal, size=None, advance=piece, stop=stop)


def _recorded_step(chain: MarkovChain, precision: float | None) -> tuple[Draws, Pair | None, StepError | None]:
    """One step and its pair, by a full pass over the data; uses the same random numbers as any other step.

    With a `precision`, also what the test does to the pair for all u.
    """
    before, theta = copy.deepcopy(chain.rng), chain.theta.copy()
    proposed = theta
    try:
        with all_steps_or_none(chain):
            part = chain.advance_by_steps(1)
            proposed, comparison = chain.propose(before, theta)
            v = draw_threshold(before, chain.rule)
            if math.isinf(comparison.log_ratio):
                return part, None, None
            terms = None if precision is None else all_terms(comparison)
            known = comparison if terms is None else replace(comparison, terms=terms.take)
            mu, sigma, skew = moments(known)
    except NonFiniteTerm as bad:  # of a datum that the test had not read
        raise ChainStopped.at(proposed, bad.index).after_steps(chain.steps, Draws.empty(0, theta.size)) from None
    exact = comparison.n * mu - comparison.log_ratio > v
    decided = bool(part.accepted[0]), exact, int(part.n_used[0])
    error = None
    if terms is not None and precision is not None:
        own = np.random.default_rng(before.integers(2**63))  # random numbers that no step uses
        question = chain.test, terms, comparison.log_ratio, chain.rule
        error = step_error(own, *question, range_bound=comparison.known_bound(), precision=precision)
    return part, Pair(mu, sigma, skew, comparison.log_ratio, v, *decided), error
