"""Chains with the exact mini-batch test: the fused block, the exact posterior, bounds that are wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from samplers.chains.chain import Chain
from samplers.chains.draws import ChainStopped
from samplers.compiled.build import fused_parts
from samplers.decide import AliasTable, ExactMinibatchTest, ExactTest, TermBounds
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.models.tempered import tempered
from samplers.proposals import ProxyStep, RandomWalk
from tests.samplers.chains.test_geweke import in_standard_errors

N_DATA, DIMENSION = 400, 3
ALWAYS = 1e12  # `most` of a test that draws rows however many they are


def data(n_data: int = N_DATA, dimension: int = DIMENSION, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_data, dimension)).astype(np.float32)
    return x, rng.random(n_data) < 1.0 / (1.0 + np.exp(-1.5 * x[:, 0] - 0.5))


def packed() -> Controlled:
    model = Logistic.from_data(*data(), prior_precision=1.0)
    return Controlled.around(model, find_mode(model))


def first_order() -> Controlled:
    model = Logistic.from_data(*data(), prior_precision=1.0)
    return Controlled.around(model, find_mode(model), 1)


def mapped() -> Controlled:
    model = Logistic.mapped(*data(), prior_precision=1.0)
    return Controlled.around(model, find_mode(model) + 0.05, stored=False)


def hot() -> Controlled:
    model = tempered(Logistic.from_data(*data(), prior_precision=1.0), 5.0)
    return Controlled.around(model, find_mode(model))


def narrow() -> Controlled:
    return replace(packed(), radius=1.5)  # about half of all states are outside


def heavy() -> Controlled:
    model = Logistic.from_data(*data(), prior_precision=1.0)
    return Controlled.around(model, find_mode(model), heavy=30)


def heavy_mapped() -> Controlled:
    model = Logistic.mapped(*data(), prior_precision=1.0)
    return Controlled.around(model, find_mode(model), stored=False, heavy=[3, 77, 398])


MODELS = {function.__name__: function for function in (packed, first_order, mapped, hot, narrow, heavy, heavy_mapped)}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("walking", [False, True])
def test_the_fused_chain_makes_the_same_decisions_as_the_protocols(name, walking):
    model = MODELS[name]()
    proxies = model if model.order == 2 else Controlled.around(model.model, model.centre)
    proposal = (
        RandomWalk.with_covariance(np.linalg.inv(proxies.posterior_precision()))
        if walking
        else ProxyStep.of(proxies, 0.9)
    )
    test = ExactMinibatchTest(chi=0.5 if name == "hot" else 0.0, most=ALWAYS)
    rule = "barker" if name == "mapped" else "metropolis"
    assert fused_parts(model, proposal, test, rule) is not None
    fast, slow = (
        Chain(model, proposal, test, model.centre + 0.1, np.random.default_rng(2), rule, fuse=fuse).advance(300)
        for fuse in (True, False)
    )
    np.testing.assert_array_equal(fast.accepted, slow.accepted)
    np.testing.assert_array_equal(fast.n_used, slow.n_used)
    np.testing.assert_array_equal(fast.n_looks, slow.n_looks)
    np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-9, atol=1e-12)
    assert 0 < fast.accepted.sum() < 300
    everything = np.mean(fast.n_used == N_DATA)
    assert fast.n_used.min() >= model.n_heavy  # which every step reads
    assert 0.2 < everything < 0.95 if name == "narrow" else everything < 0.05
    assert fast.n_used.max() > 0


def test_blocks_of_any_length_make_the_same_draws():
    """What the compiled test keeps about the state survives a block, and is made again after an interruption."""
    model = packed()
    parts = model, ProxyStep.of(model, 0.7), ExactMinibatchTest(), model.centre
    whole = Chain(*parts, np.random.default_rng(3)).advance(200).theta
    chain = Chain(*parts, np.random.default_rng(3))
    pieces = [chain.advance(70).theta]
    state = chain.state()
    chain.theta += 0.01  # as if the chain had been elsewhere
    chain.advance(5)
    chain.restore(state)
    pieces += [chain.advance(1).theta, chain.advance(129).theta]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_another_centre_brings_its_own_bounds():
    """As in warm-up: the control variates move, and the chain goes on with bounds around the new centre."""
    model = packed()
    moved = model.recentred(model.centre + 0.2)
    chain = Chain(model, ProxyStep.of(model, 0.5), ExactMinibatchTest(), model.centre, np.random.default_rng(4))
    chain.advance(10)
    chain.use(ProxyStep.of(moved, 0.5), moved)
    fresh = Chain(moved, ProxyStep.of(moved, 0.5), ExactMinibatchTest(), chain.theta, np.random.default_rng(0))
    fresh.restore(chain.state())
    np.testing.assert_array_equal(chain.advance(100).n_used, fresh.advance(100).n_used)


# --- the posterior is exact -------------------------------------------------------------------------------------------


def skewed(seed: int) -> Logistic:
    """Few data, rare events, long tails: posteriors far from normal."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 4))
    x = rng.standard_t(4, (n, d))
    x[:, 0] = 1.0
    y = np.arange(n) < max(1, n // 8)  # mostly zeros
    return Logistic.from_data(x, y, prior_precision=float(rng.uniform(0.1, 0.5)))


def moments_of(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean, square and cube of each parameter, with their standard errors by batch means."""
    white = (theta - theta.mean(axis=0)) / theta.std(axis=0)
    values = np.concatenate([theta, white**3], axis=1)
    batches = values.reshape(50, -1, values.shape[1]).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(50)


@pytest.mark.parametrize("seed", range(10))
def test_skewed_posteriors_are_those_of_all_data(seed):
    """Means and skewness within 3 standard errors, for proxy proposals and random walks, wide balls and narrow ones."""
    model = skewed(seed)
    controlled = Controlled.around(model, find_mode(model), order=2 - (seed in (4, 9)))
    controlled = replace(controlled, radius=(None, 1.0, 2.5)[seed % 3])
    walk = RandomWalk.with_covariance(np.linalg.inv(Controlled.around(model, controlled.centre).posterior_precision()))
    proposal = ProxyStep.of(controlled, 0.7) if controlled.order == 2 and seed % 2 else walk
    steps, found = 30_000, {}
    for test in (ExactTest(), ExactMinibatchTest(most=ALWAYS)):
        chain = Chain(controlled, proposal, test, controlled.centre, np.random.default_rng(100 + seed))
        draws = chain.advance(steps)
        found[type(test)] = *moments_of(draws.theta), draws
    (mean, se, exact), (other, other_se, sampled) = found.values()
    assert np.all(np.abs(mean - other) < 3.0 * np.hypot(se, other_se))
    assert np.abs(mean[model.dimension :]).max() > 0.1  # skewed
    assert sampled.accepted.mean() < exact.accepted.mean()  # the price
    everything = np.mean(sampled.n_used == model.n_data)
    assert everything > 0.05 if seed % 3 == 1 else True  # the narrow ball is left often


@pytest.mark.parametrize(("fuse", "radius"), [(True, 1.0), (True, None), (False, 2.0)])
def test_theta_keeps_its_prior(fuse, radius):
    """Geweke's joint test: finds errors in bounds, drawing, keeping and falling back at once."""
    rng = np.random.default_rng(12)
    x, theta = rng.standard_normal((12, 2)), rng.standard_normal(2)

    def values() -> np.ndarray:
        nonlocal theta
        y = rng.random(12) < 1.0 / (1.0 + np.exp(-x @ theta))
        model = Controlled.around(Logistic.from_data(x, y, prior_precision=1.0), np.array([0.2, 0.1]))
        model = replace(model, radius=radius)
        test = ExactMinibatchTest(most=ALWAYS)
        chain = Chain(model, ProxyStep.of(model, 0.8), test, theta, rng, fuse=fuse)
        chain.advance(3)
        theta = chain.theta
        return np.concatenate([theta, theta**2 - 1.0, theta[:1] * theta[1:]])

    assert np.all(np.abs(in_standard_errors(values, 2000)) < 4.0)


class Doubled(ExactMinibatchTest):
    """A wrong test: keeps the rows that it should leave."""

    def decide(self, rng, comparison):
        return super().decide(rng, replace(comparison, terms=lambda indices: -comparison.terms(indices)))


def test_a_wrong_test_is_found_out():
    """The comparison can fail: with the residuals' sign changed, the means are those of another posterior."""
    model = skewed(3)
    controlled = Controlled.around(model, find_mode(model))
    proposal = ProxyStep.of(controlled, 0.7)
    right, wrong = (
        moments_of(Chain(controlled, proposal, test, controlled.centre, np.random.default_rng(5)).advance(12_000).theta)
        for test in (ExactMinibatchTest(most=ALWAYS), Doubled(most=ALWAYS))
    )
    assert np.abs((right[0] - wrong[0]) / np.hypot(right[1], wrong[1])).max() > 6.0


# --- bounds that are wrong, models of one's own -----------------------------------------------------------------------


@pytest.mark.parametrize("fuse", [True, False])
def test_a_broken_bound_stops_the_chain_and_names_the_datum(fuse):
    model = packed()
    bounds = model.residual_bounds
    weights = bounds.weights.weights.copy()
    weights[:5] *= 1e-3  # too small: each is drawn rarely, but noticed when it is
    vars(model)["residual_bounds"] = replace(bounds, weights=AliasTable.of(weights))
    test = ExactMinibatchTest(chi=1e3, most=ALWAYS)  # many rows
    chain = Chain(model, ProxyStep.of(model), test, model.centre, np.random.default_rng(6), fuse=fuse)
    with pytest.raises(ChainStopped, match=r"the term of datum \d, .* exceeds the model's bound .* at θ = ") as caught:
        chain.advance(20_000)
    assert caught.value.index in range(5)
    assert caught.value.draws.theta.shape[0] == caught.value.step == chain.steps


@pytest.mark.parametrize("stored", [True, False])
def test_with_heavy_rows_the_bounds_are_of_the_others_and_a_broken_one_names_its_row(stored):
    """Row 398 takes the place of a heavy row among the data; C falls by the weights of the heavy rows."""
    plain = Logistic.from_data(*data(), prior_precision=1.0)
    mode = find_mode(plain)
    whole = Controlled.around(plain, mode).residual_bounds.weights.weights
    model = Controlled.around(plain, mode, stored=stored, heavy=[3, 5])
    bounds = model.residual_bounds
    rest = model.split.rows_of(np.arange(model.n_data))
    assert bounds.weights.weights == pytest.approx(whole[rest], rel=1e-9)
    weights = bounds.weights.weights.copy()
    place = int(np.flatnonzero(rest == 398)[0])
    assert place != 398
    weights[place] *= 1e-2
    vars(model)["residual_bounds"] = replace(bounds, weights=AliasTable.of(weights))
    test = ExactMinibatchTest(chi=1e3, most=ALWAYS)
    chain = Chain(model, ProxyStep.of(model), test, model.centre, np.random.default_rng(6))
    with pytest.raises(ChainStopped, match="the term of datum 398, ") as caught:
        chain.advance(20_000)
    assert caught.value.index == 398


class Mean:
    """Mean of normal data, prior N(0, 1): |lᵢ| <= |θ' - θ| (|xᵢ| + 3) for |θ|, |θ'| <= 3."""

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.n_data, self.weights = x, x.size, AliasTable.of(np.abs(x) + 3.0)

    def log_prior(self, theta):
        return -0.5 * float(theta @ theta)

    def terms(self, theta, theta_new, indices):
        return (theta_new[0] - theta[0]) * (self.x[indices] - 0.5 * (theta[0] + theta_new[0]))

    def bounds(self, theta, theta_new):
        inside = max(abs(theta[0]), abs(theta_new[0])) <= 3.0
        return TermBounds(self.weights, abs(theta_new[0] - theta[0]) if inside else np.inf)


def test_a_model_may_give_its_own_bounds():
    x = np.random.default_rng(7).normal(0.5, 1.0, 6)
    chain = Chain(
        Mean(x), RandomWalk.isotropic(0.8, 1), ExactMinibatchTest(most=ALWAYS), [0.0], np.random.default_rng(8)
    )
    theta = chain.advance(20_000).theta
    mean, se = moments_of(theta)
    assert abs(mean[0] - x.sum() / 7.0) < 4.0 * se[0]
    assert theta.var() == pytest.approx(1.0 / 7.0, rel=0.1)


def test_models_without_bounds_are_refused(refuses):
    model = packed().model
    chain = Chain(model, RandomWalk.isotropic(0.1, 3), ExactMinibatchTest(), np.zeros(3), np.random.default_rng(9))
    refuses(lambda: chain.advance(1), "exact mini-batch test needs bounds", "control variates")
