"""Lazy reading: does a chain gain when it keeps the log-likelihoods of the rows it has read at its state?

Evaluations fall by a known share; time need not. The compiled test with a memory is here, not in the product, because
it is slower than two evaluations of a row that is in the cache anyway.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from scipy.special import logsumexp

from designer import Design
from designer.core.jit import kernel
from samplers.chains.chain import Chain
from samplers.chains.remembering import Remembering
from samplers.compiled import parts
from samplers.compiled.build import fused_parts
from samplers.compiled.decisions import accept, new_room
from samplers.compiled.logistic import fill_residuals, row_dot, two_dots
from samplers.compiled.models import fill_signs, fill_terms, log_likelihood, log_prior
from samplers.compiled.moves import propose
from samplers.config.assemble import build
from samplers.config.built_in import built_in
from samplers.decide import _permutation
from samplers.decide._permutation import is_a
from samplers.decide.sequential import SequentialTest
from samplers.proposals import RandomWalk
from samplers.runs.run import warmed_up

EPSILONS = (0.2, 0.05, 0.005)
STEPS = {"e3": 1_000, "e4": 200}
REPEATS = 3


class Memory(NamedTuple):
    """A compiled model with what is known of its rows at the state."""

    model: Any
    known: Any  # (N, 2): number of the state, and log p or η there
    order: Any  # rows of this decision
    fresh: Any  # what they are at the proposed state
    state: Any  # number of the state, rows of this decision, evaluations


def _memory(model: Any, n: int) -> Memory:
    return Memory(model, np.zeros((n, 2)), np.empty(n, dtype=np.int64), np.empty(n), np.array([1, 0, 0]))


def fill_known(model: Any, inner: Any, theta: Any, theta_new: Any, indices: Any, room: Any, out: Any) -> Any: ...
def settle(model: Any, yes: Any) -> Any: ...


@overload(log_prior)
def _log_prior(model, theta):
    if is_a(Memory, model):
        return lambda model, theta: log_prior(model.model, theta)
    return None


@overload(fill_terms)
def _fill_terms(model, theta, theta_new, indices, room, out):
    if is_a(Memory, model):
        return lambda model, theta, theta_new, indices, room, out: fill_known(
            model, model.model, theta, theta_new, indices, room, out
        )
    return None


@overload(fill_known)
def _fill_known(model, inner, theta, theta_new, indices, room, out):
    if is_a(parts.LogisticRows, inner):

        def logistic(model, inner, theta, theta_new, indices, room, out):
            """η is kept, not log p, so that the terms have the same bits."""
            old, new, proxy = room[0, : out.size], room[1, : out.size], room[2, : out.size]
            fill_signs(inner.rows, inner.labels, indices, out)
            stamp, count = float(model.state[0]), model.state[1]
            for k in range(out.size):
                i = indices[k]
                if model.known[i, 0] == stamp:
                    old[k], new[k] = model.known[i, 1], out[k] * row_dot(inner.rows, i, theta_new)
                else:
                    before, after = two_dots(inner.rows, i, theta, theta_new)
                    old[k], new[k] = out[k] * before, out[k] * after
                    model.known[i, 0], model.known[i, 1] = stamp, old[k]
                    model.state[2] += 1
                proxy[k] = 0.0
                model.order[count + k], model.fresh[count + k] = i, new[k]
            model.state[1] += out.size
            model.state[2] += out.size
            fill_residuals(old, new, 1.0, proxy, out)

        return logistic

    def others(model, inner, theta, theta_new, indices, room, out):
        stamp, count = float(model.state[0]), model.state[1]
        for k in range(out.size):
            i = indices[k]
            if model.known[i, 0] != stamp:
                model.known[i, 0], model.known[i, 1] = stamp, log_likelihood(inner, theta, i)
                model.state[2] += 1
            new = log_likelihood(inner, theta_new, i)
            out[k] = new - model.known[i, 1]
            model.order[count + k], model.fresh[count + k] = i, new
        model.state[1] += out.size
        model.state[2] += out.size

    return others


@overload(settle)
def _settle(model, yes):
    if not is_a(Memory, model):
        return lambda model, yes: None

    def end(model, yes):
        """Rows read for an accepted state are known there."""
        if yes:
            model.state[0] += 1
            for k in range(model.state[1]):
                i = model.order[k]
                model.known[i, 0], model.known[i, 1] = float(model.state[0]), model.fresh[k]
        model.state[1] = 0

    return end


@kernel
def steps_with_memory(rng, model, proposal, test, theta, permutation, n_used, accepted):
    """As `run_block`; the same draws with and without a memory."""
    new, xi, room = np.empty(theta.size), np.empty(theta.size), new_room()
    here = log_prior(model, theta)
    for s in range(n_used.size):
        log_q, permutation = propose(rng, proposal, model, permutation, theta, xi, new)
        there = log_prior(model, new)
        yes, n, _, permutation = accept(rng, model, test, theta, new, here - there + log_q, permutation, room)
        if yes:
            theta[:] = new
            here = there
        settle(model, yes)
        n_used[s], accepted[s] = n, yes
    return permutation


class CountModel:
    """Poisson counts with a normal random effect each, integrated by quadrature in numpy: a costly likelihood."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.n_data, self.y = n, rng.poisson(np.exp(rng.normal(1.0, 0.7, n))).astype(np.float64)
        nodes, weights = np.polynomial.hermite_e.hermegauss(32)
        self.nodes, self.log_weights = nodes, np.log(weights / weights.sum())

    def log_prior(self, theta: Any) -> float:
        return -0.5 * float(theta @ theta)

    def log_likelihood(self, theta: Any, indices: Any) -> Any:
        log_rate = theta[0] + np.exp(theta[1]) * self.nodes
        return logsumexp(self.y[indices, None] * log_rate + (self.log_weights - np.exp(log_rate)), axis=1)

    def terms(self, theta: Any, theta_new: Any, indices: Any) -> Any:
        return self.log_likelihood(theta_new, indices) - self.log_likelihood(theta, indices)


