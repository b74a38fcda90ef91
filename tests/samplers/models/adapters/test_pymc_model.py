"""PyMC models as they are: log densities equal PyMC's own, rows are read one by one, the rest is refused."""

import sys

import jax
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import special

from samplers import SmoothModel, from_pymc
from samplers.models.adapters.pymc_functions import erfcx

N = 500
rng = np.random.default_rng(1)
X, COUNTS, GROUP = rng.standard_normal((N, 2)), rng.poisson(1.5, N), np.arange(N) % 3


def claims():
    with pm.Model() as model:
        x = pm.Data("x", X)
        b = pm.Normal("b", 0.0, 1.0, shape=2)
        tau = pm.HalfNormal("tau", 1.0)
        effect = pm.Normal("effect", 0.0, tau, shape=3)
        share = pm.Beta("share", 2.0, 2.0)
        cuts = pm.Normal("cuts", 0.0, 2.0, shape=2, transform=pm.distributions.transforms.ordered, initval=[-1.0, 1.0])
        eta = pm.Deterministic("eta", pm.math.dot(x, b) + effect[GROUP])
        pm.Deterministic("twice", 2.0 * b)
        pm.Potential("weak", -0.01 * b[0] ** 2)
        pm.ZeroInflatedPoisson("y", share, pm.math.exp(eta), observed=COUNTS)
        pm.OrderedLogistic("level", eta=eta, cutpoints=cuts, observed=np.minimum(COUNTS, 2))
    return model


@pytest.fixture(scope="module")
def theirs():
    return claims()


@pytest.fixture(scope="module")
def model(theirs):
    return from_pymc(theirs)


def test_parameters_and_rows(model):
    assert isinstance(model, SmoothModel)
    assert (model.n_data, model.dimension) == (N, 9)
    assert model.names[2] == "log tau" and model.names[6:] == (
        "unconstrained share",
        "unconstrained cuts[0]",
        "unconstrained cuts[1]",
    )
    assert [model.names[k] for k in model.prior_only] == ["log tau"]
    assert not jax.config.jax_enable_x64  # PyTensor would change it


def test_log_density_is_that_of_pymc(model, theirs):
    log_density = theirs.compile_logp(mode="FAST_COMPILE")
    for theta in 0.5 * np.random.default_rng(2).standard_normal((3, 9)):
        pieces = np.split(theta, [2, 3, 6, 7])
        given = {v.name: p.reshape(s) for v, p, (_, s) in zip(theirs.value_vars, pieces, model.parts, strict=True)}
        total = model.log_prior(theta) + model.log_likelihood(theta, slice(0, N)).sum()
        assert total == pytest.approx(float(log_density(given)), rel=1e-11)


def test_some_rows_are_those_of_all(model):
    theta = 0.5 * np.random.default_rng(3).standard_normal(9)
    everything = model.log_likelihood(theta, slice(0, N))
    for rows in (np.array([5]), np.array([7, 7, 1]), np.arange(0, N, 13)):
        np.testing.assert_allclose(model.log_likelihood(theta, rows), everything[rows], rtol=1e-12)


def test_unpacked_draws_are_constrained(model):
    draws = np.random.default_rng(4).standard_normal((2, 3, 9))
    found = model.unpack(draws)
    assert {name: value.shape[2:] for name, value in found.items()} == {
        "b": (2,), "tau": (), "effect": (3,), "share": (), "cuts": (2,), "twice": (2,),
    }  # fmt: skip  # eta has a value per row
    np.testing.assert_allclose(found["tau"], np.exp(draws[..., 2]))
    np.testing.assert_allclose(found["share"], 1.0 / (1.0 + np.exp(-draws[..., 6])))
    np.testing.assert_allclose(found["cuts"][..., 1] - found["cuts"][..., 0], np.exp(draws[..., 8]))


def built(make):
    with pm.Model() as model:
        make()
    return model


def two_sets_one_of_them_local():
    pm.Normal("y", pm.Normal("m"), observed=np.arange(50.0))
    pm.Normal("z", pm.Normal("own", shape=40), observed=np.ones(40))


def random_walk():
    m = pm.Normal("m")
    pm.Normal("y", (m * np.ones(50)).cumsum(), observed=np.ones(50))


