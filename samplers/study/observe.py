"""From a chain to a `TrialRun`, and from a `Design` back to what it really did.

At every k-th step a full pass over the data gives the moments of the lᵢ of that proposal: a pair for the calculator.
The same pass gives the exact decision for the same u, so that a run can be audited against its design's predictions.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from designer.core.errors import BadInput, integer
from designer.engine.step_error import Rule, acceptance
from designer.pairs.notes import Note
from designer.pairs.residuals import Keeper, Residuals, Weighted
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.rule.plan import Plan, as_plan
from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.driver import in_blocks
from samplers.chains.protocol import MarkovChain, State
from samplers.chains.stepping import all_steps_or_none
from samplers.decide.barker import BarkerTest
from samplers.decide.comparison import Comparison, NonFiniteTerm, draw_threshold
from samplers.models.moments import moments
from samplers.proposals import ProxyStep

SPACING = 10  # steps from one pair of a random walk to the next
CORRELATED = 0.2  # correlation of pairs to allow
SURPRISE = 3.0  # standard errors beyond which prediction and audit disagree
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

    Examples
    --------
    >>> pair = Pair(0.0, 0.1, 0.0, 0.0, -0.5, True, True, 500)
    >>> len(Observed(Draws.empty(0, 1), [pair, pair]).trial(n_data=1000))
    2
    """

    draws: Draws
    pairs: list[Pair]
    rule: Rule = "metropolis"

    def trial(self, n_data: int, notes: Mapping[str, Note] | None = None) -> TrialRun:
        """The pairs for the calculator; those whose lᵢ are all equal are left out (there is nothing to test)."""
        pairs = [pair for pair in self.pairs if pair.sigma > 0]
        if not pairs:
            raise BadInput("no pairs: no step was recorded, or none that the data could decide")
        mu, sigma, skew, log_ratio = np.array([pair[:4] for pair in pairs]).T
        whole = len(pairs) <= MOST_KEPT and any(pair.kept is not None for pair in pairs)
        residuals = Residuals.joined(pair.kept for pair in pairs) if whole else None
        return TrialRun(n_data, mu, sigma, log_ratio, skew, residuals, notes)


class MeasuredValue(NamedTuple):
    """A measured value beside its prediction.

    Attributes
    ----------
    value, se
        As measured, and its standard error.
    predicted
        By the calculator.

    Examples
    --------
    >>> MeasuredValue(value=0.021, se=0.004, predicted=0.018).predicted
    0.018
    """

    value: float
    se: float
    predicted: float


class Audit(NamedTuple):
    """What a test did against exact decisions with the same u, beside what its design predicts for the same pairs.

    Attributes
    ----------
    pairs
        How many decisions were compared.
    wrong
        Rate of wrong decisions, a `MeasuredValue`.
    delta
        Their balance: accepted wrongly minus rejected wrongly.
    usage
        Data use.
    agrees, sentence
        Whether all three are within three standard errors; and that in words.

    Examples
    --------
    >>> value = MeasuredValue(0.02, 0.01, 0.02)
    >>> Audit(200, value, value, value, True, "as predicted").agrees
    True
    """

    pairs: int
    wrong: MeasuredValue
    delta: MeasuredValue
    usage: MeasuredValue
    agrees: bool
    sentence: str


