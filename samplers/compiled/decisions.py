"""Acceptance tests, chosen by type: whether to accept, data read, looks taken (or NOT_A_NUMBER, MORE_LOOKS)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import overload

from designer.core.jit import kernel
from designer.rule.t_test import threshold, verdict
from samplers.compiled.fetching import fetch
from samplers.compiled.logistic import ROOM
from samplers.compiled.models import fill_terms, full_log_likelihood
from samplers.compiled.parts import MORE_LOOKS, NOT_A_NUMBER, Barker, Exact, ExactMinibatch, Sequential
from samplers.compiled.whitening import reach_between, to_white
from samplers.decide._minibatch_kernels import draw_rows, log_ratio_of_kept
from samplers.decide._moments import add_shifted, near_normal
from samplers.decide._permutation import draw, is_a, put_back


def accept(
    rng: Any, model: Any, test: Any, theta: Any, theta_new: Any, log_ratio: Any, permutation: Any, room: Any
) -> Any: ...
def moved(test: Any) -> Any: ...
def forget(model: Any, test: Any, theta: Any, room: Any) -> Any: ...


@kernel
def new_room():
    """Workspace: three rows for intermediate values, one for the lᵢ, two to draw rows, three for y and others."""
    return np.empty((9, ROOM))


@kernel
def draw_threshold(rng, barker):
    """v = log u or logit u, from the same random number as `samplers.decide.draw_threshold`."""
    return threshold(1.0 - rng.random(), barker)


@kernel
def without_data(log_ratio):
    """The decision where the log ratio is not finite: prior or proposal alone decide, or the ratio is NaN."""
    return log_ratio < 0.0, 0, (NOT_A_NUMBER if math.isnan(log_ratio) else 0)


@kernel
def read(rng, model, theta, theta_new, permutation, room, n, goal, shift, total, squares, kept):
    """Let the sample grow to `goal`, adding up lᵢ - shift and its squares; the first lᵢ is the shift.

    The lᵢ are also written to `kept`, unless that has no room at all.
    """
    while n < goal:
        permutation, new = draw(rng, permutation, n, min(n + ROOM, goal), goal)
        fetch(model, new)
        terms = room[3, : new.size]
        fill_terms(model, theta, theta_new, new, room, terms)
        if n == 0:
            shift = terms[0]
        total, squares = add_shifted(terms, shift, total, squares)
        if kept.size > 0:
            kept[n : n + new.size] = terms
        n += new.size
    return permutation, shift, total, squares


@kernel
def correction_quantile(test, p):
    """As `Correction.quantile`."""
    k = min(np.searchsorted(test.cdf, p, side="right") - 1, test.x.size - 1)
    within = min((p - test.cdf[k]) / test.mass[k], 1.0) - 0.5 if test.width > 0.0 else 0.0
    return test.x[k] + test.width * within


@overload(accept)
def _accept(rng, model, test, theta, theta_new, log_ratio, permutation, room):
    if is_a(Sequential, test):

        def sequential(rng, model, test, theta, theta_new, log_ratio, permutation, room):
            """K14 Alg. 1, draw for draw as `SequentialTest.decide`; each look is `designer.rule.t_test.verdict`."""
            n_data, v = test.n_data, draw_threshold(rng, test.barker)
            if not math.isfinite(log_ratio):
                yes, n, looks = without_data(log_ratio)
                return yes, n, looks, permutation
            n, shift, total, squares, decision, looks = 0, 0.0, 0.0, 0.0, 0, MORE_LOOKS
            for j in range(test.looks.size):
                goal, none = test.looks[j], room[0, :0]
                permutation, shift, total, squares = read(
                    rng, model, theta, theta_new, permutation, room, n, goal, shift, total, squares, none
                )
                n = goal
                if not math.isfinite(total):
                    looks = NOT_A_NUMBER
                    break
                if n < n_data:
                    offset = shift - (v + log_ratio) / n_data
                    decision = verdict(total, squares, n, n_data, offset, test.lower[j], test.upper[j])
                else:
                    decision = 1 if n_data * shift + total - log_ratio > v else -1
                if decision != 0:
                    looks = j + 1
                    break
            return decision > 0, n, looks, put_back(permutation, n)

        return sequential
    if is_a(Exact, test):

        def exact(rng, model, test, theta, theta_new, log_ratio, permutation, room):
            v = draw_threshold(rng, test.barker)
            if not math.isfinite(log_ratio):
                yes, n, looks = without_data(log_ratio)
                return yes, n, looks, permutation
            test.totals[1] = full_log_likelihood(model, theta_new, test.n_data, room)
            change = test.totals[1] - test.totals[0]
            looks = 1 if math.isfinite(change) else NOT_A_NUMBER
            return change - log_ratio > v, test.n_data, looks, permutation

        return exact
    if is_a(Barker, test):

        def barker(rng, model, test, theta, theta_new, log_ratio, permutation, room):
            """S17 Alg. 1, draw for draw as `BarkerTest.decide` without correction for skewness."""
            n_data, v, looks, n = test.n_data, draw_threshold(rng, True), 0, 0
            if not math.isfinite(log_ratio):
                yes, n, looks = without_data(log_ratio)
                return yes, n, looks, permutation
            shift, total, squares, variance, enough = 0.0, 0.0, 0.0, math.inf, False
            kept, seen = room[0, :0], room[0, :0]
            if test.delta < math.inf:
                kept, seen = np.empty(min(n_data, 16 * test.m)), np.zeros(4)
            while n < n_data and not enough:
                looks += 1
                goal = min(looks * test.m, n_data)
                if 0 < kept.size < goal:
                    kept = np.concatenate((kept, np.empty(goal)))
                permutation, shift, total, squares = read(
                    rng, model, theta, theta_new, permutation, room, n, goal, shift, total, squares, kept
                )
                n = goal
                if not math.isfinite(total):
                    return False, n, NOT_A_NUMBER, put_back(permutation, n)
                spread = max(0.0, squares / n - (total / n) * (total / n)) * n / (n - 1)
                variance = float(n_data) ** 2 * spread / n * (1.0 - n / n_data)
                enough = variance < test.sigma**2
                if enough and test.delta < math.inf:
                    second = spread * (n - 1) / n
                    enough = near_normal(kept[:n], total / n + shift, second, test.delta, seen)
            permutation = put_back(permutation, n)
            noisy = n_data * (total / n + shift) - log_ratio
            if n == n_data:
                return noisy > v, n, looks, permutation
            noisy += math.sqrt(test.sigma**2 - variance) * rng.standard_normal()
            noisy += correction_quantile(test, 1.0 / (1.0 + math.exp(v)))
            return noisy > 0.0, n, looks, permutation

        return barker
    if is_a(ExactMinibatch, test):

        def exact_minibatch(rng, model, test, theta, theta_new, log_ratio, permutation, room):
            """Draw for draw as `ExactMinibatchTest.decide`."""
            v = draw_threshold(rng, test.barker)
            if not math.isfinite(log_ratio):
                yes, n, looks = without_data(log_ratio)
                return yes, n, looks, permutation
            to_white(test.whitening, test.centre, theta_new, test.white[2], test.white[1])
            m = reach_between(test.whitening, test.white[0], test.white[1], test.radius, test.order)
            mean = test.total * m if test.total > 0.0 else 0.0
            rows = mean * (1.0 + test.chi * mean)
            if not rows <= test.most:
                n, value = test.n_data, sum_terms(model, theta, theta_new, test.n_data, test.indices, room)
            else:
                n = rng.poisson(rows)
                value = sum_kept(rng, model, test, theta, theta_new, n, m, 2.0 * test.chi * mean, room)
            looks = NOT_A_NUMBER if math.isnan(value) else 1
            return value - log_ratio > v, n, looks, permutation

        return exact_minibatch
    return None


@kernel
def sum_terms(model, theta, theta_new, n_data, indices, room):
    """The sum of all lᵢ, or NaN."""
    total = 0.0
    for first in range(0, n_data, ROOM):
        size = min(ROOM, n_data - first)
        for k in range(size):
            indices[k] = first + k
        terms = room[3, :size]
        fill_terms(model, theta, theta_new, indices[:size], room, terms)
        total += terms.sum()
    return total if math.isfinite(total) else math.nan


@kernel
def sum_kept(rng, model, test, theta, theta_new, count, m, extra, room):
    """The sum of log(φ'/φ) over the kept ones of `count` rows drawn, or NaN if a term is beyond its bound."""
    total, done = 0.0, 0
    while done < count:
        size = min(ROOM, count - done)
        indices, terms, weights, keeps = test.indices[:size], room[3, :size], room[4, :size], room[5, :size]
        draw_rows(rng, test.table, indices, weights, keeps)
        fetch(model, indices)
        fill_terms(model, theta, theta_new, indices, room, terms)
        part, broken = log_ratio_of_kept(terms, weights, m, keeps, extra, test.rounding)
        if broken >= 0:
            return math.nan
        total += part
        done += size
    return total


@overload(moved)
def _moved(test):
    if is_a(ExactMinibatch, test):

        def step(test):
            test.white[0, :] = test.white[1]

        return step
    if is_a(Exact, test):

        def remember(test):
            test.totals[0] = test.totals[1]

        return remember
    return lambda test: None


@overload(forget)
def _forget(model, test, theta, room):
    if is_a(Exact, test):

        def again(model, test, theta, room):
            test.totals[0] = full_log_likelihood(model, theta, test.n_data, room)

        return again
    if is_a(ExactMinibatch, test):
        return lambda model, test, theta, room: to_white(
            test.whitening, test.centre, theta, test.white[2], test.white[0]
        )
    return lambda model, test, theta, room: None


@kernel
def begin(model, test, theta):
    """Tell the test where the chain is; only the exact test and the exact mini-batch test need to know."""
    forget(model, test, theta, new_room())
