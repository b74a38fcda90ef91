"""Models without a linear predictor get everything that control variates offer, and agree with linear ones."""

import numpy as np
import pytest

from designer import Design
from designer.core.errors import BadInput, NumericalFailure
from samplers import (
    Chain,
    Controlled,
    ExactMinibatchTest,
    Logistic,
    ProxyStep,
    SequentialTest,
    certify,
    choose_proposal,
    find_mode,
    independent_pairs,
    laplace_verdict,
    predict_minibatch,
    tempered,
    weighted_draws,
)
from samplers.adapt.recentre import Recentring
from samplers.models import SmoothModel
from samplers.models.control import heavy as heavy_module
from samplers.models.totals import log_posteriors
from tests.samplers.smooth_models import NormalData, SmoothLogistic


@pytest.fixture(scope="module")
def linear():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3000, 3))
    x[:, 2] = 0.0
    x[:6, 2] = 1.0  # a rare level
    y = rng.random(3000) < 1.0 / (1.0 + np.exp(-x[:, 0]))
    y[:6] = True
    return Logistic.from_data(x, y, prior_precision=0.5)


@pytest.fixture(scope="module")
def hidden(linear):
    return SmoothLogistic.of(linear.rows, np.ones(3000), 0.5)  # the labels are in the rows


@pytest.fixture(scope="module")
def both(linear, hidden):
    mode = find_mode(linear)
    return Controlled.around(linear, mode), Controlled.around(hidden, mode)


def test_the_twin_is_smooth_and_not_linear(hidden):
    assert isinstance(hidden, SmoothModel)
    assert not hasattr(hidden, "rows")


def test_mode(linear, hidden):
    np.testing.assert_allclose(find_mode(hidden), find_mode(linear), atol=1e-6)
    np.testing.assert_allclose(find_mode(hidden, np.array([8.0, -9.0, 30.0])), find_mode(linear), atol=1e-6)


@pytest.mark.parametrize("start", [[0.0, 0.0], [50.0, 3.0], [-200.0, -2.0], [0.0, 6.0]])
def test_mode_where_the_posterior_is_not_concave(start):
    x = np.random.default_rng(2).normal(3.0, 2.0, 500)
    found = find_mode(NormalData(x), np.array(start))
    np.testing.assert_allclose(found, [x.mean(), np.log(x.std())], atol=2e-3)  # the prior is weak


def test_a_scale_that_runs_to_0_is_refused():
    """Equal data: the density at their common value grows for ever."""
    with pytest.raises(NumericalFailure, match=r"no mode.*log sd"):
        find_mode(Flat(np.ones(10)))


class Flat(NormalData):
    """Without a prior."""

    def log_prior(self, theta):
        return 0.0

    def prior_gradient(self, theta):
        return np.zeros(2)

    def prior_curvature(self, theta):
        return np.zeros((2, 2))


def test_start_must_be_possible():
    with pytest.raises(BadInput, match="start"):
        find_mode(NormalData(np.arange(10.0)), np.array([0.0, -1e9]))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("wish", [0, 10])
def test_terms_and_prior(linear, hidden, order, wish):
    """The same posterior, whichever rows are heavy: those of the twin are ranked by their residuals."""
    rng, mode = np.random.default_rng(4), find_mode(linear)
    one, other = (Controlled.around(model, mode, order, heavy=wish) for model in (linear, hidden))
    theta, new = mode + 0.1 * rng.standard_normal((2, 3))
    exact = linear.terms(theta, new, np.arange(3000)).sum() + linear.log_prior(new) - linear.log_prior(theta)
    for model in (one, other):
        total = model.terms(theta, new, np.arange(model.n_data)).sum()
        assert total + model.log_prior(new) - model.log_prior(theta) == pytest.approx(exact, abs=1e-9)
    if wish == 10:
        assert set(range(6)) <= set(one.heavy.tolist()) & set(other.heavy.tolist())  # the rare level


def test_heavy_rows_are_found_and_counted_on_other_draws(both, monkeypatch):
    linear, hidden = both
    monkeypatch.setattr(heavy_module, "LEAST_SAMPLE", 5.0)
    seeds = []
    original = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed=None: seeds.append(seed) or original(seed))
    chosen = hidden.with_heavy("auto")
    assert set(range(6)) <= set(chosen.heavy.tolist())
    assert len(seeds) == len(set(seeds)) == 2  # one to rank, another to choose H
    assert linear.with_heavy("auto").n_heavy > 0
    with pytest.raises(BadInput, match="third_bound"):
        hidden.with_heavy("bounds")


