"""Exact draws of a variable selection that mixes: jumps from model to model whose coefficients fit the new model.

The jumps of K14 draw one new coefficient blindly and keep the others, so nearly all are rejected, and chains from
different models stay apart. Here a jump adds, removes or exchanges a variable and moves *all* coefficients to where
the new model has them, by the normal approximations of both models. Which variable is chosen according to a guess of
the evidence. Both only propose: every jump is decided exactly, on all data, so the chain has the posterior of
`RJLogistic`, whatever the guesses are worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit

from designer.core.arrays import Floats, Ints
from samplers.chains.driver import in_blocks
from samplers.chains.stepping import SteppedChain
from samplers.decide.comparison import Decision
from samplers.models.rj_logistic import Bools, RJLogistic, RJState

REFRESH = 0.3  # share of steps that stay in the model
NEWTON, NEAR = 25, 1e-6
RIDGE = 0.1  # so that a rare category without any event has an approximation, too
KEEP = 0.0, 0.9  # how much of the state's distance from the centre such a step keeps: none, or nearly all
PAIRS = 150  # of variables that may be exchanged
TAME = 0.5  # power of the guessed evidence by which a jump is chosen
BOUNDS = -20.0, 4.0  # of the logarithm of that: far from good models all gains are huge, and back one must get, too
LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


class Fit(NamedTuple):
    """A model's normal approximation: its variables, their centre and covariance."""

    active: Ints
    centre: Floats
    covariance: Floats

    def ordered(self, last: int | None) -> Ordered:
        """With a variable at the end."""
        places = np.arange(self.active.size)
        if last is not None:
            at = int(np.flatnonzero(self.active == last)[0])
            places = np.append(np.delete(places, at), at)
        factor: Floats = np.linalg.cholesky(self.covariance[np.ix_(places, places)]).astype(np.float64)
        return Ordered(self.active[places], self.centre[places], factor)


class Ordered(NamedTuple):
    """An approximation with its variables in some order, and the lower factor L of their covariance L L'."""

    active: Ints
    centre: Floats
    factor: Floats

    def standard(self, beta: Floats) -> Floats:
        """z of β = centre + L z."""
        z: Floats = solve_triangular(self.factor, beta[self.active] - self.centre, lower=True)
        return z

    def coefficients(self, z: Floats, size: int) -> Floats:
        """β, with 0 for the variables outside."""
        beta = np.zeros(size)
        beta[self.active] = self.centre + self.factor @ z
        return beta

    @property
    def log_volume(self) -> float:
        """log |L|."""
        return float(np.log(np.diag(self.factor)).sum())


class Neighbours(NamedTuple):
    """The models one change away: which variables change (one, or two that are exchanged), and log probabilities."""

    changes: Sequence[tuple[int, ...]]
    log_probability: Floats


