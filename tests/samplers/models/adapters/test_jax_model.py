"""Models in JAX: the same as the built-in ones, in double precision, whatever the user's settings are."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

import samplers
from designer import Design
from designer.core.errors import BadInput
from samplers import (
    Chain,
    Controlled,
    Logistic,
    ProxyStep,
    SequentialTest,
    SmoothModel,
    check_model,
    find_mode,
    from_jax,
    run,
)
from samplers.models.adapters.parts import padded_size
from samplers.models.control.many_states import ManyStates

N, D = 3000, 3


def logistic_row(theta, row):
    eta = row["x"] @ theta["b"] + theta["a"]
    return row["y"] * eta - jnp.logaddexp(0.0, eta)


def normal_prior(theta):
    return -0.5 * theta["a"] ** 2 - 0.5 * jnp.sum(theta["b"] ** 2)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, D - 1))
    return x, rng.random(N) < 1.0 / (1.0 + np.exp(-x[:, 0]))


@pytest.fixture(scope="module")
def model(data):
    x, y = data
    return from_jax(logistic_row, normal_prior, {"x": x, "y": y}, {"a": 0.0, "b": np.zeros(D - 1)})


@pytest.fixture(scope="module")
def twin(data):
    x, y = data
    return Logistic.from_data(np.column_stack([np.ones(N), x]), y, prior_precision=1.0)


@pytest.fixture(scope="module")
def mode(twin):
    return find_mode(twin)


def test_it_is_smooth_and_named(model):
    assert isinstance(model, SmoothModel) and isinstance(model, ManyStates)
    assert model.names == ("a", "b[0]", "b[1]")
    assert repr(model) == "JaxModel(3,000 rows, 3 parameters)"
    assert not hasattr(model, "refresh")  # no parameter is in the prior alone
    unpacked = model.unpack(np.arange(24.0).reshape(2, 4, 3))
    assert {name: value.shape for name, value in unpacked.items()} == {"a": (2, 4), "b": (2, 4, 2)}
    assert unpacked["b"][1, 0].tolist() == [13.0, 14.0]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("size", [1, 16, 100, N])
def test_proxies_are_those_of_the_logistic_regression(model, twin, mode, order, size):
    rng = np.random.default_rng(2)
    mine, theirs = (Controlled.around(each, mode, order) for each in (model, twin))
    theta, new = mode + 0.05 * rng.standard_normal((2, D))
    rows = rng.choice(N, size, replace=False)
    np.testing.assert_allclose(mine.terms(theta, new, rows), theirs.terms(theta, new, rows), atol=1e-13)
    np.testing.assert_allclose(mine.log_likelihood(theta, rows), theirs.log_likelihood(theta, rows), atol=1e-13)
    np.testing.assert_allclose(mine.hessian, theirs.hessian, atol=1e-9)
    np.testing.assert_allclose(mine.gradient, theirs.gradient, atol=1e-9)
    assert mine.log_prior(new) - mine.log_prior(theta) == pytest.approx(
        theirs.log_prior(new) - theirs.log_prior(theta), abs=1e-10
    )


def test_likelihood_prior_and_mode(model, twin, mode):
    theta, rows = mode + 0.1, np.arange(5)
    np.testing.assert_allclose(model.log_likelihood(theta, rows), twin.log_likelihood(theta, rows), rtol=1e-14)
    np.testing.assert_allclose(model.gradient(theta, slice(0, N)), twin.gradient(theta, slice(0, N)), atol=1e-9)
    np.testing.assert_allclose(model.prior_curvature(theta), twin.prior_curvature(theta), atol=1e-14)
    np.testing.assert_allclose(model.prior_gradient(theta), twin.prior_gradient(theta), atol=1e-14)
    np.testing.assert_allclose(find_mode(model), mode, atol=1e-8)


def test_many_states_at_once(model, mode):
    states, rows = mode + 0.1 * np.random.default_rng(3).standard_normal((4, D)), np.arange(0, N, 7)
    each = np.stack([model.log_likelihood(state, rows) for state in states])
    np.testing.assert_allclose(model.log_likelihood_many(states, rows), each, rtol=1e-13)
    sums, gradients = model.sums_many(states, rows)
    np.testing.assert_allclose(sums, each.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(gradients, [model.gradient(state, rows) for state in states], rtol=1e-9)
    proxies = model.row_proxies(mode, 2)
    left = np.stack([proxies.residual(state, rows) for state in states])
    np.testing.assert_allclose(proxies.residual_many(states, rows), left, atol=1e-13)


def test_a_chain_makes_the_decisions_of_the_logistic_regression(model, twin, mode):
    test = SequentialTest.from_design(Design(N, 100, 0.05))
    chains = [
        Chain(each, ProxyStep.of(each), test, mode, np.random.default_rng(4), fuse=False)
        for each in (Controlled.around(model, mode), Controlled.around(twin, mode))
    ]
    np.testing.assert_allclose(*(chain.advance(60).theta for chain in chains), atol=1e-8)


def test_a_saved_run_is_resumed_and_told_from_another(model, data, mode, tmp_path):
    def once(which, draws, resume=True, output=tmp_path / "run"):
        controlled = Controlled.around(which, mode)
        test = SequentialTest.from_design(Design(N, 200, 0.05))
        more = {"start": mode, "draws": draws, "chains": 1, "output": output, "resume": resume}
        return run(controlled, ProxyStep.of(controlled), test, **more)[0].theta

    once(model, 20, resume=False)
    np.testing.assert_array_equal(once(model, 40), once(model, 40, resume=False, output=tmp_path / "whole"))
    x, y = data
    other = from_jax(logistic_row, normal_prior, {"x": x, "y": ~y}, {"a": 0.0, "b": np.zeros(D - 1)})
    with pytest.raises(BadInput, match="fingerprint of the model"):
        once(other, 60)


def test_double_precision_whatever_the_setting(model, mode):
    """θ and θ' differ by less than single precision can see."""
    assert not jax.config.jax_enable_x64
    terms = model.terms(mode, mode + 1e-9, np.arange(50))
    assert 1e-11 < np.abs(terms).max() < 1e-8
    assert jnp.ones(1).dtype == jnp.float32  # the user's setting stays


