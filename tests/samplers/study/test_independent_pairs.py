"""Moves of a chain with independent proposals, against the model's own terms, and their prediction against chains."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Design, independent_error
from samplers import Chain, Controlled, Logistic, ProxyStep, SequentialTest, find_mode, independent_pairs
from tests.cases import CASES


@pytest.fixture(scope="module")
def case():
    """A posterior on which coarse tests are visibly wrong."""
    data = CASES["near-separation"].data()
    model = Logistic.from_data(*data)
    proxied = Controlled.around(model, find_mode(model))
    return proxied, ProxyStep.of(proxied), CASES["near-separation"].reference()


@pytest.mark.parametrize("kind", [{}, {"degrees": 5.0}, {"profile": True}], ids=str)
def test_pairs_have_the_moments_of_the_model_s_terms(case, kind):
    model = case[0].with_heavy(20) if kind else case[0]
    proposal = ProxyStep.of(model, **kind)
    pairs = independent_pairs(model, proposal, np.random.default_rng(1), 40, 2)
    trial, theta = pairs.trial, pairs.states.theta
    some = np.argsort(-pairs.states.posterior[pairs.old])[:20]
    for k in some:
        old, new = theta[pairs.old[k]], theta[pairs.new[k]]
        terms = model.terms(old, new, np.arange(model.n_data))
        assert trial.mu[k] == pytest.approx(terms.mean(), rel=1e-6)
        assert trial.sigma[k] == pytest.approx(terms.std(), rel=1e-6)
        assert trial.skew[k] == pytest.approx((((terms - terms.mean()) / terms.std()) ** 3).mean(), rel=0.1, abs=0.1)
        log_q = proposal.log_density(new) - proposal.log_density(old)
        log_ratio = model.log_prior(old) - model.log_prior(new) + log_q
        assert trial.log_acceptance[k] == pytest.approx(terms.sum() - log_ratio, abs=1e-6)
    half = len(trial) // 2
    np.testing.assert_allclose(trial.log_acceptance[:half], -trial.log_acceptance[half:], atol=1e-12)


def test_few_data_are_all_kept():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 2))
    model = Logistic.from_data(x, rng.random(300) < 0.5, 1.0)
    proxied = Controlled.around(model, find_mode(model))
    pairs = independent_pairs(proxied, ProxyStep.of(proxied), rng, 30, 2)
    assert np.all(pairs.trial.residuals.weights == 1)
    k = int(np.argmax(pairs.states.posterior[pairs.old]))
    terms = proxied.terms(pairs.states.theta[pairs.old[k]], pairs.states.theta[pairs.new[k]], np.arange(300))
    np.testing.assert_allclose(np.sort(pairs.trial.residuals.pair(k).values), np.sort(terms), rtol=1e-6, atol=1e-12)


def test_a_visible_bias_is_predicted(case):
    """The chain loses the long tails of the posterior; the prediction knows by how much."""
    model, proposal, exact = case
    design = Design(model.n_data, 50, 0.5)
    effect = independent_error(design, independent_pairs(model, proposal, np.random.default_rng(1)))
    chains = [
        Chain(model, proposal, SequentialTest.from_design(design), model.centre, np.random.default_rng(seed))
        .advance(20_000)
        .theta[100:]
        for seed in range(4)
    ]
    means = np.array([(theta.mean(axis=0) - exact.mean) / exact.sd for theta in chains])
    se = np.sqrt(means.var(axis=0, ddof=1) / 4 + (exact.mean_se / exact.sd) ** 2 + effect.bias_se**2)
    assert np.abs(means.mean(axis=0)).max() > 0.12  # the chain is off
    assert effect.largest > 0.08  # and the prediction says so
    assert effect.upper > np.abs(means.mean(axis=0)).max() - 0.02
    assert np.all(np.abs(means.mean(axis=0) - effect.bias) < 3.5 * se)


def test_proposals_that_depend_on_the_state_are_refused(case, refuses):
    model, _, _ = case
    rng = np.random.default_rng(1)
    refuses(lambda: independent_pairs(model, ProxyStep.of(model, 0.5), rng), "beta = 1")
