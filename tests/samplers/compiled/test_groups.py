"""Chains with group effects: compiled blocks make the decisions of the readable chain, draw for draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from designer import Design
from samplers.chains.chain import Chain
from samplers.decide import ExactMinibatchTest, ExactTest, SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.glm import glm_model
from samplers.models.groups import Groups
from samplers.proposals import ArrowStep

N = 3000


@pytest.fixture(scope="module")
def model():
    """Two coefficients, an offset, intercept and slope of 12 towns, effects of 5 agents."""
    rng = np.random.default_rng(1)
    x, offset = rng.standard_normal((N, 2)), 0.3 * rng.standard_normal(N)
    town, agent = rng.permutation(N) % 12, rng.permutation(N) % 5
    eta = x @ [0.5, -1.0] + offset + rng.standard_normal(12)[town] + 0.5 * rng.standard_normal(5)[agent]
    groups = [Groups(town, np.column_stack([np.ones(N), x[:, 0]]), "town"), Groups(agent, name="agent", scale=1.0)]
    return glm_model(x, rng.random(N) < expit(eta), prior=0.5, offset=offset, groups=groups)


@pytest.mark.parametrize("heavy", [0, 40])
@pytest.mark.parametrize("kind", ["sequential", "exact minibatch"])
def test_fused_and_readable_chains_are_the_same(model, kind, heavy):
    proxied = Controlled.around(model, find_mode(model), heavy=heavy)
    test = SequentialTest.from_design(Design(N - heavy, 100, 0.01)) if kind == "sequential" else ExactMinibatchTest()
    chains = [
        Chain(proxied, ArrowStep.of(proxied, 0.9), test, proxied.centre, np.random.default_rng(2), fuse=fuse)
        for fuse in (True, False)
    ]
    assert chains[0]._fused is not None
    fused, readable = (chain.advance(150) for chain in chains)
    for name in ("accepted", "n_used", "n_looks"):
        np.testing.assert_array_equal(getattr(fused, name), getattr(readable, name))
    np.testing.assert_allclose(fused.theta, readable.theta, rtol=1e-9, atol=1e-11)
    assert 0.3 < fused.accepted.mean() < 0.95
    assert np.unique(fused.theta[:, -1]).size == 150  # scales are drawn after every decision
    np.testing.assert_array_equal(chains[0].rng.random(3), chains[1].rng.random(3))


def test_blocks_of_any_size_and_a_restored_state_give_the_same_draws(model):
    proxied = Controlled.around(model, find_mode(model))
    parts = proxied, ArrowStep.of(proxied), ExactMinibatchTest()
    whole = Chain(*parts, proxied.centre, np.random.default_rng(3))
    pieces = Chain(*parts, proxied.centre, np.random.default_rng(3))
    first = pieces.advance(17)
    state = pieces.state()
    pieces.advance(5)
    pieces.restore(state)
    np.testing.assert_array_equal(whole.advance(60).theta, np.concatenate([first.theta, pieces.advance(43).theta]))


def test_the_exact_test_agrees_with_the_model_itself(model):
    """A decision with control variates is that of the plain model: readable chains with the same random numbers."""
    proxied = Controlled.around(model, find_mode(model))
    proposal = ArrowStep.of(proxied, 0.8)
    one, other = (
        Chain(given, proposal, ExactTest(), proxied.centre, np.random.default_rng(4), fuse=False).advance(60)
        for given in (proxied, model)
    )
    np.testing.assert_array_equal(one.accepted, other.accepted)
    np.testing.assert_allclose(one.theta, other.theta)
    assert 5 < one.accepted.sum() < 55


def test_shapes_must_be_fixed(refuses):
    x, groups = np.ones((4, 1)), [Groups([0, 1, 0, 1])]
    refuses(lambda: glm_model(x, [1.0, 2.0, 0.5, 1.0], "gaussian", groups=groups), "sigma", "fixed shape")
    refuses(lambda: glm_model(x, [0, 1, 2, 1], "softmax", groups=groups), "softmax")
    assert glm_model(x, [1.0, 2.0, 0.5, 1.0], "gaussian", sigma=1.0, prior=1.0, groups=groups).dimension == 4
