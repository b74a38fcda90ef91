"""Geweke's joint test for generalised linear models: θ must keep its prior (see `test_geweke`)."""

from __future__ import annotations

import numpy as np
import pytest

from samplers.chains.chain import Chain
from samplers.decide import ExactTest
from samplers.models.control import Controlled
from samplers.models.glm import glm_model
from samplers.proposals import RandomWalk
from tests.samplers.chains.test_geweke import in_standard_errors

N_DATA = 4  # few: with informative data θ and y hardly move together
FAMILIES = {  # the response given η and ν, the options
    "poisson": (lambda rng, eta, _: rng.poisson(np.exp(np.minimum(eta, 30.0))), {}),
    "probit": (lambda rng, eta, _: rng.standard_normal(eta.size) < eta, {}),
    "student-t": (lambda rng, eta, _: eta + 1.5 * rng.standard_t(4.0, eta.size), {"sigma": 1.5}),
    "student-t, degrees": (
        lambda rng, eta, nu: eta + 1.5 * rng.standard_t(nu, eta.size),
        {"sigma": 1.5, "degrees": None},
    ),
}


def deviations(family: str, wrong: float = 1.0) -> np.ndarray:
    """Of the first two moments of θ from those of its prior, in standard errors."""
    draw, options = FAMILIES[family]
    sampled = None in options.values()
    rng, x = np.random.default_rng(31), 0.5 * np.random.default_rng(30).standard_normal((N_DATA, 2))
    d = 3 if sampled else 2
    mean, sd = np.array([0.0, 0.0, 2.0])[:d], np.ones(d)
    theta = mean + sd * 0.3

    def values() -> np.ndarray:
        nonlocal theta
        y = draw(rng, wrong * (x @ theta[:2]), np.exp(theta[2]) if sampled else 1.0)
        model = Controlled.around(glm_model(x, y, family.split(",")[0], prior=1.0, **options), 0.1 * np.ones(d))
        chain = Chain(model, RandomWalk.isotropic(1.0, d), ExactTest(), theta, rng)
        chain.advance(5)
        theta = chain.theta
        z = (theta - mean) / sd
        return np.concatenate([z, z * z - 1.0])

    return in_standard_errors(values, 2000)


@pytest.mark.parametrize("family", FAMILIES)
def test_theta_keeps_its_prior(family):
    assert np.all(np.abs(deviations(family)) < 4.0)


def test_a_wrong_likelihood_is_found_out():
    """The test can fail: data of another η."""
    assert np.abs(deviations("poisson", 2.0)).max() > 6.0