def test_rows_that_do_not_exist(model, mode):
    for rows in (np.array([0, N]), np.array([-1])):
        with pytest.raises(IndexError):
            model.log_likelihood(mode, rows)


def test_few_sizes_are_compiled():
    sizes = {padded_size(n) for n in range(1, 1025)}
    assert all(padded_size(n) >= n for n in range(1, 5000))
    assert len(sizes) <= 26
    assert max(padded_size(n) / n for n in range(64, 5000)) <= 1.25


def test_other_shapes_of_data_and_start():
    """A bare array of counts, integers kept as they are, and a start that is one number."""
    y = np.array([1, 2, 3, 0, 4])
    model = from_jax(lambda a, row: row * a - jnp.exp(a) - jax.lax.lgamma(row + 1.0), lambda a: 0.0 * a, y, 0.5)
    assert model.names == ("theta",) and model.unpack(np.zeros((7, 1)))["theta"].shape == (7,)
    np.testing.assert_allclose(find_mode(model), [np.log(2.0)], atol=1e-8)
    expected = y * 0.1 - np.exp(0.1) - gammaln(y + 1.0)
    np.testing.assert_allclose(model.log_likelihood(np.array([0.1]), slice(0, 5)), expected, rtol=1e-13)


def test_scales_in_the_prior_alone_are_found_and_refreshed():
    """Given the effects, the scale's prior is known: slice updates sample it."""
    rng = np.random.default_rng(5)
    effects = 0.5 * rng.standard_normal(20)

    def log_prior(theta):
        scale = theta["log scale"]
        return -0.5 * scale**2 - 0.5 * jnp.sum(theta["b"] ** 2) * jnp.exp(-2.0 * scale) - 20.0 * scale

    data = {"y": rng.standard_normal(100), "g": np.arange(100) % 20}
    start = {"b": np.zeros(20), "log scale": 0.0}
    model = from_jax(lambda theta, row: -0.5 * (row["y"] - theta["b"][row["g"]]) ** 2, log_prior, data, start)
    assert model.prior_only.tolist() == [20] and model.names[20] == "log scale"
    theta, draws = np.append(effects, 2.0), []
    for _ in range(1500):
        theta = model.refresh(rng, theta)
        draws.append(theta[20])
    assert np.array_equal(theta[:20], effects)
    grid = np.linspace(-3.0, 3.0, 4001)
    weight = np.exp(-0.5 * grid**2 - 0.5 * np.sum(effects**2) * np.exp(-2.0 * grid) - 20.0 * grid)
    mean = weight @ grid / weight.sum()
    sd = np.sqrt(weight @ (grid - mean) ** 2 / weight.sum())
    assert np.mean(draws[50:]) == pytest.approx(mean, abs=6.0 * sd / np.sqrt(1450))  # steps are nearly independent
    assert np.std(draws[50:]) == pytest.approx(sd, rel=0.1)
    again = [model.refresh(np.random.default_rng(1), theta) for _ in range(2)]
    assert np.array_equal(*again)


