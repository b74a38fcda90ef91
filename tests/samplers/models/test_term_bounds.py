"""Bounds on derivatives of log p and on the residuals of control variates, against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from samplers.models.control import Controlled, _bound_kernels, find_mode
from samplers.models.control.residual_bounds import ResidualBounds
from samplers.models.control.term_bounds import (
    BoundedModel,
    ball_radius,
    posterior_factor,
    term_weights,
    third_order_weights,
)  # fmt: skip
from samplers.models.logistic import Logistic
from samplers.models.tempered import tempered

MODEL = Logistic.from_data([[1.0], [2.0]], [1, 0])


def derivatives(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|second| and |third| derivative of log p, as printed in textbooks."""
    s = 1.0 / (1.0 + np.exp(-eta))
    return s * (1.0 - s), np.abs(s * (1.0 - s) * (1.0 - 2.0 * s))


def test_local_bounds_are_the_largest_values_over_the_interval():
    rng = np.random.default_rng(1)
    low = np.concatenate([rng.normal(0.0, 3.0, 400), [0.0, -1.5, 1.3, -30.0, 2.0, -40.0]])
    high = low + np.concatenate([rng.gamma(0.5, 2.0, 400), [0.0, 3.0, 0.02, 60.0, 1e-9, 1.0]])
    fine = derivatives(np.linspace(low, high, 20_001))
    bounds = (bound(low, high, np.zeros(low.size, int)) for bound in (MODEL.second_bound, MODEL.third_bound))
    for bound, values in zip(bounds, fine, strict=True):
        largest = values.max(axis=0)
        assert np.all(bound >= largest * (1.0 - 1e-12))  # never below the values
        assert bound == pytest.approx(largest, rel=1e-5)  # and attained, up to the grid


def test_the_largest_third_derivative_is_the_known_constant():
    assert MODEL.third_bound(np.array([-9.0]), np.array([9.0]), np.array([0])) == pytest.approx(1 / (6 * math.sqrt(3)))
    assert MODEL.third_bound(np.zeros(1), np.zeros(1), np.array([0])) == 0.0


@pytest.fixture(scope="module")
def problem() -> tuple[Logistic, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    x = rng.standard_t(3, (300, 3))
    x[:4, 2] *= 10.0  # a few rows with long reach
    y = rng.random(300) < 1.0 / (1.0 + np.exp(2.0 - x @ np.array([0.5, -1.0, 0.2])))
    model = Logistic.from_data(x, y, prior_precision=1.0)
    mode = find_mode(model)
    return model, mode, posterior_factor(model, mode)


def test_the_factor_is_that_of_the_posterior_precision(problem):
    model, mode, factor = problem
    assert np.linalg.inv(factor @ factor.T) == pytest.approx(Controlled.around(model, mode).posterior_precision())


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("radius", [1.0, 4.0])
@pytest.mark.parametrize("temperature", [1.0, 5.0])
def test_no_residual_exceeds_its_bound_within_the_ball(problem, order, radius, temperature):
    """Taylor's remainder, on states that lie one way, side by side or anyhow; the bounds are not idle."""
    plain, mode, _ = problem
    model = tempered(plain, temperature)
    assert isinstance(model, BoundedModel)
    controlled = Controlled.around(model, mode, order)
    bounds = ResidualBounds.of(model, mode, order, radius)
    weights = term_weights(model, mode, posterior_factor(model, mode), radius, order)
    assert bounds.weights.weights == pytest.approx(weights, rel=1e-12)
    rng, every, closest = np.random.default_rng(3), np.arange(300), 0.0
    for _ in range(400):
        way, other = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 3)))
        a, b = radius * rng.random(2) ** 0.3
        kind = rng.integers(3)
        old, new = a * way, (b * way, b * other, a * way + 0.02 * other)[kind]
        factor = np.linalg.inv(bounds.whitening)
        states = mode + factor @ old, mode + factor @ new
        m = bounds.between(*states).reach
        if max(np.linalg.norm(old), np.linalg.norm(new)) > radius:
            assert m == math.inf
            continue
        assert m == bounds.between(*states[::-1]).reach  # to the last bit
        r = controlled.terms(*states, every)
        assert np.all(np.abs(r) <= weights * m * (1.0 + 1e-9) + 1e-12)
        closest = max(closest, float(np.max(np.abs(r) / (weights * m))))
    assert closest > 0.3  # the bounds are not idle


@pytest.mark.parametrize("order", [1, 2])
def test_the_reach_is_the_largest_integral_over_all_directions(order):
    """Against many unit vectors in the plane of the two states, and below the textbook bound."""
    rng, angle = np.random.default_rng(4), np.linspace(0.0, np.pi, 100_001)
    for k in range(60):
        z = rng.standard_normal(5) * rng.gamma(2.0)
        step = rng.standard_normal(5) * 10.0 ** rng.uniform(-5.0, 1.0)
        new = (z + step, -0.7 * z, z * 1.001, np.zeros(5))[k % 4]
        m = _bound_kernels.reach(z, new, 1e9, order)
        assert m == _bound_kernels.reach(new, z, 1e9, order)
        q, _ = np.linalg.qr(np.column_stack([z, new - z + 1e-9 * step]))
        u = q @ np.vstack([np.cos(angle), np.sin(angle)])
        s, d = z @ u, (new - z) @ u
        t = s + d
        if order == 2:
            integral = np.abs(d * (3.0 * s * s + 3.0 * s * d + d * d)) / 6.0
        else:
            integral = np.where(s * t > 0.0, np.abs(d * (s + t)), s * s + t * t) / 2.0
        assert integral.max() * (1.0 - 1e-6) <= m
        assert m <= integral.max() * (1.0031 if order == 2 else 1.5)
        a, b, e = (float(np.linalg.norm(v)) for v in (z, new, new - z))
        power = order + 1
        simple = min(max(a, b) ** order * e / order, (a**power + b**power) / math.factorial(power))
        assert m <= 1.0031 * simple


def test_weights_of_rows_do_not_depend_on_their_block(problem, monkeypatch):
    model, mode, factor = problem
    whole = third_order_weights(model, mode, factor, ball_radius(3))
    monkeypatch.setattr("samplers.models.arrays.BLOCK", 7)
    assert third_order_weights(model, mode, factor, ball_radius(3)) == pytest.approx(whole, rel=1e-12)


def test_mapped_rows_have_the_bounds_of_copied_ones(problem):
    model, mode, factor = problem
    signs = np.where(np.arange(300) % 2, 1.0, -1.0)
    mapped = Logistic.mapped(model.rows * signs[:, None], signs > 0)
    assert term_weights(mapped, mode, factor, 3.0) == pytest.approx(term_weights(model, mode, factor, 3.0))


def test_a_model_without_bounds_is_refused(problem, refuses):
    _, mode, factor = problem

    class Bare:
        n_data, rows = 2, np.eye(2)

    refuses(lambda: term_weights(Bare(), mode, factor, 1.0), "bounds: Bare has no second_bound and third_bound")
    flat = Logistic.from_data([[1.0, 1.0], [2.0, 2.0]], [1, 0])
    refuses(lambda: posterior_factor(flat, np.zeros(2)), "flat in some direction")
