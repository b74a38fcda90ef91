"""Generalised linear models: modes, refusals by column, bounds, and everything that is made for linear models."""

from __future__ import annotations

import numpy as np
import pytest

from designer.core.errors import NumericalFailure
from samplers.chains.chain import Chain
from samplers.decide import ExactMinibatchTest
from samplers.models import LinearModel, SmoothModel
from samplers.models.control import Controlled, find_mode
from samplers.models.control.term_bounds import BoundedModel
from samplers.models.glm import GLM, glm_model
from samplers.models.groups import Groups
from samplers.models.logistic import Logistic
from samplers.models.priors import Laplace, StudentT
from samplers.models.totals import log_posteriors
from samplers.proposals import ProxyStep
from samplers.study.laplace import laplace_verdict
from tests.samplers.glm_data import FAMILIES, N_DATA, data

SAMPLED = ("gaussian, sigma", "student-t, both", "negative-binomial, dispersion", "gamma, shape", "softmax")


def made(name: str, prior: object = 1.0):
    x, y, more = data(name)
    return glm_model(x, y, name.split(",")[0], prior=prior, **more)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_a_linear_model_with_bounds(name):
    model = made(name)
    assert isinstance(model, LinearModel)
    assert isinstance(model, BoundedModel)


@pytest.mark.parametrize("name", [*FAMILIES, *SAMPLED])
def test_the_gradient_is_zero_at_the_mode_wherever_the_search_starts(name):
    model = made(name)
    mode = find_mode(model)
    gradient = model.gradient(mode, slice(0, N_DATA)) + model.prior_gradient(mode)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-5 * N_DATA**0.5)
    np.testing.assert_allclose(find_mode(model, start=mode + 3.0), mode, atol=1e-6)


@pytest.mark.parametrize("name", SAMPLED)
def test_several_predictors_are_smooth_models_with_control_variates(name):
    model, rng = made(name), np.random.default_rng(1)
    assert isinstance(model, SmoothModel)
    assert not isinstance(model, LinearModel)
    mode, rows = find_mode(model), np.arange(N_DATA)
    assert len(model.names) == model.dimension
    other = mode + 0.02 * rng.standard_normal(mode.size)
    plain = model.terms(mode, other, rows)
    sizes = [Controlled.around(model, mode, order).terms(mode, other, rows).std() for order in (1, 2)]
    assert sizes[1] < 0.2 * sizes[0] < 0.2 * 0.2 * plain.std()


@pytest.mark.parametrize("name", [*FAMILIES, *SAMPLED])
def test_offsets_and_weights_are_a_column_and_repeated_rows(name):
    """An offset is a column whose coefficient is 1; a weight of 2 is the row twice."""
    x, y, more = data(name)
    family, shapes = name.split(",")[0], {k: v for k, v in more.items() if k not in ("offset", "weights")}
    offset, twice = more["offset"], np.arange(N_DATA) % 3 == 0
    model = glm_model(x, y, family, offset=offset, weights=1.0 + twice, **shapes)
    again = np.concatenate([np.arange(N_DATA), np.flatnonzero(twice)])
    if "trials" in shapes:
        shapes["trials"] = shapes["trials"][again]
    repeated = glm_model(np.c_[x, offset][again], y[again], family, **shapes)
    theta = 0.1 * np.random.default_rng(2).standard_normal(model.dimension)
    linear, count = getattr(model, "linear", 1), x.shape[1]
    coefficients = np.c_[theta[: linear * count].reshape(linear, count), np.ones(linear)]
    longer = np.concatenate([coefficients.ravel(), theta[linear * count :]])
    wanted = repeated.log_likelihood(longer, slice(None)).sum()
    assert model.log_likelihood(theta, slice(None)).sum() == pytest.approx(wanted, rel=1e-12)


def test_bernoulli_is_logistic_regression():
    x, y, _ = data("bernoulli")
    glm, logistic = GLM.from_data(x, y, prior=2.0), Logistic.from_data(x, y, 2.0)
    np.testing.assert_allclose(find_mode(glm), find_mode(logistic), rtol=1e-9)
    states = np.random.default_rng(3).standard_normal((4, 3))
    np.testing.assert_allclose(log_posteriors(glm, states), log_posteriors(logistic, states), rtol=1e-12)


@pytest.mark.parametrize("name", ["poisson", "negative-binomial", "probit", "cloglog", "student-t", "gamma"])
def test_residuals_never_exceed_their_bounds(name):
    """Of the exact mini-batch test, at states all over the ball."""
    model = made(name)
    proxied, rng = Controlled.around(model, find_mode(model)), np.random.default_rng(4)
    bounds = proxied.residual_bounds
    for _ in range(30):
        z = rng.standard_normal((2, 3))
        z *= (bounds.radius * rng.random(2) / np.linalg.norm(z, axis=1))[:, None]
        one, other = proxied.centre + np.linalg.solve(bounds.whitening, z.T).T
        found = proxied.bounds(one, other)
        residuals = proxied.terms(one, other, np.arange(proxied.n_data))
        limit = found.weights.weights * found.reach + found.rounding
        assert np.all(np.abs(residuals) <= limit)


