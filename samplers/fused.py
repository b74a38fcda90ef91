"""Whole blocks of steps as one compiled call, for built-in models: a drawn row is touched once, for theta and theta'.

Model, proposal and test enter as NamedTuples of arrays; their *types* choose the code (numba overloads), so that every
combination is compiled once and kept on disk. The random numbers are used in the same order as by `chain.step` on the
protocols, so that both make the same decisions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from designer._jit import JIT, kernel
from designer.schedule import Floats, Ints
from samplers._kernels import decide, draw, put_back

NOT_A_NUMBER = -1  # in place of the number of looks: the log-likelihood was not finite


# --- what the kernel works on -------------------------------------------------------------------------------------


class LogisticRows(NamedTuple):
    """Logistic regression: signed rows and the prior's precision."""

    rows: Floats
    prior_precision: float


class LogisticResiduals(NamedTuple):
    """The same with control variates: each row is followed by eta*, slope and curvature at the centre."""

    rows: Floats
    prior_precision: float
    centre: Floats
    gradient: Floats
    hessian: Floats


class Walk(NamedTuple):
    """A Gaussian random walk with factor L."""

    factor: Floats


class Step(NamedTuple):
    """A proxy proposal."""

    centre: Floats
    factor: Floats
    precision: Floats
    keep: float
    beta: float


class Sequential(NamedTuple):
    """Looks and Student bounds at the interim ones."""

    looks: Ints
    lower: Floats
    upper: Floats


class Exact(NamedTuple):
    """All data; log-likelihoods of the current and the proposed state, kept per datum."""

    current: Floats
    proposed: Floats


# --- pieces chosen by type ----------------------------------------------------------------------------------------


def _is(kind: Any, numba_type: Any) -> bool:
    return isinstance(numba_type, types.BaseNamedTuple) and getattr(numba_type, "instance_class", None) is kind


def log_prior(model, theta): ...
def term(model, theta, theta_new, i): ...
def log_likelihood(model, theta, i): ...
def propose(rng, proposal, theta, xi, out): ...
def accept(rng, model, test, theta, theta_new, log_ratio, order, picks): ...
def moved(test): ...
def forget(model, test, theta): ...


@njit(fastmath={"reassoc", "contract"}, **JIT)
def dot(row, theta):
    """A plain sum of products; only its order of summation is free, so that it vectorises."""
    total = 0.0
    for k in range(theta.size):
        total += row[k] * theta[k]
    return total


@njit(fastmath={"reassoc", "contract"}, **JIT)
def quadratic(matrix, d):
    total = 0.0
    for i in range(d.size):
        total += d[i] * dot(matrix[i], d)
    return total


@kernel
def log_sigmoid(eta):
    if eta > 0.0:
        return -math.log1p(math.exp(-eta))
    return eta - math.log1p(math.exp(eta))


@overload(log_prior)
def _log_prior(model, theta):
    if _is(LogisticRows, model):

        def plain(model, theta):
            return -0.5 * model.prior_precision * dot(theta, theta)

        return plain
    if _is(LogisticResiduals, model):

        def controlled(model, theta):
            d = theta - model.centre
            prior = -0.5 * model.prior_precision * dot(theta, theta)
            return prior + dot(model.gradient, d) + 0.5 * quadratic(model.hessian, d)

        return controlled
    return None


@overload(term)
def _term(model, theta, theta_new, i):
    if _is(LogisticRows, model):

        def plain(model, theta, theta_new, i):
            row = model.rows[i]
            return log_sigmoid(dot(row, theta_new)) - log_sigmoid(dot(row, theta))

        return plain
    if _is(LogisticResiduals, model):

        def controlled(model, theta, theta_new, i):
            row, n = model.rows[i], theta.size
            old, new = dot(row, theta), dot(row, theta_new)
            proxy = (new - old) * (row[n + 1] + 0.5 * row[n + 2] * (new + old - 2.0 * row[n]))
            return log_sigmoid(new) - log_sigmoid(old) - proxy

        return controlled
    return None


@overload(log_likelihood)
def _log_likelihood(model, theta, i):
    if _is(LogisticRows, model):
        return lambda model, theta, i: log_sigmoid(dot(model.rows[i], theta))
    if _is(LogisticResiduals, model):

        def controlled(model, theta, i):
            row, n = model.rows[i], theta.size
            eta = dot(row, theta)
            d = eta - row[n]
            return log_sigmoid(eta) - d * (row[n + 1] + 0.5 * row[n + 2] * d)

        return controlled
    return None


