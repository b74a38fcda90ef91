"""NumPyro models as they are: log densities equal NumPyro's own, rows are read one by one, the rest is refused."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import log_density, potential_energy

from designer import Design
from designer.core.errors import BadInput
from samplers import Chain, Controlled, ProxyStep, SequentialTest, SmoothModel, find_mode, from_numpyro

N, GROUPS = 600, 4


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    return {"x": rng.standard_normal((N, 2)), "g": np.arange(N) % GROUPS, "y": rng.integers(0, 4, N)}


def ordinal(x, g, y):
    """Ordered outcomes with group effects; the model standardises its covariates, and uses a constant of its own."""
    b = numpyro.sample("b", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    with numpyro.plate("groups", len(np.unique(g))):
        effect = numpyro.sample("effect", dist.Normal(0.0, tau))
    ordered = dist.transforms.OrderedTransform()
    cuts = numpyro.sample("cuts", dist.TransformedDistribution(dist.Normal(0.0, 2.0).expand([3]).to_event(1), ordered))
    eta = numpyro.deterministic("eta", (x - x.mean(axis=0)) @ b + effect[g])
    numpyro.deterministic("twice", 2.0 * b)
    with numpyro.plate("data", N):
        numpyro.sample("y", dist.OrderedLogistic(eta, cuts), obs=y)
        numpyro.sample("z", dist.StudentT(4.0, eta, tau), obs=jnp.sin(1.0 * y))


@pytest.fixture(scope="module")
def model(data):
    return from_numpyro(ordinal, **data)


def test_parameters_and_rows(model):
    assert isinstance(model, SmoothModel)
    assert (model.n_data, model.dimension) == (N, 10)
    assert model.names[:3] == ("b[0]", "b[1]", "log tau") and model.names[-1] == "unconstrained cuts[2]"
    assert all(leaf.shape[0] == N for leaf in model._leaves)


def by_site(theta):
    return {"b": theta[:2], "tau": theta[2], "effect": theta[3:7], "cuts": theta[7:]}


def test_log_density_is_that_of_numpyro(model, data):
    rng = np.random.default_rng(2)
    for theta in rng.standard_normal((3, 10)):
        with jax.enable_x64(True):
            given = {name: jnp.asarray(value) for name, value in by_site(theta).items()}
            own = -float(potential_energy(numpyro.handlers.seed(ordinal, 0), (), data, given))
        total = model.log_prior(theta) + model.log_likelihood(theta, slice(0, N)).sum()
        assert total == pytest.approx(own, rel=1e-12)


def test_some_rows_are_those_of_all(model):
    theta, new = np.random.default_rng(3).standard_normal((2, 10))
    everything = model.log_likelihood(theta, slice(0, N))
    for rows in (np.array([5]), np.array([7, 7, 1]), np.arange(0, N, 13)):
        np.testing.assert_allclose(model.log_likelihood(theta, rows), everything[rows], rtol=1e-12)
    terms = model.log_likelihood(new, np.arange(9)) - model.log_likelihood(theta, np.arange(9))
    np.testing.assert_allclose(model.terms(theta, new, np.arange(9)), terms, atol=1e-10)


def test_unpacked_draws_are_constrained(model, data):
    draws = np.random.default_rng(4).standard_normal((2, 3, 10))
    found = model.unpack(draws)
    shapes = {name: value.shape for name, value in found.items()}
    assert shapes == {
        "b": (2, 3, 2), "tau": (2, 3), "effect": (2, 3, 4), "cuts": (2, 3, 3), "twice": (2, 3, 2),
    }  # fmt: skip  # eta has a value per row
    np.testing.assert_allclose(found["tau"], np.exp(draws[..., 2]))
    np.testing.assert_allclose(found["twice"], 2.0 * draws[..., :2])
    assert np.all(np.diff(found["cuts"], axis=-1) > 0.0)
    one = {name: found[name][0, 0] for name in ("b", "tau", "effect", "cuts")}
    with jax.enable_x64(True):
        constrained = float(log_density(numpyro.handlers.seed(ordinal, 0), (), data, one)[0])
    theta = draws[0, 0]
    jacobian = theta[2] + theta[8] + theta[9]  # exp, and the steps of the ordered cuts
    total = model.log_prior(theta) + model.log_likelihood(theta, slice(0, N)).sum()
    assert total == pytest.approx(constrained + jacobian, rel=1e-10)


def waiting(y):
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
    numpyro.sample("y", dist.Exponential(rate), obs=y)  # no plate: the batch axis counts the rows


def test_a_chain_samples_the_exact_posterior():
    y = np.random.default_rng(5).exponential(0.5, 400)
    model = from_numpyro(waiting, y)
    mode = find_mode(model)
    proxied = Controlled.around(model, mode)
    test = SequentialTest.from_design(Design(400, 50, 0.01))
    chain = Chain(proxied, ProxyStep.of(proxied), test, mode, np.random.default_rng(6))
    draws = chain.advance(1500)
    rate = model.unpack(draws.theta)["rate"]
    shape, scale = 402.0, 1.0 / (1.0 + y.sum())  # Gamma
    assert rate.mean() == pytest.approx(shape * scale, abs=0.15 * np.sqrt(shape) * scale)  # about 1,400 effective draws
    assert rate.std() == pytest.approx(np.sqrt(shape) * scale, rel=0.1)
    assert draws.n_used.mean() < 400


def test_scales_of_the_prior_are_refreshed(data):
    def model(g, y):
        tau = numpyro.sample("tau", dist.HalfCauchy(1.0))
        with numpyro.plate("groups", GROUPS):
            effect = numpyro.sample("effect", dist.Normal(0.0, tau))
        with numpyro.plate("data", N, subsample_size=50):  # all rows are known, whatever the model subsamples
            numpyro.sample("y", dist.Poisson(jnp.exp(effect[g])), obs=y)

    found = from_numpyro(lambda g, y: model(g, y), data["g"], data["y"])
    assert found.n_data == N and [found.names[k] for k in found.prior_only] == ["log tau"]
    theta = np.full(5, 0.3)
    moved = found.refresh(np.random.default_rng(1), theta)
    assert (moved != theta).tolist() == [name == "log tau" for name in found.names]


def discrete(y):
    k = numpyro.sample("k", dist.Bernoulli(0.5))
    numpyro.sample("y", dist.Normal(k, 1.0), obs=y)


def one_event(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.MultivariateNormal(m * jnp.ones(50), jnp.eye(50)), obs=y)


def two_plates(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    with numpyro.plate("one", 50):
        numpyro.sample("y", dist.Normal(m, 1.0), obs=y)
    with numpyro.plate("two", 40):
        numpyro.sample("z", dist.Normal(m, 1.0), obs=y[:40])


def second_plate_local(y):
    numpyro.sample("y", dist.Normal(numpyro.sample("m", dist.Normal(0.0, 1.0)), 1.0), obs=y)
    with numpyro.plate("two", 40):
        numpyro.sample("z", dist.Normal(numpyro.sample("own", dist.Normal(0.0, 1.0)), 1.0), obs=y[:40])


def local(y):
    with numpyro.plate("data", 50):
        m = numpyro.sample("m", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(m, 1.0), obs=y)


def local_without_plate(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0).expand([50]).to_event(1))
    numpyro.sample("y", dist.Normal(m, 1.0), obs=y)


def random_walk(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(jnp.cumsum(m * y), 1.0), obs=y)


def lagged(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", 50):
        numpyro.sample("y", dist.Normal(jnp.cumsum(m * jnp.ones(50)), 1.0), obs=y)


def nothing_observed(y):
    numpyro.sample("m", dist.Normal(0.0, 1.0))


def nothing_latent(y):
    numpyro.sample("y", dist.Normal(0.0, 1.0), obs=y)


def with_param(y):
    m = numpyro.param("m", 0.0)
    numpyro.sample("y", dist.Normal(m, 1.0), obs=y)


def broken(y):
    raise ValueError("no such thing")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (discrete, "latent site 'k' is discrete"),
        (one_event, "no data plate"),
        (second_plate_local, "latent site 'own' is inside the data plate 'two'"),
        (local, "latent site 'm' is inside the data plate 'data'"),
        (local_without_plate, "m has one value for each row"),
        (random_walk, "operation 'cumsum' runs over the rows"),
        (lagged, "operation 'cumsum' runs over the rows"),
        (nothing_observed, "no observed sites"),
        (nothing_latent, "no latent sites"),
        (with_param, "'m' is a param site"),
        (broken, "ValueError: no such thing"),
    ],
)
def test_refusals(refuses, bad, words):
    refuses(lambda: from_numpyro(bad, np.linspace(-1.0, 1.0, 50)), words)


def test_a_density_that_is_not_the_sum_of_rows_and_prior_is_refused(monkeypatch):
    """As if NumPyro said something else."""
    monkeypatch.setattr("numpyro.infer.util.potential_energy", lambda *given: 0.0)
    with pytest.raises(BadInput, match="does not factorise over rows: prior and rows sum to"):
        from_numpyro(waiting, np.linspace(0.1, 1.0, 50))


def test_without_numpyro(monkeypatch, refuses):
    monkeypatch.setitem(sys.modules, "numpyro", None)
    refuses(lambda: from_numpyro(waiting, np.ones(5)), "numpyro is not installed", 'pip install "austerity[numpyro]"')


def test_rows_of_two_plates_are_counted_one_after_another():
    y, theta = np.linspace(-1.0, 1.0, 50), np.array([0.4])
    model = from_numpyro(two_plates, y)
    assert model.n_data == 90
    expected = -0.5 * (np.concatenate([y, y[:40]]) - 0.4) ** 2 - 0.5 * np.log(2.0 * np.pi)
    np.testing.assert_allclose(model.log_likelihood(theta, slice(0, 90)), expected, rtol=1e-12)
    np.testing.assert_allclose(model.log_likelihood(theta, np.array([89, 49, 50])), expected[[89, 49, 50]], rtol=1e-12)
    assert model.log_prior(theta) == pytest.approx(-0.5 * 0.4**2 - 0.5 * np.log(2.0 * np.pi))
    gradient, hessian = model.derivatives(theta, slice(0, 90), 2)
    assert gradient[0] == pytest.approx(np.sum(np.concatenate([y, y[:40]]) - 0.4))
    assert hessian[0, 0] == pytest.approx(-90.0)


def test_numpy_data_are_indexed_by_the_rows_of_a_subsampling_plate():
    def mean(y):
        m = numpyro.sample("m", dist.Normal(0.0, 1.0))
        with numpyro.plate("data", 50, subsample_size=10) as rows:
            numpyro.sample("y", dist.Normal(m, 1.0), obs=y[rows])

    y = np.linspace(-1.0, 1.0, 50)
    found = from_numpyro(mean, y).log_likelihood(np.array([0.4]), slice(0, 50))
    np.testing.assert_allclose(found, -0.5 * (y - 0.4) ** 2 - 0.5 * np.log(2.0 * np.pi), rtol=1e-12)


def test_a_gradient_that_jumps_at_zero_is_no_start():
    """NumPyro's binomial log density has a term max(logit, 0): its slope at 0 is not that of the density."""
    n, y = np.full(60, 4), np.arange(60) % 4

    def rate(n, y):
        logit = numpyro.sample("logit", dist.Normal(0.0, 3.0))
        numpyro.sample("y", dist.Binomial(n, logits=logit), obs=y)

    model = from_numpyro(rate, n, y)
    assert model.start[0] != 0.0
    assert find_mode(model)[0] == pytest.approx(np.log(1.5 / 2.5), abs=2e-3)