def unknown():
    m = pm.HalfNormal("m")
    pm.Normal("y", pm.math.log(pt.kve(m, np.arange(1.0, 51.0))), observed=np.ones(50))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pm.Normal("y", pm.Bernoulli("k", 0.5), observed=np.ones(50)), "k is discrete"),
        (lambda: pm.Normal("m"), "no observed variables"),
        (lambda: pm.Normal("y", observed=np.ones(50)), "no free variables"),
        (two_sets_one_of_them_local, "own has one value for each row"),
        (lambda: pm.Normal("y", pm.Normal("m", shape=50), observed=np.ones(50)), "m has one value for each row"),
        (lambda: pm.MvNormal("y", pm.Normal("m") * np.ones(9), np.eye(9), observed=np.ones(9)), "no rows to sample"),
        (random_walk, "factorise over rows: operation 'cumsum'"),
        (unknown, "PyTensor cannot compile a part of it to JAX: No JAX implementation for Op kve"),
    ],
)
def test_refusals(refuses, make, words):
    refuses(lambda: from_pymc(built(make)), words)
    refuses(lambda: from_pymc(3), "must be a pymc.Model")


def test_without_pymc(monkeypatch, refuses, theirs):
    monkeypatch.setitem(sys.modules, "pymc", None)
    refuses(lambda: from_pymc(theirs), "pymc is not installed", 'pip install "austerity[pymc]"')


def test_censored_variables_need_a_function_that_pytensor_lacks():
    x = np.array([-5.0, -1.0, 0.0, 0.5, 3.0, 10.0, 49.9, 50.1, 1e3, 1e8])
    with jax.enable_x64(True):
        np.testing.assert_allclose(erfcx(jax, jax.numpy.asarray(x)), special.erfcx(x), rtol=1e-12)
        slope = jax.vmap(jax.grad(lambda each: erfcx(jax, each)))(jax.numpy.asarray(x[1:7]))
    np.testing.assert_allclose(slope, 2.0 * x[1:7] * special.erfcx(x[1:7]) - 2.0 / np.sqrt(np.pi), atol=1e-12)
    y = np.array([-1.0, 0.2, 1.0, -0.5])
    with pm.Model() as censored:
        pm.Censored("y", pm.Normal.dist(pm.Normal("mean"), 1.0), lower=-1.0, upper=1.0, observed=y)
    model, mean = from_pymc(censored), 0.3
    tails = special.log_ndtr([-1.0 - mean, mean - 1.0])
    inside = -0.5 * (y[[1, 3]] - mean) ** 2 - 0.5 * np.log(2.0 * np.pi)
    found = model.log_likelihood(np.array([mean]), slice(0, 4))
    np.testing.assert_allclose(found, [tails[0], inside[0], tails[1], inside[1]])


def test_observed_and_censored_times_are_one_set_of_rows():
    """Survival times: a variable for those that were observed, and a potential for the others."""
    rng = np.random.default_rng(5)
    x, time, censored = rng.standard_normal(90), rng.exponential(1.0, 90), np.arange(90) % 3 == 0
    with pm.Model() as theirs:
        slope, shape = pm.Normal("slope"), pm.HalfNormal("shape")
        rate = pm.math.exp(slope * pm.Data("x", x))
        pm.Weibull("seen", shape, 1.0 / rate[~censored], observed=time[~censored])
        pm.Potential("left", -((rate[censored] * time[censored]) ** shape))
        pm.Potential("alone", -0.5 * slope**4)
        pm.Deterministic("rates", rate)
    model = from_pymc(theirs)
    assert model.n_data == 90 and sorted(model.unpack(np.zeros((2, 2)))) == ["shape", "slope"]
    log_density = theirs.compile_logp()
    for theta in 0.5 * rng.standard_normal((3, 2)):
        given = {variable.name: value for variable, value in zip(theirs.value_vars, theta, strict=True)}
        alpha, hazard = np.exp(theta[1]), np.exp(theta[0] * x) * time
        tail = -(hazard**alpha)
        seen = np.log(alpha) + alpha * np.log(hazard) - np.log(time) + tail
        expected = np.concatenate([seen[~censored], tail[censored]])
        everything = model.log_likelihood(theta, slice(0, 90))
        np.testing.assert_allclose(everything, expected, rtol=1e-10)
        assert model.log_prior(theta) + everything.sum() == pytest.approx(float(log_density(given)), rel=1e-11)
        np.testing.assert_allclose(model.log_likelihood(theta, np.array([88, 3, 60])), expected[[88, 3, 60]])