@pytest.mark.parametrize("many", ["counts", "weights", "offset and groups"])
def test_rounding_errors_of_huge_numbers_are_no_broken_bounds(many):
    """Counts of 10^10 have residuals that are all rounding error; bounds that are really broken are still found."""
    rng = np.random.default_rng(0)
    x, g = np.column_stack([np.ones(500), rng.standard_normal(500)]), rng.integers(0, 5, 500)
    large = np.where(np.arange(500) < 3, 1e10, 1.0)
    options = {
        "counts": {"y": rng.poisson(1e10 * np.exp(0.1 * x[:, 1]))},
        "weights": {"y": rng.poisson(np.exp(0.1 * x[:, 1])), "weights": np.full(500, 1e10)},
        "offset and groups": {"y": rng.poisson(large), "offset": np.log(large), "groups": [Groups(g)]},
    }[many]
    model = GLM.from_data(x, family="poisson", prior=1.0, **options)
    proxied, worst = Controlled.around(model, find_mode(model)), 0.0
    factor = proxied.residual_bounds.factor if "groups" in options else None
    for _ in range(10):
        z = rng.standard_normal((2, proxied.dimension if factor is None else model.layout.first))
        if factor is None:
            states = proxied.centre + np.linalg.solve(proxied.residual_bounds.whitening, z.T).T
        else:
            states = [proxied.centre + factor.colour(one) for one in z]
        found = proxied.bounds(*states)
        excess = np.abs(proxied.terms(*states, np.arange(500))) - found.weights.weights * found.reach
        worst = max(worst, float(excess.max()))
    assert 1e-8 < worst <= found.rounding < 1e3 * worst


def test_what_linear_models_can_do_counts_can_do_too():
    proxied = Controlled.around(made("poisson"), find_mode(made("poisson")), heavy="auto")
    assert laplace_verdict(proxied, np.random.default_rng(1)).method in ("laplace", "importance", "sample")
    chain = Chain(proxied, ProxyStep.of(proxied), ExactMinibatchTest(), proxied.centre, np.random.default_rng(1))
    draws = chain.advance(2000).theta
    sd = np.sqrt(np.diag(np.linalg.inv(proxied.posterior_precision())))
    assert np.all(np.abs(draws.mean(axis=0) - proxied.centre) < 0.3 * sd)


# --- no mode ----------------------------------------------------------------------------------------------------------


def level() -> tuple[np.ndarray, np.ndarray]:
    """An intercept, a covariate and a level of 40 rows whose counts are all 0."""
    rng = np.random.default_rng(5)
    x = np.c_[np.ones(500), rng.standard_normal(500), np.arange(500) < 40]
    return x, np.where(x[:, 2] > 0, 0, rng.poisson(2.0, 500))


@pytest.mark.parametrize("family", ["poisson", "negative-binomial"])
def test_a_level_without_counts_is_named(family):
    x, y = level()
    shapes = {"dispersion": 0.5} if family == "negative-binomial" else {}
    with pytest.raises(NumericalFailure, match="separable by column empty: all 40 rows"):
        find_mode(glm_model(x, y, family, names=["intercept", "age", "empty"], **shapes))
    assert np.all(np.isfinite(find_mode(glm_model(x, y, family, prior=[0.0, 0.0, 1.0], **shapes))))


def test_no_count_at_all():
    x, y = level()
    with pytest.raises(NumericalFailure, match="column intercept: all 500 rows"):
        find_mode(glm_model(x[:, :1], 0 * y, "poisson", names=["intercept"]))


def test_large_units_are_no_separation():
    """A short step of a Gaussian model may change η by thousands: η has the unit of y."""
    x, _ = level()
    y = 1e9 * (x @ [1.0, 2.0, 3.0] + np.random.default_rng(6).standard_normal(500))
    mode = find_mode(glm_model(x, y, "gaussian", sigma=1e9))
    np.testing.assert_allclose(mode, np.linalg.lstsq(x, y, rcond=None)[0], rtol=1e-9)
    far = find_mode(glm_model(x, y / 1e9 + 1e6, "student-t", sigma=1.0), start=np.array([-1e7, 3e3, -100.0]))
    np.testing.assert_allclose(far, [1e6 + 1.0, 2.0, 3.0], atol=0.5)


@pytest.mark.parametrize("prior", [Laplace(0.05), StudentT(0.5, 1.0)])
def test_priors_without_curvature_are_not_flat(prior):
    x, y = level()
    assert np.all(np.isfinite(find_mode(glm_model(x, y, "poisson", prior=prior))))


def test_huge_counts():
    x, y = level()
    mode = find_mode(glm_model(x[:, :2], y * 1e9, "poisson"))
    assert mode[0] == pytest.approx(np.log(1e9 * y.mean()), abs=0.1)
