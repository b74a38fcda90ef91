"""Trial runs: what is collected is what the engine needs."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Design
from designer.pairs.diagnostics import summarise
from samplers.chains.chain import Chain
from samplers.chains.draws import ChainStopped
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.study import observe as observe_module
from samplers.study.observe import observe, spacing

N_DATA = 4000


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(8)
    x = rng.standard_normal((N_DATA, 3))
    y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ np.array([0.3, -0.5, 0.1])))
    model = Logistic.from_data(x, y, prior_precision=1.0)
    mode = find_mode(model)
    covariance = np.linalg.inv(Controlled.around(model, mode).posterior_precision())
    return model, RandomWalk.with_covariance(covariance, 1.0), mode


def test_observing_does_not_change_the_chain(parts):
    model, walk, mode = parts
    test = SequentialTest.from_design(Design(N_DATA, 200, 0.05))
    one, other = (Chain(model, walk, test, mode, np.random.default_rng(1)) for _ in range(2))
    seen, plain = observe(one, 95, every=10), other.advance(95)
    np.testing.assert_array_equal(seen.draws.accepted, plain.accepted)
    np.testing.assert_allclose(seen.draws.theta, plain.theta, rtol=1e-9)
    assert len(seen.pairs) == 9


def test_pairs_are_the_moments_of_the_proposals(parts):
    model, walk, mode = parts
    chain = Chain(model, walk, ExactTest(), mode, np.random.default_rng(2))
    seen = observe(chain, 40, every=1)
    assert all(pair.accepted == pair.exact for pair in seen.pairs)
    assert [pair.accepted for pair in seen.pairs] == seen.draws.accepted.tolist()
    trial = seen.trial(N_DATA)
    # the first proposal can be made again from the same random numbers
    new = walk.propose(np.random.default_rng(2), mode).theta
    terms = model.terms(mode, new, np.arange(N_DATA))
    assert trial.mu[0] == pytest.approx(terms.mean())
    assert trial.sigma[0] == pytest.approx(terms.std())
    assert trial.skew[0] == pytest.approx((((terms - terms.mean()) / terms.std()) ** 3).mean())
    assert trial.log_ratio[0] == pytest.approx(0.5 * (new @ new - mode @ mode))


@pytest.mark.parametrize("beta", [None, 1.0, 0.4])
def test_an_exact_step_makes_its_pair_without_another_pass(parts, beta, monkeypatch):
    """The lᵢ of the decision itself give the same pairs as lᵢ that are computed again."""
    model, walk, mode = parts
    proxied = Controlled.around(model, mode)
    proposal = walk if beta is None else ProxyStep.of(proxied, beta)
    data = model if beta is None else proxied

    def pairs():
        chain = Chain(data, proposal, ExactTest(), mode, np.random.default_rng(2))
        seen = observe(chain, 30, every=1)
        assert 0 < seen.draws.accepted.sum() < 30 or beta is not None  # moves and stays
        return seen.trial(N_DATA)

    again = pytest.MonkeyPatch()
    again.setattr(Chain, "known_terms", lambda *_: None)
    slow = pairs()
    again.undo()
    calls = []
    monkeypatch.setattr(type(data), "terms", lambda *_: calls.append(1))  # only checks once that they agree
    monkeypatch.setattr("samplers.chains.likelihood_cache.Likelihoods._check", lambda *_: None)
    fast = pairs()
    assert not calls
    for name, column in slow.columns.items():
        np.testing.assert_allclose(fast.columns[name], column, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("beta", "steps"), [(1.0, 1), (0.99, 1), (0.9, 2), (0.5, 10), (0.1, 10)])
def test_pairs_are_as_close_as_the_proposal_allows(parts, beta, steps):
    model, walk, mode = parts
    assert spacing(ProxyStep.of(Controlled.around(model, mode), beta)) == steps
    assert spacing(walk) == 10


def test_proposals_outside_the_support_give_no_pair(parts):
    model, walk, mode = parts

    class Positive(Logistic):
        def log_prior(self, theta):
            return -np.inf if theta[0] < mode[0] else 0.0

    chain = Chain(Positive(model.rows, 1.0), walk, ExactTest(), mode, np.random.default_rng(7))
    seen = observe(chain, 100, every=1)
    assert 10 < len(seen.pairs) < 90
    assert len(seen.trial(N_DATA)) == len(seen.pairs)


def test_residuals_that_are_not_kept_are_told(monkeypatch):
    """A trial run keeps those of at most so many pairs: all or none."""
    monkeypatch.setattr(observe_module, "MOST_KEPT", 8)
    x = np.random.default_rng(0).standard_normal((300, 2))
    model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    chain = Chain(model, RandomWalk.isotropic(0.2, 2), ExactTest(), np.zeros(2), np.random.default_rng(1))
    few, many = (observe(chain, pairs, every=1).trial(300) for pairs in (8, 9))
    assert few.residuals is not None and "no_residuals" not in few.notes
    assert many.residuals is None
    told = [remark for remark in summarise(many).remarks if "no residuals" in remark]
    assert told == ["no residuals, which predictions at small m need: they are kept of at most 8 pairs"]


def test_a_term_that_is_not_finite_is_named_by_its_row():
    """Heavy rows are not data of a test, so that its numbers are not those of the rows."""
    x = np.random.default_rng(0).standard_normal((300, 2))
    model = Logistic.from_data(x, x[:, 0] > 0, prior_precision=1.0)
    proxied = Controlled.around(model, find_mode(model)).with_heavy(20)
    bad = int(proxied.heavy[0])  # a number among the sampled rows, and another row
    assert proxied.row_number(bad) != bad

    class Broken(type(proxied)):
        """One term is not a number."""

        def terms(self, theta, theta_new, indices):
            values = np.array(super().terms(theta, theta_new, indices))
            return np.where(np.asarray(indices) == bad, np.nan, values)

    object.__setattr__(proxied, "__class__", Broken)
    test = SequentialTest.from_design(Design(proxied.n_data, 20, 0.5))
    chain = Chain(proxied, ProxyStep.of(proxied), test, proxied.centre, np.random.default_rng(1))
    with pytest.raises(ChainStopped, match=f"datum {proxied.row_number(bad)} is not finite"):
        observe(chain, 50, every=1)
