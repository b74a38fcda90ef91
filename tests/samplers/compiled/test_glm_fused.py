"""Fused generalised linear models against the protocols, draw for draw, and what a test of all data adds up."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from designer import Design
from samplers.chains.chain import Chain
from samplers.compiled.build import fused_parts
from samplers.compiled.decisions import begin
from samplers.decide import BarkerTest, ExactMinibatchTest, ExactTest, SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.families.own import OwnFamily
from samplers.models.glm import glm_model
from samplers.models.priors import Flat, Laplace, StudentT
from samplers.models.tempered import tempered
from samplers.proposals import ProxyStep, RandomWalk
from tests.samplers.glm_data import FAMILIES, N_DATA, data

SEVERAL = ("gaussian, sigma", "student-t, both", "negative-binomial, dispersion", "gamma, shape", "softmax")
BOTH = ("sequential", "exact")  # Barker's test reads as the sequential one; several predictors have no bounds
TESTS = {
    "sequential": (SequentialTest.from_design(Design(N_DATA - 20, 150, 0.05)), "metropolis"),
    "exact": (ExactTest(), "barker"),
    "Barker minibatch": (BarkerTest(m=100), "barker"),
    "exact minibatch": (ExactMinibatchTest(), "metropolis"),
}


def controlled(name: str, **options) -> tuple:
    """Control variates with heavy rows anywhere, offsets and weights."""
    x, y, more = data(name)
    model = glm_model(x, y, name.split(",")[0], prior=1.0, **more, **options)
    heavy = np.r_[0:12, N_DATA - 8 : N_DATA]
    proxied = Controlled.around(model, find_mode(model), heavy=heavy)
    return proxied, ProxyStep.of(proxied, 0.9), proxied.centre


def same(parts: tuple, test: object, rule: str = "metropolis", steps: int = 150) -> None:
    model, proposal, start = parts
    assert fused_parts(model, proposal, test, rule) is not None
    fast, slow = (
        Chain(model, proposal, test, start, np.random.default_rng(5), rule, fuse=fuse).advance(steps)
        for fuse in (True, False)
    )
    np.testing.assert_array_equal(fast.accepted, slow.accepted)
    np.testing.assert_array_equal(fast.n_used, slow.n_used)
    np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-9, atol=1e-12)
    assert fast.accepted.sum() > 0


@pytest.mark.parametrize(
    ("name", "test"),
    [*((name, test) for name in FAMILIES for test in TESTS), *((name, test) for name in SEVERAL for test in BOTH)],
)
def test_the_fused_chain_makes_the_same_decisions_as_the_protocols(name, test):
    same(controlled(name), *TESTS[test])


def mapped() -> tuple:
    """float32 rows whose expansions are computed when they are read, of order 1, tempered."""
    x, y, more = data("poisson")
    model = tempered(glm_model(x.astype(np.float32), y, "poisson", prior=StudentT(1.0, 3.0), **more), 2.0)
    proxied = Controlled.around(model, find_mode(model), 1, stored=False, heavy=np.r_[0:12, N_DATA - 8 : N_DATA])
    return proxied, RandomWalk.isotropic(0.03, 3), proxied.centre


def expanded() -> tuple:
    x, y, more = data("probit")
    model = glm_model(x, y, "probit", prior=Laplace(0.5), **more)
    proxied = Controlled.around(model, find_mode(model), stored=False, heavy=np.r_[0:12, N_DATA - 8 : N_DATA])
    return proxied, ProxyStep.of(proxied, 0.9), proxied.centre


def plain() -> tuple:
    x, y, more = data("student-t")
    model = glm_model(
        x[:-20],
        y[:-20],
        "student-t",
        prior=Flat(),
        **{k: v for k, v in more.items() if k != "offset" and k != "weights"},
    )
    return model, RandomWalk.isotropic(0.05, 3), find_mode(model)


def plain_several() -> tuple:
    x, y, _ = data("softmax")
    model = tempered(glm_model(x[:-20], y[:-20], "softmax", prior=1.0), 3.0)
    return model, RandomWalk.isotropic(0.05, 9), np.zeros(9)


def hot_several() -> tuple:
    x, y, more = data("negative-binomial, dispersion")
    model = tempered(glm_model(x, y, "negative-binomial", prior=1.0, **more), 3.0)
    proxied = Controlled.around(model, find_mode(model), heavy=np.r_[0:12, N_DATA - 8 : N_DATA])
    return proxied, ProxyStep.of(proxied, 0.9), proxied.centre


LAYOUTS = (mapped, expanded, plain, plain_several, hot_several)


@pytest.mark.parametrize("parts", LAYOUTS)
def test_other_layouts_priors_and_temperatures(parts):
    same(parts(), TESTS["sequential"][0])


@pytest.mark.parametrize("parts", [expanded, hot_several, plain])
def test_the_exact_test_knows_the_log_likelihood_of_all_data(parts):
    model, proposal, start = parts()
    theta = start + 0.1
    fused, _, test = fused_parts(model, proposal, ExactTest())
    begin(fused, test, theta)
    values = model.log_likelihood(theta, np.arange(model.n_data))
    assert test.totals[0] == pytest.approx(math.fsum(values), rel=1e-11, abs=1e-11 * np.abs(values).sum())


def test_a_family_of_ones_own_runs_fused():
    """Poisson by differences makes the decisions of the built-in one: its proxies differ by 1e-10.

    So does one with derivatives, in the exact mini-batch test, which needs them.
    """
    x, y, more = data("poisson")

    def value(eta, y):
        return y * eta - math.exp(min(eta, 300.0))

    def bound(low, high, y):
        return math.exp(min(high, 300.0))

    def slope(eta, y):
        return y - math.exp(min(eta, 300.0))

    def curvature(eta, y):
        return -math.exp(min(eta, 300.0))

    assert not OwnFamily(value, second_bound=bound, third_bound=bound).bounded  # by differences: not the true parabola
    sequential = SequentialTest.from_design(Design(x.shape[0], 100, 0.05))
    for family, test in (
        (OwnFamily(value), sequential),
        (OwnFamily(value, slope, curvature, bound, bound), ExactMinibatchTest()),
    ):
        draws = []
        for given in (family, "poisson"):
            model = glm_model(x, y, given, prior=1.0, **more)
            proxied = Controlled.around(model, find_mode(model))
            parts = proxied, ProxyStep.of(proxied, 0.9), test
            assert fused_parts(*parts) is not None
            draws.append(Chain(*parts, proxied.centre, np.random.default_rng(5)).advance(200))
        np.testing.assert_array_equal(draws[0].n_used, draws[1].n_used)
        np.testing.assert_allclose(draws[0].theta, draws[1].theta, atol=1e-6)


AGAIN = """
import numpy as np
from designer import Design
from samplers import Chain, Controlled, RandomWalk, SequentialTest, glm_model
from samplers.compiled.block import run_block
from samplers.models.families.counts import Poisson
from samplers.models.families.kernels import kernels_of
x = np.ones((300, 1))
model = Controlled.around(glm_model(x, np.arange(300) % 3, "poisson", prior=1.0), np.zeros(1))
test = SequentialTest.from_design(Design(300, 50, 0.05))
Chain(model, RandomWalk.isotropic(0.1, 1), test, np.zeros(1), np.random.default_rng(1)).advance(5)
print(sum(sum(each.stats.cache_misses.values()) for each in (run_block, *kernels_of(Poisson)[:3])))
"""


def test_a_second_process_compiles_nothing():
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", AGAIN], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "0"