def observe(chain: MarkovChain, steps: int, every: int = 10) -> Observed:
    """Advance a chain, and record the pair of every `every`-th step. The draws are the same as without.

    The test must draw u first, as the exact, the sequential and the concentration test do. Steps that the prior or the
    proposal decides alone give no pair.

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
        Its `trial(n_data)` is a trial run for the calculator.

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
    parts = [Draws.empty(0, chain.theta.size)]
    try:
        for part in observing(chain, chain.steps + steps, every, pairs):
            parts.append(part)
    except ChainStopped as stopped:
        raise stopped.after(parts) from None
    return Observed(Draws.joined(parts), pairs, chain.rule)


def check_observable(chain: MarkovChain) -> None:
    """Refuse a chain whose decisions cannot be compared with exact ones."""
    if isinstance(chain.test, BarkerTest):
        raise BadInput("the Barker mini-batch test draws no u to compare an exact decision with")
    chain.propose(np.random.default_rng(0), chain.theta)  # refuses steps that are not about one pair


def observing(
    chain: MarkovChain, goal: int, every: int, pairs: list[Pair], stop: Callable[[], object] | None = None
) -> Iterator[Draws]:
    """Advance a chain to step `goal`, block by block; the pair of every `every`-th step is added to `pairs`."""
    first = chain.steps

    def piece(steps: int) -> Draws:
        plain = every - 1 - (chain.steps - first) % every  # steps before the next pair
        if plain:
            return chain.advance(min(steps, plain))
        part, pair = _recorded_step(chain, keep=len(pairs) < MOST_KEPT)
        pairs.extend([] if pair is None else [pair])
        return part

    return in_blocks(chain, goal, size=None, advance=piece, stop=stop)


def audit(design: Design | Plan, observed: Observed, n_data: int) -> Audit:
    """Measured error and data use on the recorded pairs, beside the design's predictions for them.

    Parameters
    ----------
    design
        The test that the chain used.
    observed
        What `observe` returned.
    n_data
        Number of data N.

    Returns
    -------
    Audit
        Measured and predicted, and whether they agree.

    Examples
    --------
    >>> from samplers import Chain, Logistic, RandomWalk, SequentialTest
    >>> x = np.random.default_rng(0).standard_normal((2000, 2))
    >>> model, design = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0), Design(2000, 200, 0.05)
    >>> parts = model, RandomWalk.isotropic(0.2, 2), SequentialTest.from_design(design)
    >>> recorded = observe(Chain(*parts, np.array([4.0, 0.0]), np.random.default_rng(1)), steps=400, every=2)
    >>> result = audit(design, recorded, model.n_data)
    >>> result.pairs, result.agrees
    (200, True)
    """
    pairs = [pair for pair in observed.pairs if pair.sigma > 0]
    predicted = acceptance(design, observed.trial(n_data), observed.rule)
    change = np.array([float(pair.accepted) - float(pair.exact) for pair in pairs])
    used = np.array([pair.n_used / n_data for pair in pairs])
    count, wrong = len(pairs), np.abs(change)
    # the predictions' own probabilities give the spread to expect, even when nothing went wrong
    spread = predicted.wrong * (1.0 - predicted.wrong)
    wrong_se = math.sqrt(float(spread.sum()) + 1.0) / count
    delta_se = math.sqrt(float(np.sum(predicted.wrong - predicted.delta**2)) + 1.0) / count
    batch = as_plan(design).schedule.m / n_data
    # the most that a quantity in [batch, 1] with that mean can vary: rare long tests may not be in the sample
    most = float(np.sum((predicted.usage - batch) * (1.0 - predicted.usage)))
    usage_se = math.sqrt(max(0.0, most) + batch**2) / count
    rows = (
        MeasuredValue(float(wrong.mean()), wrong_se, float(predicted.wrong.mean())),
        MeasuredValue(float(change.mean()), delta_se, float(predicted.delta.mean())),
        MeasuredValue(float(used.mean()), usage_se, float(predicted.usage.mean())),
    )
    agrees = all(abs(row.value - row.predicted) <= SURPRISE * row.se for row in rows)
    verdict = "as predicted" if agrees else "NOT as predicted: check the normal approximation (skewness, small m)"
    shown = (
        f"wrong decisions {_beside(rows[0], '.3g')}",
        f"mean Δ {_beside(rows[1], '.2g')}",
        f"data use {_beside(rows[2], '.3%')}",
    )
    sentence = f"{count:,} audited steps: {', '.join(shown)}: {verdict}"
    return Audit(count, *rows, agrees, sentence)


def _beside(row: MeasuredValue, form: str) -> str:
    """A measured value with its error, and what was predicted."""
    return f"{row.value:{form}} ± {row.se:{form}} ({row.predicted:{form}} predicted)"


def _recorded_step(chain: MarkovChain, *, keep: bool) -> tuple[Draws, Pair | None]:
    """One step and its pair, by a full pass over the data; uses the same random numbers as any other step."""
    before, theta, keeper = copy.deepcopy(chain.rng), chain.theta.copy(), Keeper() if keep else None
    proposed = theta
    try:
        with all_steps_or_none(chain):
            part = chain.advance_by_steps(1)
            proposed, comparison = chain.propose(before, theta)
            v = draw_threshold(before, chain.rule)
            if math.isinf(comparison.log_ratio):
                return part, None
            mu, sigma, skew = moments(_with_known_terms(chain, theta, proposed, comparison), keeper)
    except NonFiniteTerm as bad:  # of a datum that the test had not read
        raise ChainStopped.at(proposed, bad.index).after_steps(chain.steps, Draws.empty(0, theta.size)) from None
    exact = comparison.n * mu - comparison.log_ratio > v
    decided = bool(part.accepted[0]), exact, int(part.n_used[0]) - chain.n_always
    kept = keeper.kept(mu, sigma, skew) if keeper is not None and sigma > 0 else None
    return part, Pair(mu, sigma, skew, comparison.log_ratio, v, *decided, kept)


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
    if not isinstance(proposal, ProxyStep):
        return SPACING
    keep = math.sqrt(1.0 - proposal.beta**2)
    return 1 if keep < CORRELATED else min(SPACING, math.ceil(math.log(CORRELATED) / math.log(keep)))