def test_parameters_of_the_prior_alone_move_in_their_own_units():
    """The mean of effects in large units: nearly independent draws, however far from the start."""
    rng, units = np.random.default_rng(6), 1e5
    effects = units * (3.0 + rng.standard_normal(20))

    def log_prior(theta):
        return -0.5 * jnp.sum((theta["b"] - theta["mean"]) ** 2) / units**2

    data = {"y": rng.standard_normal(100), "g": np.arange(100) % 20}
    start = {"b": np.zeros(20), "mean": 0.0}
    model = from_jax(lambda theta, row: -0.5 * (row["y"] - theta["b"][row["g"]]) ** 2, log_prior, data, start)
    theta, draws = np.append(effects, 0.0), []
    for _ in range(500):
        theta = model.refresh(rng, theta)
        draws.append(theta[20])
    z = (np.array(draws[5:]) - effects.mean()) / (units / np.sqrt(20))
    assert abs(z.mean()) < 6.0 / np.sqrt(z.size) and z.std() == pytest.approx(1.0, rel=0.15)
    assert abs(np.corrcoef(z[1:], z[:-1])[0, 1]) < 0.3


def test_a_support_that_depends_on_parameters_is_refused(refuses):
    """y below a threshold: only the largest y shows that a threshold is impossible."""
    y = np.random.default_rng(7).standard_normal(200)

    def row(theta, y):
        return jnp.where(y < theta[1], -0.5 * (y - theta[0]) ** 2, -jnp.inf)

    def log_prior(theta):
        return -2.0 * (theta[1] - y.max() - 0.3) ** 2

    model = from_jax(row, log_prior, y, np.array([0.0, y.max() + 0.3]))
    refuses(lambda: Controlled.around(model, find_mode(model)), "row ", "support of the data must not depend on")
    assert "support of the data" in str(check_model(model))
    far = np.array([0.5, y.max() + 3.0])  # far from the mode nothing is tried
    assert Controlled.around(model, far).n_data == 200


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": {"x": np.ones((3, 2)), "y": np.ones(4)}}, "3 and 4 rows"),
        ({"data": np.ones(1)}, "1 rows"),
        ({"data": "abc"}, "arrays of numbers"),
        ({"data": np.array([1.0, np.nan])}, "not finite"),
        ({"start": {}}, "no parameters"),
        ({"start": np.inf}, "theta must be finite"),
        ({"log_likelihood": lambda theta, row: jnp.ones(2)}, "log_likelihood: must return one number for one row"),
        ({"log_likelihood": lambda theta, row: jnp.log(-1.0) + theta}, "log_likelihood: is nan at the start"),
        ({"log_likelihood": lambda theta, row: theta["a"]}, "log_likelihood: fails at the start: "),
        ({"log_prior": lambda theta: jnp.ones(2)}, "log_prior: must return one number"),
        ({"log_prior": lambda theta: -jnp.inf}, "log_prior: is -inf at the start"),
    ],
)
def test_refusals(refuses, changes, words):
    good = {
        "log_likelihood": lambda theta, row: -0.5 * (row - theta) ** 2,
        "log_prior": lambda theta: -0.5 * theta**2,
        "data": np.arange(5.0),
        "start": 0.0,
    }
    refuses(lambda: from_jax(**{**good, **changes}), words)


def test_without_jax(monkeypatch, refuses):
    monkeypatch.setitem(sys.modules, "jax", None)
    refuses(lambda: samplers.from_jax(None, None, None, None), "jax is not installed", 'pip install "austerity[jax]"')
