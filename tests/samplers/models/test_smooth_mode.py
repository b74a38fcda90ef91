"""The mode of models that bring their own derivatives, and what else they get that linear models have."""

import numpy as np
import pytest

from designer.core.errors import BadInput, NumericalFailure
from samplers import Controlled, Logistic, ProxyStep, choose_proposal, find_mode, independent_pairs, laplace_verdict
from samplers.models.control import smooth_mode
from samplers.models.totals import log_posteriors
from samplers.study.weighted_draws import posterior_at
from tests.samplers.smooth_models import NormalData, SmoothLogistic


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(3000), rng.standard_normal((3000, 2))])
    return x, rng.random(3000) < 1.0 / (1.0 + np.exp(1.5 - x[:, 1]))


@pytest.fixture(scope="module")
def both(data):
    return Logistic.from_data(*data, 1.0), SmoothLogistic.of(*data, 1.0)


def controlled(model):
    return Controlled.around(model, find_mode(model))


def test_the_mode_is_that_of_the_linear_model(both):
    assert find_mode(both[1]) == pytest.approx(find_mode(both[0]), abs=1e-7)


def test_the_mode_from_far_away_where_nothing_is_concave():
    x = np.random.default_rng(2).normal(3.0, 0.5, 500)
    mode = find_mode(NormalData(x), start=np.array([-20.0, 4.0]))
    assert mode[0] == pytest.approx(x.mean(), abs=1e-4)
    assert np.exp(mode[1]) == pytest.approx(x.std(), rel=1e-3)


def test_some_rows_first(monkeypatch, both):
    monkeypatch.setattr(smooth_mode, "SUBSAMPLE", 200)
    assert find_mode(both[1]) == pytest.approx(find_mode(both[0]), abs=1e-7)


def test_an_improper_posterior_is_refused():
    x = np.column_stack([np.ones(60), np.arange(60) < 20])
    with pytest.raises(NumericalFailure, match="no mode"):
        find_mode(SmoothLogistic.of(x, (np.arange(60) < 20) | (np.arange(60) % 2 > 0), 0.0))


def test_a_flat_direction_is_named():
    x = np.column_stack([np.ones(60), np.ones(60)])
    with pytest.raises(NumericalFailure, match=r"does not fall in the direction of a, b; give all"):
        find_mode(SmoothLogistic.of(x, np.arange(60) % 3 > 0, 0.0), names=("a", "b"))


def test_a_start_of_the_wrong_size(both):
    with pytest.raises(BadInput, match="start: must be 3 finite numbers"):
        find_mode(both[1], start=np.zeros(2))


def test_posteriors_and_gradients_are_those_of_the_linear_model(both):
    states = find_mode(both[0]) + 0.1 * np.random.default_rng(3).standard_normal((5, 3))
    for mine, theirs in zip(posterior_at(both[1], states), posterior_at(both[0], states), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9)
    assert log_posteriors(both[1], states) == pytest.approx(log_posteriors(both[0], states), rel=1e-9)


def test_the_verdict_on_laplace_is_that_of_the_linear_model(both):
    mine, theirs = (laplace_verdict(controlled(model), np.random.default_rng(4), wish=0.02) for model in both[::-1])
    assert mine.sentence == theirs.sentence
    assert mine.mean_error == pytest.approx(theirs.mean_error, abs=1e-6)


def test_moves_between_states_are_those_of_the_linear_model(both):
    pairs = []
    for model in both:
        proxied = controlled(model)
        pairs.append(independent_pairs(proxied, ProxyStep.of(proxied), np.random.default_rng(5), 40))
    assert pairs[1].trial.mu == pytest.approx(pairs[0].trial.mu, rel=1e-5)
    assert pairs[1].trial.kappa == pytest.approx(pairs[0].trial.kappa, rel=1e-5)


def test_tails_are_chosen_and_profiles_refused(both):
    choice = choose_proposal(controlled(both[1]))
    assert choice.candidates and all(one.bent == 0 for one in choice.candidates)
    assert choose_proposal(controlled(both[1]), tails=5.0, profile=False).proposal.degrees == 5.0
    with pytest.raises(BadInput, match="profile: SmoothLogistic has no linear predictor"):
        choose_proposal(controlled(both[1]), profile=True)


def test_tails_where_the_posterior_has_them():
    """Four data: the posterior of the mean is Student's t."""
    model = NormalData(np.array([-1.0, 0.3, 0.5, 1.1]))
    assert choose_proposal(controlled(model)).proposal.degrees < np.inf
