"""Need one sample at all? Against closed forms, quadrature in one dimension, and exact posteriors of the cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from samplers import Controlled, Logistic, find_mode, laplace_verdict, weighted_draws
from samplers.models.control import many_states
from samplers.study import weighted_draws as module
from samplers.study.laplace import trusted
from samplers.study.weighted_draws import Laplace, effective, posterior_at, smoothed
from tests.cases import CASES


@dataclass(frozen=True)
class Linear:
    """Linear regression with unit noise and prior N(0, I): its posterior is normal."""

    rows: np.ndarray
    y: np.ndarray

    @property
    def n_data(self):
        return self.y.size

    def log_prior(self, theta):
        return -0.5 * float(theta @ theta)

    def prior_gradient(self, theta):
        return -theta

    def prior_curvature(self, theta):
        return -np.eye(theta.size)

    def value(self, eta, indices):
        return -0.5 * (self.y[indices] - eta) ** 2

    def slope(self, eta, indices):
        return self.y[indices] - eta

    def curvature(self, eta, indices):
        return np.full(eta.shape, -1.0)

    def terms(self, theta, theta_new, indices):
        return self.value(self.rows[indices] @ theta_new, indices) - self.value(self.rows[indices] @ theta, indices)


def controlled(x, y, precision=1.0):
    model = Logistic.from_data(x, y, precision)
    return Controlled.around(model, find_mode(model))


def few_zeros(n, zeros):
    """One coefficient, a skewed posterior."""
    return controlled(np.ones((n, 1)), np.arange(n) >= zeros, 0.5)


def quadrature(model):
    """Mean and sd of a posterior with one parameter."""
    sd = 1.0 / np.sqrt(model.posterior_precision()[0, 0])
    theta = model.centre[0] + sd * np.linspace(-12.0, 30.0, 4001)
    value, _ = posterior_at(model.model, theta[:, None])
    density = np.exp(value - value.max())
    mean = density @ theta / density.sum()
    return mean, np.sqrt(density @ (theta - mean) ** 2 / density.sum())


def test_a_normal_posterior_has_equal_weights_and_needs_no_chain():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((400, 3))
    model = Linear(x, rng.standard_normal(400))
    verdict = laplace_verdict(Controlled.around(model, find_mode(model)), rng, wish=1e-6)
    assert np.ptp(verdict.weighted.log_ratio) < 1e-8
    assert verdict.method == "laplace"
    assert verdict.sentence == f"no need to sample: {verdict.reason}" and verdict.reason.startswith("Laplace is ")
    assert verdict.pareto_k == -np.inf
    assert verdict.ess == pytest.approx(200.0)  # one round of draws was enough
    assert verdict.upper < 1e-9
    assert verdict.facts()["pareto_k"] is None


@pytest.mark.parametrize(("n", "zeros"), [(40, 2), (200, 20), (1000, 300)])
def test_errors_are_those_of_quadrature(n, zeros):
    model = few_zeros(n, zeros)
    mean, sd = quadrature(model)
    verdict = laplace_verdict(model, np.random.default_rng(3), draws=2000)
    mean_error, sd_error = (verdict.laplace.centre[0] - mean) / sd, verdict.laplace.sd[0] / sd - 1.0
    assert abs(verdict.mean_error[0] - mean_error) < 4 * verdict.mean_se[0]
    assert abs(verdict.sd_error[0] - sd_error) < 4 * verdict.sd_se[0]
    assert 0.0 < verdict.mean_se[0] < 0.05
    drawn = verdict.weighted
    assert drawn.weight @ drawn.theta[:, 0] == pytest.approx(mean, abs=4 * sd / np.sqrt(drawn.ess))


def test_the_standard_errors_are_right():
    """Over repetitions the errors scatter as the standard errors say, around the truth."""
    model = few_zeros(200, 12)
    mean, sd = quadrature(model)
    truth = (Laplace.of(model).centre[0] - mean) / sd, Laplace.of(model).sd[0] / sd - 1.0
    seen = [laplace_verdict(model, np.random.default_rng(seed)) for seed in range(200)]
    for name, exact in zip(("mean", "sd"), truth, strict=True):
        error, se = (np.array([getattr(v, f"{name}_{what}")[0] for v in seen]) for what in ("error", "se"))
        z = (error - exact) / se
        assert abs(z.mean()) < 0.5
        assert 0.75 < z.std() < 1.25
    assert np.mean([max(map(abs, truth)) <= v.upper for v in seen]) > 0.95


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.proper])
def test_no_case_is_said_to_need_no_chain_when_laplace_is_off(name):
    case = CASES[name]
    data, exact = case.data(), case.reference()
    model = controlled(data.x, data.y, data.prior_precision)
    verdict = laplace_verdict(model, np.random.default_rng(5))
    laplace = verdict.laplace
    off = np.concatenate([(laplace.centre - exact.mean) / exact.sd, laplace.sd / exact.sd - 1.0])
    slack = 3.0 * max((exact.mean_se / exact.sd).max(), (exact.sd_se / exact.sd).max())
    assert np.abs(off).max() <= verdict.upper + slack
    if verdict.method == "laplace":
        assert np.abs(off).max() <= verdict.wish + slack
    if verdict.method == "importance":
        drawn = weighted_draws(model, np.random.default_rng(6), 800)
        assert np.abs((drawn.weight @ drawn.theta - exact.mean) / exact.sd).max() < 4.5 / np.sqrt(drawn.ess)


def test_a_far_tail_that_laplace_never_visits_is_noticed():
    """Around the mode the posterior is N(0, 1); 2% of it lie 5 sds away."""

    class Shelf(Linear):
        def log_prior(self, theta):
            away = float(np.log(0.02 / 0.7) - 0.5 * ((theta[0] - 5.0) / 0.7) ** 2)
            return float(np.logaddexp(super().log_prior(theta), away))

        def prior_gradient(self, theta):
            return np.array([(self.log_prior(theta + 1e-5) - self.log_prior(theta - 1e-5)) / 2e-5])

    model = Shelf(np.zeros((10, 1)), np.zeros(10))
    verdict = laplace_verdict(Controlled.around(model, np.zeros(1)), np.random.default_rng(1))
    plain = smoothed(verdict.weighted.log_ratio[: verdict.weighted.plain])[0]
    assert effective(plain) > 0.97 * plain.size  # the weights of Laplace's own draws see nothing
    assert verdict.method != "laplace"
    assert verdict.upper > 0.15  # the sd is 1.22


def test_tail_draws_have_the_density_that_their_weights_assume():
    covariance = np.array([[2.0, 0.9], [0.9, 1.0]])
    laplace = Laplace(np.array([1.0, -1.0]), np.linalg.cholesky(covariance))
    theta = laplace.draw_tails(np.random.default_rng(1), 40_000)
    normal = multivariate_normal(laplace.centre, covariance)
    weight = np.exp(-laplace.log_tail_ratio(theta))  # towards the normal distribution, where a coordinate is in a tail
    inside = laplace.draw(np.random.default_rng(2), 200_000)
    far = np.abs((inside - laplace.centre) / laplace.sd).max(axis=1) > module.TAIL_FROM
    assert weight.mean() == pytest.approx(far.mean(), abs=4 * weight.std() / 200)
    for k in range(2):
        expected = (far * (inside[:, k] > laplace.centre[k] + 2.5 * laplace.sd[k])).mean()
        assert np.mean(weight * (theta[:, k] > laplace.centre[k] + 2.5 * laplace.sd[k])) == pytest.approx(
            expected, rel=0.1
        )
    difference = normal.logpdf(theta) - laplace.log_density(theta)
    assert np.ptp(difference) < 1e-8


def test_the_pass_is_that_of_the_model_state_by_state(monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 3)).astype(np.float32)
    model = Logistic.mapped(x, rng.random(300) < 0.5, 2.0)
    theta = rng.standard_normal((7, 3))
    monkeypatch.setattr(many_states, "AT_ONCE", 7 * 64)
    value, gradient = posterior_at(model, theta)
    everything = slice(0, 300)
    for state, v, g in zip(theta, value, gradient, strict=True):
        assert v == pytest.approx(model.log_prior(state) + model.log_likelihood(state, everything).sum())
        assert g == pytest.approx(model.prior_gradient(state) + model.gradient(state, everything))


def test_a_model_for_one_state_at_a_time_will_do():
    rng = np.random.default_rng(1)
    whole = Linear(rng.standard_normal((50, 2)), rng.standard_normal(50))

    class Single(Linear):
        def value(self, eta, indices):
            if eta.ndim > 1:
                raise ValueError("one state only")
            return super().value(eta, indices)

    theta = rng.standard_normal((4, 2))
    for one, other in zip(posterior_at(whole, theta), posterior_at(Single(whole.rows, whole.y), theta), strict=True):
        np.testing.assert_array_equal(one, other)


def test_smoothed_weights_know_a_heavy_tail():
    rng = np.random.default_rng(1)
    light, heavy = smoothed(0.3 * rng.standard_normal(2000)), smoothed(1.2 * rng.exponential(size=2000))
    assert light[0].sum() == pytest.approx(1.0)
    assert light[1] < 0.4
    assert 0.9 < heavy[1] < 1.5
    assert trusted(*light)
    assert not trusted(*heavy)
    assert trusted(np.full(100, 0.01), 5.0)  # equal weights have no tail, whatever k̂ says


def test_resampled_draws_have_the_weighted_mean():
    model = few_zeros(40, 2)
    drawn = weighted_draws(model, np.random.default_rng(1), 500)
    many = drawn.resampled(np.random.default_rng(2), 50_000)
    assert many.mean(axis=0) == pytest.approx(drawn.weight @ drawn.theta, abs=0.01)


def test_bad_input_is_one_line(refuses):
    model = few_zeros(40, 2)
    rng = np.random.default_rng(1)
    refuses(lambda: laplace_verdict(model.model, rng), "control variates of order 2")
    refuses(lambda: laplace_verdict(Controlled.around(model.model, model.centre, 1), rng), "order 2")
    refuses(lambda: laplace_verdict(model, rng, draws=3), "draws = 3")
    refuses(lambda: laplace_verdict(model, rng, wish=0.0), "wish = 0")
