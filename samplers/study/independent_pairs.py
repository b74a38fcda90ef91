"""Moves of a chain with independent proposals, as pairs, without running it: between weighted draws of the posterior.

One pass over the data gives what the test reads at all states: sums of products of any two, and a score for each row.
The rows that matter most, and a random sample of the others, then stand for all data in every pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput, integer
from designer.further.posterior.independent import EACH, IndependentPairs, WeightedStates, moves
from designer.pairs.residuals import Residuals, Weighted
from designer.pairs.trial_run import TrialRun
from samplers.models.control import Controlled
from samplers.models.control.many_states import residuals_at, row_blocks
from samplers.proposals import ProxyStep
from samplers.study.observe import independent
from samplers.study.weighted_draws import weighted_draws

FARTHEST, OTHERS = 500, 500  # rows kept: those with the largest residuals, and some of the others
SCALED_BY = 2000  # rows, evenly spread, that give the scale of the residuals of a state
MOST_STATES = 800  # the pairs of more have more residuals than a trial run may hold
NEVER = 1e-6  # probability below which a state does not matter


def independent_pairs(
    model: Controlled, proposal: object, rng: np.random.Generator, states: int = 400, each: int = EACH
) -> IndependentPairs:
    """Moves of a chain with independent proposals between weighted draws of its posterior: two passes over the data.

    Parameters
    ----------
    model
        A model with control variates of order 2.
    proposal
        A proxy proposal with β = 1.
    rng
        Random numbers.
    states
        Draws of the Laplace approximation; half as many in its tails are added, or two for each coordinate.
    each
        Moves from every state.

    Returns
    -------
    IndependentPairs
        For `independent_error`.

    Raises
    ------
    BadInput
        If the proposal depends on the state, or the residuals of some pairs are all equal.

    Examples
    --------
    >>> from samplers import Controlled, Logistic, ProxyStep, find_mode
    >>> x = np.random.default_rng(0).standard_normal((5000, 2))
    >>> model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    >>> proxied = Controlled.around(model, find_mode(model))
    >>> pairs = independent_pairs(proxied, ProxyStep.of(proxied), np.random.default_rng(1), 50)
    >>> len(pairs.trial) == 4 * len(pairs.states.theta)
    True
    """
    if not (isinstance(proposal, ProxyStep) and independent(proposal)):
        raise BadInput("proposal: must be a proxy proposal with beta = 1, which does not depend on the state")
    drawn = weighted_draws(model, rng, integer("states", states, 20, MOST_STATES))
    log_posterior = drawn.log_ratio + drawn.laplace.log_density(drawn.theta)
    log_ratio = log_posterior - np.array([proposal.log_density(theta) for theta in drawn.theta])
    found = WeightedStates.of(drawn.theta, drawn.log_weight, drawn.log_weight - log_ratio)
    met = np.flatnonzero(np.maximum(found.posterior, found.proposal) > NEVER)
    found = found.subset(met)
    old, new = moves(rng, met.size, integer("each", each, 2, 1000))
    kept = _kept_rows(rng, model, found.theta)
    half = old.size // 2  # the others lead back
    there = [kept.pair(i, j) for i, j in zip(old[:half], new[:half], strict=True)]
    back = [Weighted(-pair.values, pair.weights) for pair in there]
    columns = np.array([_moments(pair) for pair in [*there, *back]]).T
    if not np.all(columns[1] > 0.0):
        raise BadInput("the residuals of some pairs are all equal: the test has nothing to read, and makes no errors")
    mu, sigma, skew = columns
    log_ratio = log_ratio[met]
    c = model.n_data * mu - (log_ratio[new] - log_ratio[old])
    trial = TrialRun(model.n_data, mu, sigma, c, skew, Residuals.joined([*there, *back]))
    return IndependentPairs(found, old, new, trial)


class _KeptRows(NamedTuple):
    """Residuals of some rows at all states, and the exact mean and products over all data."""

    n_data: int
    far: Floats  # (S, rows)
    near: Floats
    counts: Ints  # data that each of `near` stands for
    mean: Floats
    products: Floats

    def pair(self, old: int, new: int) -> Weighted:
        """Residuals of the pair old -> new; those of the sampled rows moved so that its μ and σ are exact."""
        far, near = self.far[new] - self.far[old], self.near[new] - self.near[old]
        if not near.size:
            return Weighted(far, np.ones(far.size, dtype=np.int64))
        g, rest = self.products, float(self.counts.sum())
        mean = (self.n_data * (self.mean[new] - self.mean[old]) - far.sum()) / rest
        square = (self.n_data * (g[new, new] - 2.0 * g[old, new] + g[old, old]) - far @ far) / rest
        away = near - self.counts @ near / rest
        spread = self.counts @ away**2 / rest
        slope = np.sqrt(max(square - mean**2, 0.0) / spread) if spread > 0.0 else 0.0
        values = np.concatenate([far, mean + slope * away])
        return Weighted(values, np.concatenate([np.ones(far.size, dtype=np.int64), self.counts]))


def _kept_rows(rng: np.random.Generator, model: Controlled, theta: Floats) -> _KeptRows:
    n_rows, states = model.n_rows, len(theta)
    evenly = np.arange(0, n_rows, max(1, n_rows // SCALED_BY))
    scale = np.sqrt(np.mean(_residuals_at(model, theta, evenly) ** 2, axis=1))
    scale = np.maximum(scale, 1e-12 * scale.max())[:, None]
    sums, products, score = np.zeros(states), np.zeros((states, states)), np.zeros(n_rows)
    always = getattr(model, "heavy", np.empty(0, dtype=np.int64))
    for block, residuals in _residuals(model, theta):
        residuals[:, always[(always >= block.start) & (always < block.stop)] - block.start] = 0.0
        sums += residuals.sum(axis=1)
        products += residuals @ residuals.T
        score[block] = np.abs(residuals / scale).max(axis=0)
    score[always] = -1.0
    order = np.argsort(-score, kind="stable")[: model.n_data]
    far, others = order[:FARTHEST], order[FARTHEST:]
    near = rng.choice(others, min(OTHERS, others.size), replace=False)
    each, more = divmod(others.size, max(near.size, 1))
    counts = each + (np.arange(near.size) < more).astype(np.int64)
    values = _residuals_at(model, theta, far), _residuals_at(model, theta, near)
    return _KeptRows(model.n_data, *values, counts, sums / model.n_data, products / model.n_data)


def _residuals(model: Controlled, theta: Floats) -> Iterator[tuple[slice, Floats]]:
    """What the test reads at each state, relative to the centre, (S, rows), some rows at a time."""
    for block in row_blocks(model.n_rows, len(theta)):
        yield block, _residuals_at(model, theta, block)


def _residuals_at(model: Controlled, theta: Floats, rows: Ints | slice) -> Floats:
    return residuals_at(model.proxies, theta, rows) - residuals_at(model.proxies, model.centre[None], rows)


def _moments(pair: Weighted) -> tuple[float, float, float]:
    """Mean, standard deviation and skewness of weighted values."""
    share = pair.weights / pair.weights.sum()
    mean = float(share @ pair.values)
    away = pair.values - mean
    sd = float(np.sqrt(share @ away**2))
    return mean, sd, float(share @ away**3) / sd**3 if sd > 0.0 else 0.0