@overload(propose)
def _propose(rng, proposal, theta, xi, out):
    if _is(Walk, proposal):

        def walk(rng, proposal, theta, xi, out):
            for k in range(xi.size):
                xi[k] = rng.standard_normal()
            for k in range(theta.size):
                out[k] = theta[k] + dot(proposal.factor[k], xi)
            return 0.0

        return walk
    if _is(Step, proposal):

        def step(rng, proposal, theta, xi, out):
            for k in range(xi.size):
                xi[k] = rng.standard_normal()
            for k in range(theta.size):
                move = proposal.beta * dot(proposal.factor[k], xi)
                out[k] = proposal.centre[k] + proposal.keep * (theta[k] - proposal.centre[k]) + move
            old = quadratic(proposal.precision, theta - proposal.centre)
            return 0.5 * (old - quadratic(proposal.precision, out - proposal.centre))

        return step
    return None


@overload(accept)
def _accept(rng, model, test, theta, theta_new, log_ratio, order, picks):
    if _is(Sequential, test):

        def sequential(rng, model, test, theta, theta_new, log_ratio, order, picks):
            """K14 Alg. 1, Metropolis rule, as `SequentialTest.decide`."""
            n_data = order.size
            v = math.log(1.0 - rng.random())
            if not math.isfinite(log_ratio):  # prior or proposal decide alone, or there is nothing to compare
                return log_ratio < 0.0, 0, (NOT_A_NUMBER if math.isnan(log_ratio) else 0)
            n, shift, total, squares, verdict = 0, 0.0, 0.0, 0.0, 0
            for j in range(test.looks.size):
                draw(rng, order, picks, n, test.looks[j])
                if j == 0:
                    shift = term(model, theta, theta_new, order[0])
                while n < test.looks[j]:
                    x = term(model, theta, theta_new, order[n]) - shift
                    total += x
                    squares += x * x
                    n += 1
                if not math.isfinite(total):
                    break
                if n < n_data:
                    offset = shift - (v + log_ratio) / n_data
                    verdict = decide(total, squares, n, n_data, offset, test.lower[j], test.upper[j])
                else:
                    verdict = 1 if n_data * shift + total - log_ratio > v else -1
                if verdict != 0:
                    break
            put_back(order, picks, n)
            return verdict > 0, n, (j + 1 if verdict != 0 else NOT_A_NUMBER)

        return sequential
    if _is(Exact, test):

        def exact(rng, model, test, theta, theta_new, log_ratio, order, picks):
            v = math.log(1.0 - rng.random())
            if not math.isfinite(log_ratio):
                return log_ratio < 0.0, 0, (NOT_A_NUMBER if math.isnan(log_ratio) else 0)
            total = 0.0
            for i in range(order.size):
                test.proposed[i] = log_likelihood(model, theta_new, i)
                total += test.proposed[i] - test.current[i]
            return total - log_ratio > v, order.size, (1 if math.isfinite(total) else NOT_A_NUMBER)

        return exact
    return None


@kernel
def fill_log_likelihood(model, theta, out):
    """log p(x_i; theta) of every datum."""
    for i in range(out.size):
        out[i] = log_likelihood(model, theta, i)


@overload(moved)
def _moved(test):
    if _is(Exact, test):

        def remember(test):
            test.current[:] = test.proposed

        return remember
    return lambda test: None


@overload(forget)
def _forget(model, test, theta):
    if _is(Exact, test):

        def refill(model, test, theta):
            fill_log_likelihood(model, theta, test.current)

        return refill
    return lambda model, test, theta: None


# --- the block ----------------------------------------------------------------------------------------------------


@kernel
def run_block(rng, model, proposal, test, theta, order, picks, draws, accepted, n_used, n_looks):
    """As many steps as `draws` has rows; theta is updated in place. Returns the number of steps done.

    Fewer than asked for means that a log-likelihood was not finite; theta is then the last good state.
    """
    new, xi = np.empty(theta.size), np.empty(theta.size)
    here = log_prior(model, theta)
    for s in range(draws.shape[0]):
        log_q = propose(rng, proposal, theta, xi, new)
        there = log_prior(model, new)
        yes, n, looks = accept(rng, model, test, theta, new, here - there + log_q, order, picks)
        if looks == NOT_A_NUMBER:
            return s
        if yes:
            theta[:] = new
            here = there
            if looks > 0:
                moved(test)
            else:  # accepted unseen: the cache knows nothing of it
                forget(model, test, theta)
        draws[s] = theta
        accepted[s], n_used[s], n_looks[s] = yes, n, looks
    return draws.shape[0]