class Models:
    """Normal approximations and neighbours of models, kept once they are made; both depend on the model alone."""

    def __init__(self, model: RJLogistic) -> None:
        self.model = model
        self._fits: dict[bytes, Fit] = {}
        self._near: dict[bytes, Neighbours] = {}
        everything = np.arange(model.dimension)
        self.whole, hessian = _maximum(model, everything, np.zeros(model.dimension))
        self.covariance = np.linalg.inv(hessian)
        self.partners = _partners(hessian)

    def fit(self, gamma: Bools) -> Fit:
        """The normal approximation of a model."""
        key = gamma.tobytes()
        if key not in self._fits:
            active, out = np.flatnonzero(gamma), np.flatnonzero(~gamma)
            guess = self.whole[active]
            if out.size:  # the maximum of the quadratic expansion without the other variables
                between = self.covariance[np.ix_(active, out)]
                guess = guess - between @ np.linalg.solve(self.covariance[np.ix_(out, out)], self.whole[out])
            centre, hessian = _maximum(self.model, active, guess)
            self._fits[key] = Fit(active, centre, np.linalg.inv(hessian).astype(np.float64))
        return self._fits[key]

    def coefficients(self, gamma: Bools) -> Floats:
        """The centre of a model's approximation, with 0 for the variables outside."""
        fit = self.fit(gamma)
        return fit.ordered(None).coefficients(np.zeros(fit.active.size), gamma.size)

    def neighbours(self, gamma: Bools) -> Neighbours:
        """Models with one variable more or less, or with a partner exchanged, and the probabilities of jumping there.

        They follow the evidence, guessed by a quadratic expansion of the log-likelihood at this model's centre.
        """
        key = gamma.tobytes()
        if key not in self._near:
            inside, outside = np.flatnonzero(gamma), np.flatnonzero(~gamma)
            changes: list[tuple[int, ...]] = [(int(j),) for j in outside]
            if inside.size > 1:
                changes += [(int(j),) for j in inside]
            changes += [pair for pair in self.partners if gamma[pair[0]] and not gamma[pair[1]]]
            scores = TAME * np.clip(self._guesses(gamma, changes), *BOUNDS)
            scores -= scores.max()
            self._near[key] = Neighbours(changes, scores - math.log(float(np.exp(scores).sum())))
        return self._near[key]

    def _guesses(self, gamma: Bools, changes: Sequence[tuple[int, ...]]) -> Floats:
        """log of the evidence of neighbours relative to that of this model.

        The loss when a variable leaves is evaluated, for it may be far from quadratic (a rare category without events).
        """
        rows, beta = self.model.rows, self.coefficients(gamma)
        margin = rows @ beta
        wrong = expit(-margin)
        curvature = (rows * (wrong * (1.0 - wrong))[:, None]).T @ rows + RIDGE * np.eye(beta.size)
        slope = rows.T @ wrong - RIDGE * beta
        guesses = [_neighbour(beta, slope, curvature, gamma, change) for change in changes]
        leaving = [k for k, change in enumerate(changes) if len(change) == 1 and gamma[change[0]]]
        loss = dict[int, float]()
        for k in leaving:
            value = -float(np.logaddexp(0.0, -(rows @ guesses[k].beta)).sum()) + float(np.logaddexp(0.0, -margin).sum())
            loss[changes[k][0]] = value - guesses[k].gain
        extra = [sum(loss.get(j, 0.0) for j in change if gamma[j]) for change in changes]
        prior = [
            self.model.log_prior(RJState(changed(gamma, c), g.beta)) for c, g in zip(changes, guesses, strict=True)
        ]
        here = _neighbour(beta, slope, curvature, gamma, ())
        own = here.width + self.model.log_prior(RJState(gamma, beta))
        found: Floats = np.array([g.gain + g.width for g in guesses]) + extra + prior - own
        return found


class Neighbour(NamedTuple):
    """The maximum of a quadratic expansion in a neighbouring model: coefficients, gain, and log of the width."""

    beta: Floats
    gain: float
    width: float


def _neighbour(beta: Floats, slope: Floats, curvature: Floats, gamma: Bools, change: tuple[int, ...]) -> Neighbour:
    active = np.flatnonzero(changed(gamma, change))
    pull, gain = slope[active], 0.0
    for j in change:
        if gamma[j]:  # it leaves: its coefficient goes to 0
            pull = pull + beta[j] * curvature[active, j]
            gain -= slope[j] * beta[j] + 0.5 * curvature[j, j] * beta[j] ** 2
    factor = np.linalg.cholesky(curvature[np.ix_(active, active)])
    z = solve_triangular(factor, pull, lower=True, check_finite=False)
    new = np.zeros(beta.size)
    new[active] = beta[active] + solve_triangular(factor.T, z, check_finite=False)
    width = active.size * LOG_ROOT_2PI - float(np.log(np.diag(factor)).sum())
    return Neighbour(new, gain + 0.5 * float(z @ z), width)


