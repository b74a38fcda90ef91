"""Control variates and the proposals made from them."""

from __future__ import annotations

import numpy as np
import pytest

from designer import BadInput, NumericalFailure
from samplers.chains.chain import compare
from samplers.models import LinearModel, Model
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.models.moments import moments
from samplers.proposals import ProxyStep, RandomWalk

N_DATA, DIMENSION = 2000, 3


@pytest.fixture(scope="module")
def model() -> Logistic:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((N_DATA, DIMENSION))
    y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ np.array([0.5, -1.0, 0.2])))
    return Logistic.from_data(x, y, prior_precision=2.0)


def gradient(model: Logistic, theta: np.ndarray) -> np.ndarray:
    eta = model.rows @ theta
    return model.rows.T @ (1.0 / (1.0 + np.exp(eta))) - model.prior_precision * theta


def test_the_mode_has_no_gradient(model):
    assert isinstance(model, LinearModel)
    assert np.abs(gradient(model, find_mode(model))).max() < 1e-6


@pytest.mark.parametrize("order", [1, 2])
def test_a_controlled_model_is_the_same_posterior(model, order):
    """A = N mean(l) - c is unchanged: only its split between terms and prior."""
    centre = find_mode(model)
    controlled = Controlled.around(model, centre, order)
    assert isinstance(controlled, Model)
    rng, every = np.random.default_rng(3), np.arange(N_DATA)
    for _ in range(5):
        theta, new = centre + 0.1 * rng.standard_normal((2, DIMENSION))
        plain, residual = compare(model, theta, new), compare(controlled, theta, new)
        a = plain.terms(every).sum() - plain.log_ratio
        assert residual.terms(every).sum() - residual.log_ratio == pytest.approx(a, abs=1e-9)


def test_each_order_shrinks_the_spread(model):
    centre = find_mode(model)
    rng = np.random.default_rng(4)
    theta, new = centre + 0.02 * rng.standard_normal((2, DIMENSION))
    models = (model, Controlled.around(model, centre, 1), Controlled.around(model, centre, 2))
    spreads = [moments(compare(which, theta, new))[1] for which in models]
    assert spreads[1] < 0.2 * spreads[0]
    assert spreads[2] < 0.2 * spreads[1]


def test_residuals_are_of_third_order(model):
    centre = find_mode(model)
    controlled, direction = Controlled.around(model, centre), np.array([1.0, -1.0, 0.5])
    sizes = [moments(compare(controlled, centre, centre + h * direction))[1] for h in (0.01, 0.02)]
    assert sizes[1] / sizes[0] == pytest.approx(8.0, rel=0.1)


def test_the_derivatives_are_those_of_the_value(model):
    eta, h = np.linspace(-30.0, 30.0, 61), 1e-5
    numeric = (model.value(eta + h, slice(None)) - model.value(eta - h, slice(None))) / (2 * h)
    assert model.slope(eta, slice(None)) == pytest.approx(numeric, abs=1e-9)
    numeric = (model.slope(eta + h, slice(None)) - model.slope(eta - h, slice(None))) / (2 * h)
    assert model.curvature(eta, slice(None)) == pytest.approx(numeric, abs=1e-9)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_proxy_proposals_cancel_the_quadratic_part(model, elsewhere):
    """With a Gaussian prior c = 0 at second order: A is the sum of the residuals alone."""
    centre = find_mode(model)
    controlled = Controlled.around(model, centre + 0.05 if elsewhere else centre)
    proposal, rng = ProxyStep.of(controlled, 0.7), np.random.default_rng(5)
    theta = proposal.propose(rng, controlled.centre).theta
    new, log_q = proposal.propose(rng, theta)
    assert compare(controlled, theta, new, log_q).log_ratio == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_proxy_proposals_are_reversible_for_their_normal_law(model, beta):
    controlled = Controlled.around(model, find_mode(model))
    proposal, rng = ProxyStep.of(controlled, beta), np.random.default_rng(6)
    theta, covariance = controlled.centre.copy(), np.linalg.inv(controlled.posterior_precision())
    chain = np.array([theta := proposal.propose(rng, theta).theta for _ in range(20_000)])
    assert np.cov(chain.T) == pytest.approx(covariance, abs=0.15 * np.abs(covariance).max())
    forth, back = proposal.propose(np.random.default_rng(1), chain[5])
    # detailed balance: N(x) q(y|x) = N(y) q(x|y), so log_q is the difference of the log densities
    difference = [
        -0.5 * (t - controlled.centre) @ proposal.precision @ (t - controlled.centre) for t in (forth, chain[5])
    ]
    assert back == pytest.approx(difference[0] - difference[1])


def test_random_walks_have_the_covariance_asked_for():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    walk, rng = RandomWalk.with_covariance(covariance, 0.5), np.random.default_rng(7)
    steps = np.array([walk.propose(rng, np.zeros(2)).theta for _ in range(20_000)])
    assert np.cov(steps.T) == pytest.approx(0.25 * covariance, abs=0.03)
    assert RandomWalk.with_covariance(np.eye(4)).factor[0, 0] == pytest.approx(2.38 / 2)


def test_bad_input(model):
    with pytest.raises(BadInput, match="order = 3"):
        Controlled.around(model, np.zeros(3), 3)
    with pytest.raises(BadInput, match="order 2"):
        ProxyStep.of(Controlled.around(model, np.zeros(3), 1))
    with pytest.raises(BadInput, match="positive definite"):
        RandomWalk.with_covariance(-np.eye(2))
    with pytest.raises(BadInput, match=r"y\[1\] = 7"):
        Logistic.from_data(np.eye(3), [0, 7, 1])
    with pytest.raises(BadInput, match=r"x\[0, 1\] = inf"):
        Logistic.from_data([[1.0, np.inf], [1.0, 1.0]], [0, 1])
    with pytest.raises(BadInput, match="y has shape"):
        Logistic.from_data(np.eye(3), [0, 1])
    with pytest.raises(BadInput, match="x has shape"):
        Logistic.from_data(np.zeros(3), [0, 1, 1])


def test_separable_data_without_a_prior_have_no_mode():
    x = np.linspace(-1.0, 1.0, 50)[:, None]
    with pytest.raises(NumericalFailure, match="no mode"):
        find_mode(Logistic.from_data(x, x[:, 0] > 0))


def test_data_sorted_by_label_have_the_same_mode():
    rng = np.random.default_rng(9)
    x = rng.standard_normal((50_000, 2))
    y = rng.random(50_000) < 1 / (1 + np.exp(-x @ [0.5, -1.0]))
    order = np.argsort(y)
    one, other = (find_mode(Logistic.from_data(x[k], y[k])) for k in (np.arange(50_000), order))
    assert one == pytest.approx(other, abs=1e-6)


def test_columns_that_are_too_large_are_not_taken_for_separable_ones():
    x = np.random.default_rng(1).standard_normal((50, 2))
    model = Logistic.from_data(1e200 * x, x[:, 0] + x[:, 1] ** 2 > 0)
    with pytest.raises(BadInput, match="the columns are too large"):
        find_mode(model)


def test_separable_data_on_a_wide_scale_have_a_mode_with_a_prior():
    """The information falls a millionfold on the way there; the prior keeps it proper."""
    x = np.column_stack([np.ones(2000), np.arange(-1000.0, 1000.0)])
    model = Logistic.from_data(x, x[:, 1] > 0, 1.0)
    mode = find_mode(model)
    assert mode == pytest.approx([-0.269, 1.162], abs=0.002)
    with pytest.raises(NumericalFailure, match="separable"):
        find_mode(Logistic.from_data(x, x[:, 1] > 0))
