"""Kernels alone: the vectorised exp, the quadrature rules, and each kernel in plain Python against its machine code."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numba import njit

from designer.engine import _walk_kernels
from designer.engine.quadrature import rules
from designer.engine.step_error import acceptance
from designer.engine.walk import characteristics, stopping
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import Boundary
from designer.rule.design import Design
from designer.rule.looks import Schedule
from designer.rule.plan import Plan
from tests import naive

LOOKS = np.linspace(0.0, 1.0, 9)
SYMMETRIC = Design(1000, 100, 0.05, 0.8)
ASYMMETRIC = Plan(Schedule.equal(1000, 100), Boundary.explicit(-1.0 - LOOKS, 2.5 - LOOKS))


@njit
def exp_all(x):
    out = np.empty_like(x)
    for i in range(x.size):  # vectorised, as inside the kernels
        out[i] = _walk_kernels.fast_exp(x[i])
    return out


def test_exp_is_as_good_as_libm():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(-690, 690, 20_001), rng.uniform(-2, 2, 20_000), [0.0, -0.0, 1e-300, -1e-17]])
    exact = np.array([math.exp(v) for v in x])
    np.testing.assert_allclose(exp_all(x), exact, rtol=1e-15)
    assert exp_all(np.zeros(1))[0] == 1.0


def test_exp_is_held_at_its_smallest_value():
    held = exp_all(np.array([-700.0, -701.0, -1e4, -1e300, -np.inf]))
    np.testing.assert_allclose(held, math.exp(-700), rtol=1e-15)


@pytest.mark.parametrize("half", [1, 2, 3, 7, 16, 50, 100])
def test_gauss_legendre(half):
    x, w = np.empty(half), np.empty(half)
    _walk_kernels.gauss_legendre_half(half, x, w)
    node, weight = np.polynomial.legendre.leggauss(2 * half)
    np.testing.assert_allclose(x, node[half:], rtol=1e-14)
    np.testing.assert_allclose(w, weight[half:], rtol=0, atol=1e-14)


def test_tabulated_rules_integrate_polynomials():
    table = rules()
    for size, start in zip(table.half, table.offset, strict=True):
        x, w = table.x[start : start + size], table.w[start : start + size]
        assert 2 * w @ x**4 == pytest.approx(2 / 5, rel=1e-13)
    assert np.all(np.diff(table.half) <= np.maximum(1, table.half[:-1] / 25))


@pytest.mark.parametrize("half_nodes", [3.0, 7.2, 100.0, 256.5, 1000.0])
def test_placed_rules_are_ascending_and_scaled(half_nodes):
    """Also those of several pieces, when one tabulated rule is not enough."""
    for place in (_walk_kernels.place, _walk_kernels.place.py_func):
        z, c = np.empty(3000), np.empty(3000)
        end = place(-1.0, 3.0, half_nodes, *rules(), z, c, 4)
        assert 2 * half_nodes <= end - 4 <= 2 * (1.05 * half_nodes + 2 * (half_nodes / 256 + 1))
        assert np.all(np.diff(z[4:end]) > 0)
        assert c[4:end] @ z[4:end] ** 3 == pytest.approx((3.0**4 - 1) / 4, rel=1e-13)


@pytest.mark.parametrize("mirror", [False, True])
def test_spread_is_a_sum_of_normal_densities(mirror):
    rng = np.random.default_rng(1)
    y, z = np.sort(rng.uniform(0, 30, 21)), np.sort(rng.uniform(0, 30, 40))  # wider than the kernel's reach
    c, rho, r = rng.uniform(0, 1, 21), 0.95, math.sqrt(1 - 0.95**2)
    sources = np.concatenate([y, -y]) if mirror else y
    density = np.exp(-0.5 * ((sources - rho * z[:, None]) / r) ** 2) / (r * math.sqrt(2 * math.pi))
    exact = density @ (np.tile(c, 2) if mirror else c)
    for spread in (_walk_kernels.spread, _walk_kernels.spread.py_func):
        f = np.full(40, np.nan)
        spread(y, c, 21, rho, r, 8.3, mirror, z, 40, f)
        np.testing.assert_allclose(f, exact, rtol=1e-13, atol=1e-14)


def test_tilt_is_a_sum_of_shifted_densities():
    z, c, mu = np.array([-1.0, 0.5, 2.0]), np.array([0.1, 0.2, 0.3]), np.linspace(-3, 3, 8)
    for sign in (1.0, -1.0):
        exact = 1.0 + (c * np.exp(-0.5 * (sign * z - 1.5 * mu[:, None]) ** 2)).sum(axis=1) / math.sqrt(2 * math.pi)
        for tilt in (_walk_kernels.tilt, _walk_kernels.tilt.py_func):
            out = np.ones(8)
            tilt(z, c, sign, 1.5, mu, out)
            np.testing.assert_allclose(out, exact, rtol=1e-14)


@pytest.mark.parametrize(("length", "enough"), [(0.05, 1e-13), (0.7, 1e-16), (0.7, 1e-10), (6.0, 1e-13)])
def test_nodes_that_share_an_exp_give_the_same_sum(length, enough):
    """In one group, in several, and where there are too few nodes for groups."""
    z, mu = 1.7 + length * np.sort(np.random.default_rng(3).uniform(size=14)), np.linspace(0.0, 12.0, 24)
    c = np.exp(-(z - 1.7) / length) * length / 14
    exact, wrong = np.ones(24), np.ones(8)
    _walk_kernels.tilt(z, c, 1.0, 1.5, mu, exact)
    _walk_kernels.tilt(z, c, -1.0, 1.5, mu[:8], wrong)
    for closely in (_walk_kernels.tilt_closely, _walk_kernels.tilt_closely.py_func):
        found, found_wrong = np.ones(24), np.ones(8)
        closely(z, c, 1.5, enough, np.empty(_walk_kernels.SERIES), mu, found, found_wrong)
        np.testing.assert_allclose(found, exact, rtol=0, atol=10 * enough + 1e-15)
        np.testing.assert_allclose(found_wrong, wrong, rtol=0, atol=10 * enough + 1e-15)


@pytest.mark.parametrize("listed", [False, True])
def test_thinned_looks_are_as_far_apart_as_allowed(listed):
    n_data, m, r_star = 100_000, 10, 0.1
    n = np.arange(m, n_data, m)
    looks, none = (n if listed else np.empty(0, dtype=np.int64)), np.empty(0, dtype=np.int64)
    arguments = (looks, m, float(n_data), 3, n.size - 1, r_star)
    kept = np.empty(_walk_kernels.thin(*arguments, none), dtype=np.int64)
    assert _walk_kernels.thin(*arguments, kept) == _walk_kernels.thin.py_func(*arguments, kept.copy()) == kept.size
    assert (kept[0], kept[-1]) == (3, n.size - 1)

    def width(i, k):
        t = n[[i, k]] / (n_data - n[[i, k]])
        return math.sqrt(1 - t[0] / t[1])

    for i, k in pairwise(kept[:-1]):  # the last one is kept in any case
        assert k == i + 1 or width(i, k) <= r_star + 1e-12
        assert width(i, k + 1) > r_star - 1e-12


def everything():
    """Numbers that depend on every kernel of the engine."""
    mu = np.array([-4.0, -1.0, 0.0, 0.3, 2.0, 9.0])
    trial = TrialRun(1000, mu=[-0.7e-3, 0.5e-3], sigma=[0.04, 0.01])
    loose = characteristics(Design(1000, 10, 0.05), mu, tolerance=1e-3)  # merges looks
    curves = [*characteristics(SYMMETRIC, mu)[1:3], *characteristics(ASYMMETRIC, mu)[1:3], *loose[1:3]]
    steps = [acceptance(plan, trial, rule) for plan in (SYMMETRIC, ASYMMETRIC) for rule in ("metropolis", "barker")]
    exits = stopping(ASYMMETRIC, 0.7)
    return np.concatenate([*curves, *(np.stack([s.delta, s.usage, s.wrong]).ravel() for s in steps), exits.accept])


@pytest.mark.parametrize("name", ["walk", "place", "spread", "tilt", "tilt_closely", "thin", "steps"])
def test_plain_python_agrees_with_machine_code(name, monkeypatch):
    compiled = everything()
    calls = []

    def interpreted(*arguments):
        calls.append(name)
        return getattr(_walk_kernels, f"_{name}_compiled").py_func(*arguments)

    monkeypatch.setattr(_walk_kernels, f"_{name}_compiled", getattr(_walk_kernels, name), raising=False)
    monkeypatch.setattr(
        _walk_kernels, "walk", _walk_kernels.walk.py_func
    )  # in Python, it looks up the kernels that it calls
    monkeypatch.setattr(_walk_kernels, name, interpreted)
    np.testing.assert_allclose(everything(), compiled, rtol=0, atol=1e-14)
    assert calls


INF = math.inf
ODD = [  # looks, lower, upper, of 1000 data
    ([500], [-INF], [1.0]),
    ([500], [-1.0], [INF]),
    ([100, 400, 800], [-INF, -INF, -1.0], [2.0, 1.5, INF]),
    ([100, 101, 999], [-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]),
    ([500], [0.5], [0.5]),
    ([999], [-2.0], [1.0]),
]


@pytest.mark.parametrize(("looks", "lower", "upper"), ODD, ids=str)
def test_every_array_is_large_enough(looks, lower, upper, monkeypatch):
    """In plain Python numpy checks every index; machine code would write beyond the end."""
    monkeypatch.setattr(_walk_kernels, "walk", _walk_kernels.walk.py_func)
    monkeypatch.setattr(_walk_kernels, "place", _walk_kernels.place.py_func)
    mu = np.array([-2.0, 0.0, 1.0])
    curve = characteristics(Plan(Schedule.explicit(1000, looks), Boundary.explicit(lower, upper)), mu)
    exact = [naive.characteristics([*looks, 1000], lower, upper, x) for x in mu]
    np.testing.assert_allclose(np.stack([curve.error, curve.usage], axis=1), exact, rtol=0, atol=1e-13)
