"""What the exact mini-batch test will do, before any chain: rows per step, acceptance, the best step.

States are drawn from the normal approximation of the posterior, and proposals from them. C M of each pair is the mean
number of rows. The test then draws rows for the pair, and says with which probability it accepts, for all u together.
So a prediction reads about as many rows as that many steps of a chain, and needs no pass over the data but that of the
bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput, integer
from designer.engine.step_error import Rule, exact_probability
from designer.pairs.notes import Note
from samplers.chains.chain import compare
from samplers.decide.comparison import total
from samplers.decide.exact_minibatch import ExactMinibatchTest
from samplers.models.control import Controlled
from samplers.models.control.term_bounds import BoundedModel
from samplers.models.groups.bounds import GroupedBounds
from samplers.proposals import Proposal, ProxyStep, RandomWalk

__all__ = ["MinibatchPrediction", "best_minibatch_step", "minibatch_notes", "predict_minibatch"]

PAIRS = 300
MOST_PASSES = 20  # pairs for which all data are read
MOST_ROWS = 5 * 10**6  # rows that are drawn for the other pairs, or MOST_PASSES passes if that is more
OVERHEAD = 3.0  # what a step costs besides its rows, in rows per dimension: proposal, prior, bounds
BETAS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)  # steps of proxy proposals to try
SCALES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)  # of random walks, relative to the given one


class MinibatchPrediction(NamedTuple):
    """What the exact mini-batch test does per step, on average.

    Attributes
    ----------
    rows
        Rows read; N where all data decide.
    acceptance, acceptance_se
        Acceptance rate, with the noise of the drawn rows, and its standard error.
    everything
        Share of steps that read all data.
    per_draw
        Cost of an effective draw, in rows: what a step costs, over how far it moves. Only to compare steps.

    Examples
    --------
    >>> MinibatchPrediction(46.0, 0.98, 0.002, 0.0, 60.0).rows
    46.0
    """

    rows: float
    acceptance: float
    acceptance_se: float
    everything: float
    per_draw: float


def predict_minibatch(
    rng: np.random.Generator,
    model: Controlled,
    proposal: Proposal,
    test: ExactMinibatchTest | None = None,
    *,
    rule: Rule = "metropolis",
    pairs: int = PAIRS,
) -> MinibatchPrediction:
    """Rows per step and acceptance of the exact mini-batch test, without a chain.

    Parameters
    ----------
    rng
        Random numbers.
    model
        With control variates at the posterior mode, or near it.
    proposal
        Of the chain.
    test
        The test; by default with χ = 0.
    rule
        "metropolis" or "barker".
    pairs
        How many proposals to average over.

    Returns
    -------
    MinibatchPrediction
        Means, and the standard error of the acceptance rate.

    Examples
    --------
    >>> from samplers import Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((5000, 3))
    >>> model = Logistic.from_data(x, x[:, 0] > 0.1, prior_precision=1.0)
    >>> controlled = Controlled.around(model, find_mode(model))
    >>> found = predict_minibatch(np.random.default_rng(1), controlled, ProxyStep.of(controlled))
    >>> bool(found.rows < 100), bool(found.acceptance > 0.5)
    (True, True)
    """
    pairs, test = integer("pairs", pairs, 2, 10**6), ExactMinibatchTest() if test is None else test
    bounds, passes, drawn = model.residual_bounds, 0, 0.0
    budget = max(MOST_ROWS, MOST_PASSES * model.n_data)
    most = model.n_data if test.most is None else test.most
    draw = bounds.factor.colour if isinstance(bounds, GroupedBounds) else np.linalg.inv(bounds.whitening).__matmul__
    size = bounds.whitened(bounds.centre).size
    rows, moves, all_read = np.empty(pairs), np.zeros(pairs), np.zeros(pairs, dtype=np.bool_)
    accepted = np.full(pairs, np.nan)
    for k in range(pairs):
        theta = bounds.centre + draw(rng.standard_normal(size))
        proposed = proposal.propose(rng, theta)
        question = compare(model, theta, proposed.theta, proposed.log_q, rule)
        found = bounds.between(theta, proposed.theta)
        mean = test.mean_rows(found)
        all_read[k] = not mean <= most
        rows[k] = model.n_data if all_read[k] else mean
        step = bounds.whitened(proposed.theta) - bounds.whitened(theta)
        moves[k] = float(step @ step) / (2.0 * step.size)
        if not all_read[k]:
            if drawn + mean > budget:
                continue
            log_ratio, drawn = test.log_ratio(rng, question, found)[0], drawn + mean
        elif passes < MOST_PASSES:
            log_ratio, passes = total(question), passes + 1
        else:
            continue
        accepted[k] = float(exact_probability(np.array(log_ratio - question.log_ratio), barker=rule == "barker"))
    known = accepted[np.isfinite(accepted)]
    accepted = _filled(accepted, all_read)
    share = float(np.mean(accepted * moves))
    cost = (OVERHEAD * model.dimension + float(rows.mean())) * (2.0 - min(share, 1.0)) / max(share, 1e-300)
    error = float(known.std(ddof=1)) / math.sqrt(known.size) if known.size > 1 else 1.0
    return MinibatchPrediction(float(rows.mean()), float(accepted.mean()), error, float(all_read.mean()), cost)


def _filled(accepted: Floats, all_read: np.ndarray) -> Floats:
    """Pairs that were not decided, to save time, accept as often as those of their kind that were."""
    filled = accepted.copy()
    for kind in (all_read, ~all_read):
        known = np.isfinite(accepted) & kind
        filled[kind & ~known] = accepted[known].mean() if known.any() else 0.0
    return filled


def best_minibatch_step(
    rng: np.random.Generator,
    model: Controlled,
    proposal: ProxyStep | RandomWalk,
    test: ExactMinibatchTest | None = None,
    *,
    rule: Rule = "metropolis",
    pairs: int = 100,
) -> tuple[float, MinibatchPrediction]:
    """The step with the cheapest effective draws: β of a proxy proposal, or the scale of a random walk.

    A step costs OVERHEAD D + rows. It moves the chain by x = E[P e²] / (2 D) of a variance, with e the whitened length
    of the step, so that coordinates have an autocorrelation of about 1 - x, and a step is worth x / (2 - x) independent
    draws. Fewer rows are read in smaller steps, so the best step is smaller than that of the exact test.

    Parameters
    ----------
    rng, model, test, rule
        As for `predict_minibatch`.
    proposal
        A `ProxyStep` or a `RandomWalk`; its step is the one to change.
    pairs
        How many proposals to average over, for each step that is tried.

    Returns
    -------
    step, prediction
        β, or the factor by which to multiply the given random walk; and what to expect of it.

    Examples
    --------
    >>> from samplers import Logistic, find_mode
    >>> x = np.random.default_rng(0).standard_normal((5000, 3))
    >>> model = Logistic.from_data(x, x[:, 0] > 0.1, prior_precision=1.0)
    >>> controlled = Controlled.around(model, find_mode(model))
    >>> best_minibatch_step(np.random.default_rng(1), controlled, ProxyStep.of(controlled, 0.1))[0]
    1.0
    """
    if not isinstance(proposal, (ProxyStep, RandomWalk)):
        raise BadInput(f"proposal: must be a ProxyStep or a RandomWalk, not {type(proposal).__name__}")
    seed = int(rng.integers(2**63))
    found = {
        step: predict_minibatch(np.random.default_rng(seed), model, proposed, test, rule=rule, pairs=pairs)
        for step, proposed in _steps(proposal)
    }
    best = min(found, key=lambda step: found[step].per_draw)
    return best, found[best]


def minibatch_notes(
    rng: np.random.Generator, model: object, proposal: object, rule: Rule = "metropolis"
) -> dict[str, Note]:
    """The prediction as notes of a trial run, with the best step; none for a model without bounds.

    The number of heavy rows is that which makes this test cheapest, as in a config with it.

    Examples
    --------
    >>> from samplers import Logistic
    >>> minibatch_notes(np.random.default_rng(1), Logistic.from_data([[1.0], [2.0]], [1, 0]), None)
    {}
    """
    bounded = isinstance(model, Controlled) and isinstance(model.model, BoundedModel)
    if not bounded or not isinstance(proposal, (ProxyStep, RandomWalk)):
        return {}
    assert isinstance(model, Controlled)
    model = Controlled.around(model.model, model.centre, model.order, model.anchor is not None, heavy="bounds")
    found = predict_minibatch(rng, model, proposal, rule=rule)
    best, then = best_minibatch_step(rng, model, proposal, rule=rule)
    name = f"beta = {best:g}" if isinstance(proposal, ProxyStep) else f"steps {best:g} times as long"
    step = f"{name}: {then.rows:,.3g} rows, acceptance {then.acceptance:.2f}"
    notes: dict[str, Note] = {"minibatch_rows": found.rows, "minibatch_acceptance": found.acceptance}
    notes |= {"minibatch_heavy": model.n_heavy} if model.n_heavy else {}
    return notes | {"minibatch_step": step}


def _steps(proposal: ProxyStep | RandomWalk) -> Sequence[tuple[float, Proposal]]:
    if isinstance(proposal, RandomWalk):
        return [(scale, RandomWalk(scale * proposal.factor)) for scale in SCALES]
    return [(beta, replace(proposal, beta=beta)) for beta in BETAS]
