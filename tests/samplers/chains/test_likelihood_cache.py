"""Log-likelihoods kept per datum: the same decisions from half the evaluations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from designer import BadInput
from samplers.chains.chain import Chain
from samplers.chains.draws import ChainStopped
from samplers.decide import ExactTest
from samplers.models.control import Controlled, find_mode
from samplers.models.lasso import Lasso, draw_line
from samplers.models.logistic import Logistic
from samplers.models.mixture import Mixture, draw_mixture
from samplers.proposals import Proposed, ProxyStep, RandomWalk
from samplers.study.observe import observe

N_DATA = 2000


class Counting:
    """A Poisson rate; counts the data it evaluates."""

    def __init__(self, cached: bool = True) -> None:
        self.counts, self.n_data, self.evaluated = np.random.default_rng(1).poisson(3.0, N_DATA), N_DATA, 0
        if cached:
            self.log_likelihood = self._log_likelihood

    def log_prior(self, theta):
        return -0.5 * float(theta @ theta)

    def terms(self, theta, theta_new, indices):
        return self._log_likelihood(theta_new, indices) - self._log_likelihood(theta, indices)

    def _log_likelihood(self, theta, indices):
        self.evaluated += indices.size
        return self.counts[indices] * theta[0] - np.exp(theta[0])


def advance(model, steps: int = 200):
    chain = Chain(model, RandomWalk.isotropic(0.03, 1), ExactTest(), [1.0], np.random.default_rng(2), fuse=False)
    return chain, chain.advance(steps)


def test_each_datum_is_evaluated_once_per_step():
    plain, kept = Counting(cached=False), Counting()
    (_, slow), (_, fast) = advance(plain), advance(kept)
    for one, other in zip(slow, fast, strict=True):
        np.testing.assert_array_equal(one, other)
    assert 20 < fast.accepted.sum() < 180
    assert plain.evaluated == 200 * 2 * N_DATA
    assert kept.evaluated <= 201 * N_DATA + 100


def test_a_move_without_data_costs_no_evaluations():
    """The second parameter is in the prior alone; `refresh` draws it anew after every decision."""

    class Scaled(Counting):
        def log_prior(self, theta):
            return -math.inf if theta[0] < 1.0 else -0.5 * float(theta @ theta)

        def refresh(self, rng, theta):
            return np.array([theta[0], rng.standard_normal()])

    plain, kept = Scaled(cached=False), Scaled()
    draws = []
    for model in (plain, kept):
        chain = Chain(model, FirstOnly(), ExactTest(), [1.05, 0.0], np.random.default_rng(2))
        observed = observe(chain, 200, every=20)
        draws.append(observed.draws)
    for one, other in zip(*draws, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.unique(draws[0].theta[:, 1]).size == 200
    assert np.unique(draws[0].theta[:, 0]).size == 1 + draws[0].accepted.sum() - draws[0].accepted[0] < 180
    assert kept.evaluated <= 201 * N_DATA + 100


class FirstOnly:
    def propose(self, rng, theta):
        return Proposed(theta + np.array([0.03 * rng.standard_normal(), 0.0]), 0.0)


def logistic() -> Logistic:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((N_DATA, 2))
    return Logistic.from_data(x, rng.random(N_DATA) < 0.5, prior_precision=1.0)


def controlled() -> Controlled:
    return Controlled.around(logistic(), find_mode(logistic()))


@pytest.mark.parametrize("model", [
    logistic(), controlled(), Lasso.from_data(*draw_line(np.random.default_rng(4), N_DATA), penalty=100.0),
    Mixture.from_data(draw_mixture(np.random.default_rng(5), N_DATA), temperature=5.0),
])  # fmt: skip
def test_built_in_models_decide_as_without_the_cache(model):
    class Plain:
        n_data, log_prior, terms = model.n_data, model.log_prior, model.terms

    draws = []
    for which in (model, Plain()):
        walk = RandomWalk.isotropic(0.05, model.dimension)
        chain = Chain(which, walk, ExactTest(), np.full(model.dimension, 0.1), np.random.default_rng(6), fuse=False)
        draws.append(chain.advance(300))
        assert (chain._likelihoods is None) == isinstance(which, Plain)
    np.testing.assert_array_equal(draws[0].accepted, draws[1].accepted)
    np.testing.assert_array_equal(draws[0].theta, draws[1].theta)


def test_a_state_set_from_outside_is_noticed():
    """A resumed chain gets its theta from a checkpoint."""
    chain, _ = advance(Counting(), 50)
    other, _ = advance(Counting(cached=False), 50)
    for each in (chain, other):
        each.theta = np.array([1.2])
    np.testing.assert_array_equal(chain.advance(50).theta, other.advance(50).theta)


def test_other_control_variates_are_noticed():
    base = logistic()
    centre = find_mode(base)
    model = Controlled.around(base, centre)
    chain = Chain(model, ProxyStep.of(model), ExactTest(), centre, np.random.default_rng(1), fuse=False)
    chain.advance(20)
    far = model.recentred(centre + 0.2)
    chain.use(ProxyStep.of(far), far)
    twin = Chain(far, ProxyStep.of(far), ExactTest(), chain.theta, np.random.default_rng(9), fuse=False)
    chain.rng = np.random.default_rng(9)
    np.testing.assert_array_equal(chain.advance(50).theta, twin.advance(50).theta)


def test_a_log_likelihood_that_is_not_that_of_the_terms_is_refused():
    class Steeper(Counting):
        def terms(self, theta, theta_new, indices):
            return 2.0 * super().terms(theta, theta_new, indices)

    with pytest.raises(BadInput, match="log_likelihood: its differences are not what terms returns"):
        advance(Steeper())


def test_what_is_not_finite_is_named():
    model = Counting()
    model.counts = model.counts.astype(float)
    model.counts[123] = np.inf
    with pytest.raises(ChainStopped, match="datum 123"):
        advance(model)
