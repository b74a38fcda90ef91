"""Hierarchical models in the adapters: where to expand, and chains that sample effects and scales."""

import jax.numpy as jnp
import numpy as np
import pytest

from designer import Design
from designer.core.errors import BadInput
from samplers import Chain, ConditionalStep, Controlled, ProxyStep, SequentialTest, find_mode, from_jax

GROUPS, EACH, SD = 12, 25, 0.5


def log_prior(theta):
    """Effects N(0, scale²), log scale N(0, 1): jointly without a mode."""
    scale = theta["log scale"]
    return -0.5 * jnp.sum(theta["b"] ** 2) * jnp.exp(-2.0 * scale) - GROUPS * scale - 0.5 * scale**2


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    effects = 0.3 * rng.standard_normal(GROUPS)
    group = np.repeat(np.arange(GROUPS), EACH)
    return {"y": effects[group] + SD * rng.standard_normal(group.size), "g": group}


@pytest.fixture(scope="module")
def model(data):
    def log_likelihood(theta, row):
        return -0.5 * ((row["y"] - theta["b"][row["g"]]) / SD) ** 2

    return from_jax(log_likelihood, log_prior, data, {"b": np.zeros(GROUPS), "log scale": 0.0})


@pytest.fixture(scope="module")
def exact(data):
    """Log scale on a grid, with its marginal posterior: group means are N(0, scale² + sd²/n)."""
    means = np.array([data["y"][data["g"] == k].mean() for k in range(GROUPS)])
    grid = np.linspace(-4.0, 2.0, 3001)
    variance = np.exp(2.0 * grid)[:, None] + SD**2 / EACH
    log_density = -0.5 * grid**2 - 0.5 * np.sum(means**2 / variance + np.log(variance), axis=1)
    weight = np.exp(log_density - log_density.max())
    shrunk = np.exp(2.0 * grid)[:, None] / variance * means
    return grid, weight / weight.sum(), shrunk


def test_scales_at_their_marginal_maximum_and_effects_given_them(model, exact):
    grid, weight, shrunk = exact
    found = find_mode(model)
    best = int(weight.argmax())
    assert found[-1] == pytest.approx(grid[best], abs=0.01)
    np.testing.assert_allclose(found[:-1], shrunk[best], atol=0.002)


def test_heavy_rows_need_no_joint_mode(model):
    assert Controlled.around(model, find_mode(model), heavy=5).n_heavy == 5


@pytest.mark.parametrize("beta", [1.0, 0.6])
def test_a_chain_samples_effects_and_scales(model, exact, beta):
    grid, weight, shrunk = exact
    proxied = Controlled.around(model, find_mode(model))
    proposal = ConditionalStep.of(proxied, beta)
    test = SequentialTest.from_design(Design(proxied.n_data, 50, 0.05))
    chain = Chain(proxied, proposal, test, proxied.centre, np.random.default_rng(2))
    draws = chain.advance(2500).theta[100:]
    mean = weight @ grid
    sd = np.sqrt(weight @ (grid - mean) ** 2)
    assert draws[:, -1].mean() == pytest.approx(mean, abs=0.2 * sd)  # a few hundred effective draws
    assert draws[:, -1].std() == pytest.approx(sd, rel=0.15)
    np.testing.assert_allclose(draws[:, :-1].mean(axis=0), weight @ shrunk, atol=0.02)


def test_proposals_alone_leave_the_conditional_invariant(model):
    """Without control variates' residuals (the model is normal) every step at fixed scales is accepted."""
    proxied = Controlled.around(model, find_mode(model))
    step = ConditionalStep.of(proxied, 1.0, scale_step=0.0)
    rng, theta = np.random.default_rng(3), proxied.centre
    for _ in range(5):
        proposed = step.propose(rng, theta)
        change = proxied.log_prior(proposed.theta) - proxied.log_prior(theta) - proposed.log_q
        change += proxied.terms(theta, proposed.theta, np.arange(proxied.n_data)).sum()
        assert change == pytest.approx(0.0, abs=1e-8)
        assert proposed.theta[-1] == theta[-1]
        theta = proposed.theta


def test_the_ratio_counts_moving_scales(model):
    """The reverse of a step has minus its log ratio."""
    proxied = Controlled.around(model, find_mode(model))
    step = ConditionalStep.of(proxied, 0.5)
    theta = proxied.centre
    rng = np.random.default_rng(4)
    proposed = next(each for each in (step.propose(rng, theta) for _ in range(20)) if each.theta[-1] != theta[-1])
    densities = []
    for state in (theta, proposed.theta):
        centre, factor = step.given(state)
        white = factor.T @ (state[:-1] - centre)
        densities.append(-0.5 * white @ white + np.log(np.diag(factor)).sum())
    assert proposed.log_q == pytest.approx(densities[1] - densities[0], abs=1e-9)


def test_refusals(model):
    proxied = Controlled.around(model, find_mode(model))
    with pytest.raises(BadInput, match="use ConditionalStep"):
        ProxyStep.of(proxied)
    with pytest.raises(BadInput, match="order 2"):
        ConditionalStep.of(Controlled.around(model, proxied.centre, 1))
    plain = from_jax(lambda a, row: -0.5 * (row - a) ** 2, lambda a: -0.5 * a**2, np.arange(9.0), 0.0)
    with pytest.raises(BadInput, match="use ProxyStep"):
        ConditionalStep.of(Controlled.around(plain, np.zeros(1)))


def test_the_centre_is_found_from_far_away():
    """Effects near 40, started with mean 0 and scale 1; the likelihood is not concave on the way."""
    rng = np.random.default_rng(5)
    effects, group = 40.0 + 5.0 * rng.standard_normal(8), np.arange(400) % 8

    def far_prior(theta):
        z = (theta["b"] - theta["mean"]) * jnp.exp(-theta["log scale"])
        known = -0.5 * (theta["mean"] / 100.0) ** 2 - 0.5 * (theta["log scale"] / 3.0) ** 2
        return known - 0.5 * jnp.sum(z**2) - 8.0 * theta["log scale"] - 0.5 * theta["log sd"] ** 2

    def log_likelihood(theta, row):
        z = (row["y"] - theta["b"][row["g"]]) * jnp.exp(-theta["log sd"])
        return -0.5 * z**2 - theta["log sd"]

    data = {"y": effects[group] + 3.0 * rng.standard_normal(400), "g": group}
    start = {"b": np.zeros(8), "log scale": 0.0, "log sd": 0.0, "mean": 0.0}
    model = from_jax(log_likelihood, far_prior, data, start)
    found = model.unpack(find_mode(model))
    assert found["mean"] == pytest.approx(effects.mean(), abs=1.0)
    assert np.exp(found["log scale"]) == pytest.approx(effects.std(), rel=0.25)
    assert np.exp(found["log sd"]) == pytest.approx(3.0, rel=0.1)