def _partners(hessian: Floats) -> list[tuple[int, int]]:
    """Pairs of variables that may stand for one another, in both orders: those that are correlated most."""
    scale = np.sqrt(np.diag(hessian))
    alike = np.triu(np.abs(hessian) / np.outer(scale, scale), 1)
    first = np.argsort(alike, axis=None, kind="stable")[::-1][:PAIRS]
    pairs = [(int(k) // scale.size, int(k) % scale.size) for k in first if alike.flat[k] > 0.0]
    return [pair for i, j in pairs for pair in ((i, j), (j, i))]


def changed(gamma: Bools, change: tuple[int, ...]) -> Bools:
    """The model with these variables in where they were out, and out where they were in."""
    new = gamma.copy()
    new[list(change)] ^= True
    return new


def _maximum(model: RJLogistic, active: Ints, beta: Floats) -> tuple[Floats, Floats]:
    """The maximum of the log-likelihood over these coefficients, with a small ridge, and minus its Hessian there."""
    x = np.ascontiguousarray(model.rows[:, active])
    ridge, height, move = RIDGE * np.eye(len(active)), -math.inf, np.zeros(len(active))
    for _ in range(NEWTON):
        tried = beta + move
        margin = x @ tried
        here = -float(np.logaddexp(0.0, -margin).sum()) - 0.5 * RIDGE * float(tried @ tried)
        if here < height and np.abs(move).max() > NEAR:
            move *= 0.5
            continue
        beta, height = tried, here
        wrong = expit(-margin)
        hessian = (x * (wrong * (1.0 - wrong))[:, None]).T @ x + ridge
        gradient = x.T @ wrong - RIDGE * beta
        move = cho_solve(cho_factor(hessian), gradient)
        if float(move @ gradient) < NEAR:
            break
    return beta, hessian


class ModelJumps(SteppedChain):
    """An exact chain over models and their coefficients; it follows the chain protocol.

    Parameters
    ----------
    models
        The posterior with its approximations.
    theta
        The start: coefficients, 0 where not in the model.
    rng
        Random numbers.
    """

    def __init__(self, models: Models, theta: Floats, rng: np.random.Generator) -> None:
        self.models, self.model, self.rng = models, models.model, rng
        self.theta = self.model.checked(RJState(theta != 0.0, theta)).beta.copy()
        self.tried = self.changed = 0
        self._at: tuple[Floats, float] | None = None  # the state, and its log-likelihood

    def warm_up(self, steps: int, stop: Callable[[], object]) -> None:
        """Make steps that do not count; `stop` is called from time to time."""
        for _ in in_blocks(self, steps, size=10, stop=stop):
            pass
        self.steps = self.tried = self.changed = 0

    def log_likelihood(self, beta: Floats) -> float:
        """Of all data."""
        return -float(np.logaddexp(0.0, -(self.model.rows @ beta)).sum())

    def evidence(self, gamma: Bools) -> float:
        """log of the evidence of a model, by its normal approximation."""
        fit, centre = self.models.fit(gamma).ordered(None), self.models.coefficients(gamma)
        height: float = self.log_likelihood(centre) + self.model.log_prior(RJState(gamma, centre))
        return height + fit.log_volume + fit.active.size * LOG_ROOT_2PI

    def step(self, rng: np.random.Generator, theta: Floats) -> tuple[Floats, Decision]:
        """Stay in the model or jump to another; decide on all data."""
        gamma = theta != 0.0
        jump = rng.random() >= REFRESH
        proposed, log_q = self._jump(rng, theta, gamma) if jump else self._refresh(rng, theta, gamma)
        other = proposed != 0.0
        if self._at is None or not np.array_equal(self._at[0], theta):
            self._at = theta.copy(), self.log_likelihood(theta)
        value = self.log_likelihood(proposed)
        log_ratio = value - self._at[1] + log_q
        log_ratio += self.model.log_prior(RJState(other, proposed)) - self.model.log_prior(RJState(gamma, theta))
        accept = math.log(max(rng.random(), 1e-300)) < log_ratio
        self.tried += jump
        if accept:
            self._at = proposed.copy(), value
            self.changed += jump
        return (proposed if accept else theta), Decision(accept, self.n_data, 1)

    def _refresh(self, rng: np.random.Generator, theta: Floats, gamma: Bools) -> tuple[Floats, float]:
        """New coefficients of the same model, reversible under its normal approximation; log q(β)/q(β')."""
        fit = self.models.fit(gamma).ordered(None)
        z, keep = fit.standard(theta), KEEP[int(rng.integers(len(KEEP)))]
        new = keep * z + math.sqrt(1.0 - keep * keep) * rng.standard_normal(z.size)
        return fit.coefficients(new, theta.size), 0.5 * float(new @ new - z @ z)

    def _jump(self, rng: np.random.Generator, theta: Floats, gamma: Bools) -> tuple[Floats, float]:
        """Coefficients of another model, as far from its centre as the old ones are from theirs.

        With β = c + L z and β' = c' + L' z', z and z' share all components but that of a variable that is added, which
        is standard normal, or removed; an exchanged variable keeps it. So the Jacobian is |L'| / |L|.
        """
        near = self.models.neighbours(gamma)
        choice = int(rng.choice(len(near.changes), p=np.exp(near.log_probability)))
        change = near.changes[choice]
        other = changed(gamma, change)
        there = self.models.neighbours(other)
        log_q = float(there.log_probability[there.changes.index(change[::-1])] - near.log_probability[choice])
        leaves = next((j for j in change if gamma[j]), None)
        comes = next((j for j in change if other[j]), None)
        old, new = self.models.fit(gamma).ordered(leaves), self.models.fit(other).ordered(comes)
        z = old.standard(theta)
        if leaves is None:
            z = np.append(z, rng.standard_normal())
            log_q += 0.5 * z[-1] ** 2 + LOG_ROOT_2PI
        elif comes is None:
            log_q -= 0.5 * z[-1] ** 2 + LOG_ROOT_2PI
            z = z[:-1]
        return new.coefficients(z, theta.size), log_q + new.log_volume - old.log_volume
