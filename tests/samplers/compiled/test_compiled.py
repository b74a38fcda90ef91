"""Fused chains against the protocols, draw for draw: every model, proposal, test and rule that is built in."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext

import numpy as np
import pytest

from designer import Design
from samplers.chains.chain import Chain
from samplers.compiled.build import fused_model, fused_parts
from samplers.compiled.decisions import begin
from samplers.compiled.logistic import fill_proxies, fill_residuals
from samplers.decide import BarkerTest, ConcentrationTest, ExactTest, SequentialTest, ridge_correction
from samplers.models.control import Controlled, find_mode
from samplers.models.ica import ICA, whiten
from samplers.models.lasso import Lasso, draw_line
from samplers.models.logistic import Logistic
from samplers.models.mixture import Mixture, draw_mixture
from samplers.models.tempered import tempered
from samplers.proposals import Langevin, ProxyStep, RandomWalk, StiefelWalk

N_DATA = 3000


def logistic_data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N_DATA, 4)).astype(np.float32)
    return x, rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ [0.5, -0.3, 0.2, 0.0]))


def mapped_logistic() -> tuple:
    model = Logistic.mapped(*logistic_data(), prior_precision=1.0)
    return model, RandomWalk.isotropic(0.05, 4), np.zeros(4)


def expanded_logistic() -> tuple:
    model = Logistic.mapped(*logistic_data(), prior_precision=1.0)
    controlled = Controlled.around(model, find_mode(model), stored=False)
    return controlled, ProxyStep.of(controlled, 0.9), controlled.centre


def hot_logistic() -> tuple:
    x, y = logistic_data()
    model = tempered(Logistic.from_data(x, y, 1.0), 4.0)
    controlled = Controlled.around(model, find_mode(model), 1)
    return controlled, RandomWalk.isotropic(0.1, 4), controlled.centre


def heavy_expanded() -> tuple:
    """Heavy rows anywhere, also among the last ones, which take the places of those before."""
    x, y = logistic_data()
    model = Logistic.mapped(np.vstack([x, 3.0 * x[:40]]), np.concatenate([y, y[:40]]), prior_precision=1.0)
    rows = np.r_[0:30, 100:105, N_DATA + 3 : N_DATA + 8]
    controlled = Controlled.around(model, find_mode(model), stored=False, heavy=rows)
    return controlled, ProxyStep.of(controlled, 0.9), controlled.centre


def heavy_hot() -> tuple:
    x, y = logistic_data()
    model = tempered(Logistic.from_data(np.vstack([x, 3.0 * x[:40]]), np.concatenate([y, y[:40]]), 1.0), 4.0)
    controlled = Controlled.around(model, find_mode(model), 1, heavy=40)
    return controlled, RandomWalk.isotropic(0.1, 4), controlled.centre


def ica() -> tuple:
    rows = whiten(np.random.default_rng(2).laplace(size=(N_DATA, 3))).rows
    return ICA.from_data(rows), StiefelWalk(0.03, 3), np.eye(3).ravel()


def mixture() -> tuple:
    model = Mixture.from_data(draw_mixture(np.random.default_rng(3), N_DATA), temperature=10.0)
    return model, RandomWalk.isotropic(0.1, 2), np.array([0.0, 1.0])


def lasso() -> tuple:
    model = Lasso.from_data(*draw_line(np.random.default_rng(4), N_DATA), penalty=300.0)
    return model, RandomWalk.isotropic(0.02, 1), np.array([0.3])


def langevin() -> tuple:
    model, _, start = lasso()
    return model, Langevin(model, step=2e-4, batch=300), start


def hot_langevin() -> tuple:
    model = tempered(lasso()[0], 3.0)
    return model, Langevin(model, step=5e-4, batch=N_DATA), np.array([0.3])


HEAVY = (heavy_expanded, heavy_hot)
CHAINS = (mapped_logistic, expanded_logistic, hot_logistic, *HEAVY, ica, mixture, lasso, langevin, hot_langevin)
TESTS = {
    "sequential": (SequentialTest.from_design(Design(N_DATA, 150, 0.05)), "metropolis"),
    "exact": (ExactTest(), "metropolis"),
    "sequential, Barker's rule": (SequentialTest.from_design(Design(N_DATA, 100, 0.1)), "barker"),
    "exact, Barker's rule": (ExactTest(), "barker"),
    "Barker minibatch": (BarkerTest(m=100), "barker"),
    "Barker minibatch, S17's table": (BarkerTest(m=100, table=ridge_correction(1.0, 200, 10.0)), "barker"),
    "Barker minibatch, S17's δ": (BarkerTest(m=100, delta=0.35), "barker"),
}


@pytest.mark.parametrize("parts", CHAINS)
@pytest.mark.parametrize("name", TESTS)
def test_the_fused_chain_makes_the_same_decisions_as_the_protocols(parts, name):
    (model, proposal, start), (test, rule) = parts(), TESTS[name]
    assert fused_parts(model, proposal, test, rule) is not None
    fast, slow = (
        Chain(model, proposal, test, start, np.random.default_rng(5), rule, fuse=fuse).advance(150)
        for fuse in (True, False)
    )
    np.testing.assert_array_equal(fast.accepted, slow.accepted)
    np.testing.assert_array_equal(fast.n_used, slow.n_used)
    np.testing.assert_array_equal(fast.n_looks, slow.n_looks)
    np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-9, atol=1e-12)
    assert 0 < fast.accepted.sum() < 150 or fast.n_used.max() > 150


@pytest.mark.parametrize("parts", CHAINS)
def test_the_exact_test_knows_the_log_likelihood_of_all_data(parts):
    """One logarithm for 256 data and the proxies' known sum against every datum's own."""
    model, proposal, start = parts()
    theta = start if type(model) is ICA else start + 0.1
    data, _, test = fused_parts(model, proposal, ExactTest())
    begin(data, test, theta)
    values = model.log_likelihood(theta, np.arange(N_DATA))
    assert test.totals[0] == pytest.approx(math.fsum(values), rel=1e-12, abs=1e-12 * np.abs(values).sum())


@pytest.mark.parametrize("n_data", [2, 9, 256, 1003])
@pytest.mark.parametrize("size", [0.1, 30.0, 3e4])
def test_no_datum_is_left_out_of_the_sum_and_nothing_overflows(n_data, size):
    rng = np.random.default_rng(6)
    model = Logistic.from_data(size * rng.standard_normal((n_data, 5)), rng.random(n_data) < 0.5)
    data, _, test = fused_parts(model, RandomWalk.isotropic(0.1, 5), ExactTest())
    theta = rng.standard_normal(5)
    begin(data, test, theta)
    assert test.totals[0] == pytest.approx(math.fsum(model.log_likelihood(theta, np.arange(n_data))), rel=1e-13)


def exact_residual(old: float, new: float, centre: float) -> tuple[Decimal, Decimal]:
    """lᵢ and the change of its proxy, in 50 digits."""

    def value(eta: Decimal) -> Decimal:
        return -(1 + (-eta).exp()).ln()

    with localcontext(prec=50):
        a, b, c = (Decimal(float(x)) for x in (old, new, centre))
        slope = 1 / (1 + c.exp())
        return value(b) - value(a), (b - a) * (slope - slope * (1 - slope) * (a + b - 2 * c) / 2)


@pytest.mark.parametrize("size", [0.01, 1.0, 5.0, 30.0])
def test_terms_and_residuals_are_right_to_the_last_digits(size):
    """Residuals are small differences: what counts is the error of the terms that they are made of."""
    rng = np.random.default_rng(7)
    old = rng.normal(0.0, size, 301)
    new, centre = old + rng.normal(0.0, min(size, 1.0), (2, 301))
    terms, residuals, proxy = np.empty(301), np.empty(301), centre.copy()
    fill_residuals(old, new, 1.0, np.zeros(301), terms)
    fill_proxies(old, new, proxy, 1.0, 1.0)
    fill_residuals(old, new, 1.0, proxy, residuals)
    for k in range(301):
        term, change = exact_residual(old[k], new[k], centre[k])
        assert abs(Decimal(terms[k]) - term) < 2e-16 * (1.0 + abs(terms[k]))
        assert abs(Decimal(residuals[k]) - (term - change)) < 4e-16 * (1.0 + abs(terms[k]))


def test_terms_far_out_and_those_that_are_not_finite():
    old = np.array([0.0, 0.0, 0.0, -1e300, 800.0, -800.0, 0.0, np.nan])
    new = np.array([800.0, -800.0, np.inf, 1e300, 900.0, 800.0, -np.inf, 0.0])
    terms, log_2 = np.empty(8), math.log(2.0)
    fill_residuals(old, new, 1.0, np.zeros(8), terms)
    wanted = [log_2, log_2 - 800.0, log_2, 1e300, 0.0, 800.0, -np.inf, np.nan]
    np.testing.assert_allclose(terms, wanted, rtol=1e-15, atol=1e-300)


def test_what_is_not_built_in_goes_by_the_protocols():
    model, walk, _ = mixture()
    assert fused_parts(model, walk, ConcentrationTest()) is None
    assert fused_parts(model, walk, BarkerTest(skew_corrected=True), "barker") is None
    assert fused_parts(model, walk, BarkerTest()) is None  # Metropolis' rule: refused when it decides
    plain, step, _ = langevin()
    assert fused_parts(tempered(plain, 2.0), step, ExactTest()) is None  # gradients of another model


def test_a_matrix_that_is_not_orthonormal_is_refused_as_on_the_protocols():
    model, walk, start = ica()
    for fuse in (True, False):
        chain = Chain(model, walk, ExactTest(), 1.1 * start, np.random.default_rng(1), fuse=fuse)
        with pytest.raises(ValueError, match="must be an orthonormal matrix"):
            chain.advance(3)


def test_chains_made_in_threads_share_one_copy_of_the_rows(monkeypatch):
    x = np.random.default_rng(1).standard_normal((200, 2))
    controlled = Controlled.around(Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0), np.zeros(2))
    joined, ready = np.hstack, threading.Barrier(2)

    def slowly(arrays):
        time.sleep(0.05)  # long enough for the other thread to look
        return joined(arrays)

    def packed(_):
        ready.wait()
        return fused_model(controlled).rows

    monkeypatch.setattr(np, "hstack", slowly)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(packed, range(2))
    assert one is other