def report() -> list[str]:
    """The section of RESULTS.md."""
    return [
        "## Lazy reading: a chain keeps what the rows it has read say at its state",
        "",
        "m = 500, constant bounds. Evaluations per datum read are 2 without a memory. Time is with a memory over",
        "without (processor time, in one run on one core, best of three); the draws are the same.",
        "",
        "| chain | ε | data use | acceptance | evaluations per datum | time |",
        "|---|---|---|---|---|---|",
        *(_compiled(name, epsilon) for name in STEPS for epsilon in EPSILONS),
        *(_in_python(epsilon) for epsilon in EPSILONS),
        "",
    ]


def _compiled(name: str, epsilon: float) -> str:
    config = built_in(name, None)
    chain = warmed_up(config, build(config))
    test = SequentialTest.from_design(Design(chain.n_data, 500, epsilon))
    data, move, decision = fused_parts(chain.model, chain.proposal, test) or (None, None, None)
    best, found = dict.fromkeys(("plain", "memory"), np.inf), {}
    for _ in range(REPEATS):
        for kind, model in (("plain", data), ("memory", _memory(data, chain.n_data))):
            theta, n_used = chain.theta.copy(), np.zeros(STEPS[name], dtype=np.int64)
            accepted = np.zeros(STEPS[name], dtype=np.bool_)
            given = np.random.default_rng(7), model, move, decision, theta, _permutation.fresh(chain.n_data)
            steps_with_memory(*given[:4], theta.copy(), given[5], n_used[:1], accepted[:1])  # compiled
            begin = time.thread_time()
            steps_with_memory(*given, n_used, accepted)
            best[kind] = min(best[kind], time.thread_time() - begin)
            found[kind] = (theta, n_used, accepted, model)
    if not np.array_equal(found["plain"][0], found["memory"][0]):
        raise AssertionError("the memory changed a decision")
    _, n_used, accepted, model = found["memory"]
    title = f"{name}, compiled, N = {chain.n_data:,}"
    rates = f"{n_used.mean() / chain.n_data:.1%} | {accepted.mean():.2f} | {model.state[2] / n_used.sum():.2f}"
    return f"| {title} | {epsilon:g} | {rates} | {best['memory'] / best['plain']:.2f} |"


def _in_python(epsilon: float) -> str:
    n, model = 20_000, CountModel(np.random.default_rng(1), 20_000)
    test, best = SequentialTest.from_design(Design(n, 500, epsilon)), dict.fromkeys(("plain", "memory"), np.inf)
    start, walk = np.array([1.0, np.log(0.7)]), RandomWalk.isotropic(0.02, 2)
    for _ in range(REPEATS):
        for kind, used in (("plain", model), ("memory", Remembering(model))):
            chain = Chain(used, walk, test, start, np.random.default_rng(3))
            begin = time.thread_time()
            draws = chain.advance(100)
            best[kind] = min(best[kind], time.thread_time() - begin)
    rates = f"{draws.n_used.mean() / n:.1%} | {draws.accepted.mean():.2f} | {chain.evaluations_per_datum:.2f}"
    return f"| own model in numpy, N = {n:,} | {epsilon:g} | {rates} | {best['memory'] / best['plain']:.2f} |"
