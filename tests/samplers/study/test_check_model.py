"""`check_model` finds what is wrong with a model, and finds nothing wrong with good ones."""

import jax.numpy as jnp
import numpy as np
import pytest

from samplers import Logistic, check_model, from_jax
from tests.samplers.smooth_models import NormalData

X = np.random.default_rng(1).normal(1.0, 2.0, 2000)


def said(model, **more):
    return check_model(model, **more)


def test_good_models():
    for model in (NormalData(X), Logistic.from_data(np.column_stack([np.ones(2000), X]), X > 1.5, 1.0)):
        found = said(model)
        assert found.ok and [each.verdict for each in found.findings] == ["good"] * len(found.findings)
        assert found.controlled_kappa < 0.2 * found.kappa
        assert "control variates shrink κ from" in str(found) and found.microseconds_per_row > 0.0


class Plain:
    """The least that a chain needs."""

    n_data, dimension = 2000, 1

    def log_prior(self, theta):
        return 0.0

    def terms(self, theta, theta_new, indices):
        return 0.5 * (X[indices] - theta[0]) ** 2 - 0.5 * (X[indices] - theta_new[0]) ** 2


def test_a_model_without_derivatives_is_told_what_it_misses():
    found = said(Plain())
    assert found.ok and np.isnan(found.kappa)
    assert "from_jax" in str(found) and "no log_likelihood" in str(found)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"terms": None}, "no terms"),
        ({"n_data": 1}, "n_data = 1"),
        ({"log_prior": lambda theta: -np.inf}, "log_prior: -inf at the start"),
        ({"terms": lambda a, b, rows: np.zeros((rows.size, 1))}, "terms: shape (200, 1)"),
        ({"terms": lambda a, b, rows: np.where(rows % 2, np.nan, 0.1)}, "must be finite"),
        ({"terms": lambda a, b, rows: np.zeros(rows.size)}, "does not depend on θ"),
        ({"terms": lambda a, b, rows: (b - a)[0] * np.arange(1.0, rows.size + 1.0)}, "depends on the other rows"),
        ({"terms": lambda a, b, rows: np.abs(b - a)[0] * X[rows]}, "do not cancel"),
        ({"log_likelihood": lambda theta, rows: theta[0] * X[rows]}, "its differences are not the terms"),
        ({"terms": lambda a, b, rows: [][0]}, "the model fails: IndexError"),
    ],
)
def test_problems_are_found(wrong, words):
    model = Plain()
    if wrong == {"terms": None}:
        model = type("Empty", (), {"n_data": 5, "dimension": 1, "log_prior": Plain.log_prior})()
    else:
        for name, value in wrong.items():
            setattr(model, name, value)
    found = said(model)
    assert not found.ok and words in str(found)


class WrongGradient(NormalData):
    def derivatives(self, theta, indices, order):
        gradient, hessian = super().derivatives(theta, indices, order)
        return gradient * np.array([1.0, 1.1]), hessian


class WrongHessian(NormalData):
    def derivatives(self, theta, indices, order):
        gradient, hessian = super().derivatives(theta, indices, order)
        return gradient, hessian * np.array([[1.0, 1.0], [1.0, 1.1]])


class WrongPrior(NormalData):
    def prior_gradient(self, theta):
        return theta / 25.0


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (WrongGradient(X), "log-likelihood: its gradient is"),
        (WrongHessian(X), "log-likelihood: its Hessian does not agree"),
        (WrongPrior(X), "log prior: its gradient"),
    ],
)
def test_wrong_derivatives_are_found(model, words):
    found = said(model, start=np.array([1.0, 0.5]))
    assert words in str(found) and not found.ok


def test_a_hierarchical_model():
    rng = np.random.default_rng(2)

    def log_prior(theta):
        scale = theta["log scale"]
        return -0.5 * jnp.sum(theta["b"] ** 2) * jnp.exp(-2.0 * scale) - 5.0 * scale - 0.5 * scale**2

    def log_likelihood(theta, row):
        eta = theta["b"][row["g"]]
        return row["y"] * eta - jnp.exp(eta)

    data = {"y": rng.poisson(1.5, 500), "g": np.arange(500) % 5}
    found = said(from_jax(log_likelihood, log_prior, data, {"b": np.zeros(5), "log scale": 0.0}))
    assert found.ok and "log scale: in the prior alone" in str(found)
