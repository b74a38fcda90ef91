"""Many states in one call give what one state at a time gives."""

from __future__ import annotations

import numpy as np
import pytest

from samplers.models.control import Controlled
from samplers.models.control.many_states import ManyStates, sums_at
from samplers.models.glm import glm_model
from samplers.models.groups import Groups
from samplers.models.totals import log_posteriors

N, D = 120, 3
CASES = {
    "gaussian": {},
    "student-t": {},
    "student-t, degrees": {"sigma": 1.2, "degrees": None},
    "student-t, both": {"degrees": None},
    "negative-binomial": {},
    "gamma": {},
    "softmax": {},
    "groups": {},
}


def made(name: str):
    rng = np.random.default_rng(3)
    x, family = rng.standard_normal((N, D)), name.partition(",")[0]
    large = np.where(np.arange(N) % 20 == 0, 300, 1)  # counts beyond those that share their sums
    y = {
        "gamma": rng.gamma(2.0, 1.0, N),
        "negative-binomial": rng.poisson(4.0, N) * large,
        "softmax": rng.permutation(np.arange(N) % 4),
        "groups": rng.poisson(2.0, N),
    }.get(family, rng.standard_t(2.0, N))
    others = {"offset": 0.1 * rng.standard_normal(N), "weights": 0.5 + rng.random(N), "prior": 1.0}
    if name == "groups":
        terms = [
            Groups(rng.integers(0, 4, N), rng.standard_normal((N, 2)), name="two"),
            Groups(np.arange(N) % 9, name="one"),
        ]
        return glm_model(x, y, "poisson", groups=terms, **others)
    return glm_model(x, y, family, **others, **CASES[name])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rows", [slice(0, N), np.array([7, 3, 100, 3])], ids=["all", "some"])
def test_many_states_are_single_ones_together(name, rows):
    model = made(name)
    assert isinstance(model, ManyStates)
    states = 0.5 * np.random.default_rng(4).standard_normal((5, model.dimension))
    states[2:4, -1] = -4.0, -14.0  # shapes far out: a dispersion near 0
    single = np.array([model.log_likelihood(state, rows) for state in states])
    slopes = np.array([model.derivatives(state, rows, 1)[0] for state in states])
    np.testing.assert_allclose(model.log_likelihood_many(states, rows), single, rtol=1e-12, atol=1e-13)
    sums, gradients = sums_at(model, states, rows)
    np.testing.assert_allclose(sums, single.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(gradients, slopes, rtol=1e-11, atol=1e-12 * np.abs(slopes).max())


@pytest.mark.parametrize("name", ["student-t, both", "softmax", "groups"])
def test_many_residuals_are_single_ones_together(name):
    model = made(name)
    proxies = Controlled.around(model, np.full(model.dimension, 0.1)).proxies
    states = 0.3 * np.random.default_rng(5).standard_normal((4, model.dimension))
    for rows in (slice(3, N), np.array([5, 2, 2])):
        single = [proxies.residual(state, rows) for state in states]
        np.testing.assert_allclose(proxies.residual_many(states, rows), single, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("family", ["poisson", "student-t"])
def test_log_posteriors_of_many_states(family):
    rng = np.random.default_rng(6)
    x = rng.standard_normal((N, D))
    model = glm_model(x, rng.poisson(2.0, N), family, prior=1.0)
    states = 0.3 * rng.standard_normal((6, model.dimension))
    single = [model.log_prior(s) + model.log_likelihood(s, slice(0, N)).sum() for s in states]
    np.testing.assert_allclose(log_posteriors(model, states), single, rtol=1e-13)