def test_weighted_draws_and_verdict(both):
    one, other = (weighted_draws(model, np.random.default_rng(5), 100) for model in both)
    np.testing.assert_allclose(one.log_weight, other.log_weight, atol=1e-8)
    np.testing.assert_allclose(one.gradient, other.gradient, atol=1e-8)
    verdicts = [laplace_verdict(model, np.random.default_rng(6)) for model in both]
    assert verdicts[0].sentence == verdicts[1].sentence


def test_log_posteriors(linear, hidden):
    states = np.random.default_rng(7).standard_normal((4, 3))
    np.testing.assert_allclose(log_posteriors(hidden, states), log_posteriors(linear, states), rtol=1e-12)


def test_independent_pairs(both):
    trials = [independent_pairs(model, ProxyStep.of(model), np.random.default_rng(8), 20).trial for model in both]
    for name in ("mu", "sigma", "log_ratio", "skew"):
        np.testing.assert_allclose(getattr(trials[0], name), getattr(trials[1], name), rtol=1e-6, atol=1e-10)


def test_choice_of_tails(both):
    hidden = both[1]
    chosen = choose_proposal(hidden)
    assert chosen.proposal.profile is None
    assert [one.degrees for one in chosen.candidates] == [np.inf, 50.0, 20.0, 10.0, 5.0]
    assert chosen.proposal.degrees < np.inf  # the rare level has a long tail
    assert choose_proposal(hidden, tails="normal").proposal.plain
    for profiled in (lambda: choose_proposal(hidden, profile=True), lambda: ProxyStep.of(hidden, profile=True)):
        with pytest.raises(BadInput, match="no linear predictor"):
            profiled()


@pytest.mark.parametrize("wrapped_first", [True, False])
def test_tempered(hidden, linear, wrapped_first):
    mode = find_mode(linear)
    if wrapped_first:
        hot = Controlled.around(tempered(hidden, 4.0), mode)
    else:
        hot = tempered(Controlled.around(hidden, mode), 4.0)
    expected = Controlled.around(tempered(linear, 4.0), mode)
    theta, new = mode + 0.1 * np.random.default_rng(9).standard_normal((2, 3))
    rows = np.arange(3000)
    np.testing.assert_allclose(hot.terms(theta, new, rows), expected.terms(theta, new, rows), atol=1e-12)
    assert hot.log_prior(new) - hot.log_prior(theta) == pytest.approx(
        expected.log_prior(new) - expected.log_prior(theta), abs=1e-9
    )
    np.testing.assert_allclose(hot.posterior_precision(), expected.posterior_precision(), atol=1e-8)
    drawn = [weighted_draws(model, np.random.default_rng(1), 20).log_weight for model in (hot, expected)]
    np.testing.assert_allclose(*drawn, atol=1e-8)


def test_chains_agree_draw_for_draw_and_are_certified(both):
    test = SequentialTest.from_design(Design(3000, 200, 0.01))
    chains = [
        Chain(model, ProxyStep.of(model), test, model.centre, np.random.default_rng(10), fuse=False) for model in both
    ]
    draws = [chain.advance(100).theta for chain in chains]
    np.testing.assert_allclose(*draws, atol=1e-9)
    assert certify(chains[1], passes=200, seed=1).names == ("theta[0]", "theta[1]", "theta[2]")


def test_recentring(linear, hidden):
    centred = [Recentring(Controlled.around(model, np.zeros(3)), every=1) for model in (linear, hidden)]
    for one in centred:
        model = one.model
        chain = Chain(
            model,
            ProxyStep.of(model, 0.5),
            SequentialTest.from_design(Design(3000, 500, 0.05)),
            np.zeros(3),
            np.random.default_rng(11),
            fuse=False,
        )
        one.learn(chain.advance(200))
    assert centred[0].moves == centred[1].moves == 1
    np.testing.assert_allclose(centred[0].model.gradient, centred[1].model.gradient, atol=1e-6)


def test_the_exact_minibatch_test_is_refused(both):
    hidden = both[1]
    with pytest.raises(BadInput, match="use a sequential test"):
        predict_minibatch(np.random.default_rng(1), hidden, ProxyStep.of(hidden))
    with pytest.raises(BadInput, match="use a sequential test"):
        Chain(hidden, ProxyStep.of(hidden), ExactMinibatchTest(), hidden.centre, np.random.default_rng(1)).advance(1)


def test_rows_whose_support_depends_on_parameters_are_refused(refuses):
    class Below:
        """y below a threshold that is a parameter: only the largest y shows that it is impossible."""

        def residual_many(self, states, indices):
            y = np.linspace(0.0, 1.0, 1000)[indices]
            return np.where(y < states[:, :1], -np.log(states[:, :1]), -np.inf)

    centre, factor = np.array([1.01]), np.array([[0.05]])
    refuses(lambda: heavy_module.heaviest_residuals(Below(), 1000, centre, factor, 10), "support of the data must not")
