"""Fused chains against the protocols, draw for draw: every model, proposal, test and rule that is built in."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Design
from samplers.accept import BarkerTest, ConcentrationTest, ExactTest, SequentialTest, ridge_correction
from samplers.chain import Chain, fused_parts
from samplers.control import Controlled, find_mode
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


CHAINS = (mapped_logistic, expanded_logistic, hot_logistic, ica, mixture, lasso, langevin, hot_langevin)
TESTS = {
    "sequential": (SequentialTest.from_design(Design(N_DATA, 150, 0.05)), "metropolis"),
    "exact": (ExactTest(), "metropolis"),
    "sequential, Barker's rule": (SequentialTest.from_design(Design(N_DATA, 100, 0.1)), "barker"),
    "exact, Barker's rule": (ExactTest(), "barker"),
    "Barker minibatch": (BarkerTest(m=100), "barker"),
    "Barker minibatch, S17's table": (BarkerTest(m=100, table=ridge_correction(1.0, 200, 10.0)), "barker"),
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
