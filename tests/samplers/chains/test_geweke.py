"""Geweke's joint test: alternate data given theta with kernel steps given the data; theta must keep its prior.

It finds errors of every kind in prior, likelihood, proposal ratio and decision at once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from designer import Design
from samplers.chains.chain import Chain
from samplers.chains.jump_chain import JumpChain
from samplers.decide import BarkerTest, ConcentrationTest, ExactTest, SequentialTest
from samplers.models.control import Controlled
from samplers.models.groups import Grouped, Groups
from samplers.models.ica import ICA
from samplers.models.lasso import Lasso
from samplers.models.logistic import Logistic
from samplers.models.mixture import Mixture, draw_mixture
from samplers.models.rj_logistic import RJLogistic
from samplers.proposals import ArrowStep, Langevin, Profile, ProxyStep, RandomWalk, StiefelWalk

N_DATA, DIMENSION, ROUNDS, BATCHES = 12, 2, 3000, 25


def walk(model: Logistic) -> tuple[Logistic, RandomWalk]:
    return model, RandomWalk.isotropic(1.2, DIMENSION)


def controlled_walk(model: Logistic) -> tuple[Controlled, RandomWalk]:
    return Controlled.around(model, np.array([0.5, -0.3])), RandomWalk.isotropic(1.2, DIMENSION)


def proxy(model: Logistic) -> tuple[Controlled, ProxyStep]:
    controlled = Controlled.around(model, np.array([0.2, 0.1]))
    return controlled, ProxyStep.of(controlled, 0.8)


def student(model: Logistic) -> tuple[Controlled, ProxyStep]:
    controlled = Controlled.around(model, np.array([0.2, 0.1]))
    return controlled, ProxyStep.of(controlled, 0.8, degrees=3.0)


def bent(model: Logistic) -> tuple[Controlled, ProxyStep]:
    """Any map must do: one that is made for other data is bent in the wrong places."""
    controlled = Controlled.around(model, np.array([0.2, 0.1]))
    knots, slant = np.linspace(-3.0, 3.0, 7)[None], np.array([[1.0, 0.5]])
    wrong = Profile(slant, np.ones(1), slant / 1.25, knots, knots + 0.1 * knots**2, 1.0 + 0.3 * np.abs(knots))
    return controlled, replace(ProxyStep.of(controlled, 0.9, degrees=6.0), profile=wrong)


def first_order(model: Logistic) -> tuple[Controlled, RandomWalk]:
    return Controlled.around(model, np.array([0.5, -0.3]), 1), RandomWalk.isotropic(1.2, DIMENSION)


@pytest.mark.parametrize("kernel", [walk, controlled_walk, first_order, proxy, student, bent])
@pytest.mark.parametrize("fuse", [True, False])
def test_theta_keeps_its_prior(kernel, fuse):
    assert np.all(np.abs(deviations(kernel, fuse)) < 4.0)


def test_a_wrong_proposal_ratio_is_found_out():
    """The test can fail: forget the ratio of the proxy proposal."""

    class Careless(ProxyStep):
        def propose(self, rng, theta):
            return super().propose(rng, theta)._replace(log_q=0.0)

    def careless(model):
        controlled, proposal = proxy(model)
        return controlled, Careless(proposal.centre, proposal.factor, proposal.precision, proposal.beta)

    assert np.abs(deviations(careless, False)).max() > 6.0


def deviations(kernel, fuse: bool) -> np.ndarray:
    """Of the first two moments of theta from those of N(0, I)."""
    rng = np.random.default_rng(12)
    x, theta = rng.standard_normal((N_DATA, DIMENSION)), rng.standard_normal(DIMENSION)

    def values() -> np.ndarray:
        nonlocal theta
        y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ theta))
        model, proposal = kernel(Logistic.from_data(x, y, prior_precision=1.0))
        chain = Chain(model, proposal, ExactTest(), theta, rng, fuse=fuse)
        chain.advance(3)
        theta = chain.theta
        return np.concatenate([theta, theta**2 - 1.0, theta[:1] * theta[1:]])

    return in_standard_errors(values, ROUNDS)


def in_standard_errors(values, rounds: int) -> np.ndarray:
    """Means of what `values` returns, round after round, in standard errors by batch means; all should be near 0."""
    found = np.array([values() for _ in range(rounds)])
    batches = found.reshape(BATCHES, -1, found.shape[1]).mean(axis=1)
    return batches.mean(axis=0) / (batches.std(axis=0, ddof=1) / np.sqrt(BATCHES))


# --- group effects ----------------------------------------------------------------------------------------------------


def group_deviations(fuse: bool, kind: type[ArrowStep] = ArrowStep, rounds: int = 1500) -> np.ndarray:
    """Of moments of one coefficient, two effects of three groups and their scale, all from their prior."""
    rng = np.random.default_rng(31)
    x, index = rng.standard_normal((N_DATA, 1)), np.arange(N_DATA) % 3
    towns = Groups(index, np.column_stack([np.ones(N_DATA), x]), scale=1.0, degrees=np.inf)
    theta = np.concatenate([rng.standard_normal(7), np.log(np.abs(rng.standard_normal(2)))])
    centre = np.array([0.2, 0.1, -0.3, 0.4, 0.0, 0.3, 0.1, -0.5, -0.2])

    def values() -> np.ndarray:
        nonlocal theta
        effects = theta[1:7].reshape(3, 2)
        eta = x[:, 0] * theta[0] + effects[index, 0] + effects[index, 1] * x[:, 0]
        y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-eta))
        model = Controlled.around(Grouped.of(linear(x, y), [towns]), centre)
        proposal = kind.of(model, 0.8, scale_step=0.7)
        chain = Chain(model, proposal, ExactTest(), theta, rng, fuse=fuse)
        chain.advance(3)
        theta = chain.theta
        scales = np.exp(theta[7:])
        ratios = theta[1:7].reshape(3, 2) / scales
        return np.concatenate(
            [theta[:1], theta[:1] ** 2 - 1.0, scales - np.sqrt(2.0 / np.pi), scales**2 - 1.0, *ratios, *ratios**2 - 1.0]
        )

    return in_standard_errors(values, rounds)


def linear(x: np.ndarray, y: np.ndarray) -> Logistic:
    return Logistic.mapped(x, y, prior_precision=1.0)


def test_effects_and_scales_keep_their_prior():
    assert np.all(np.abs(group_deviations(False)) < 4.0)


def test_effects_that_follow_their_scale_without_a_ratio_are_found_out():
    class Careless(ArrowStep):
        def propose(self, rng, theta):
            return super().propose(rng, theta)._replace(log_q=0.0)

    assert np.abs(group_deviations(False, Careless, 300)).max() > 6.0


# --- independent components -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fuse", [True, False])
def test_a_stiefel_walk_keeps_the_uniform_law_and_the_sources(fuse):
    """The angle stays uniform, and the unmixed data stay logistic: E |s| = 2 log 2."""
    rng = np.random.default_rng(21)
    w = np.array([[0.6, 0.8], [-0.8, 0.6]])

    def values() -> np.ndarray:
        nonlocal w
        x = rng.logistic(size=(4, 2)) @ w  # W x = s
        chain = Chain(ICA(x), StiefelWalk(0.8, 2), ExactTest(), w.ravel(), rng, fuse=fuse)
        chain.advance(3)
        w = chain.theta.reshape(2, 2)
        angle = np.arctan2(w[0, 1], w[0, 0])
        waves = [f(k * angle) for k in (1, 2, 4) for f in (np.cos, np.sin)]
        return np.array([*waves, np.abs(x @ w.T).mean() - 2.0 * np.log(2.0)])

    assert np.all(np.abs(in_standard_errors(values, 3000)) < 4.0)


# --- mixture ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("rule", ["metropolis", "barker"])
def test_the_means_of_a_mixture_keep_their_prior(fuse, rule):
    rng, theta = np.random.default_rng(22), np.array([0.5, -0.5])

    def values() -> np.ndarray:
        nonlocal theta
        x = draw_mixture(rng, 5, (theta[0], theta[1]), 2.0)
        model = Mixture.from_data(x, variance=2.0, prior_variances=(1.0, 4.0))
        chain = Chain(model, RandomWalk.isotropic(1.5, 2), ExactTest(), theta, rng, rule, fuse=fuse)
        chain.advance(3)
        theta = chain.theta
        return np.array([*theta, theta[0] ** 2 - 1.0, theta[1] ** 2 - 4.0, theta[0] * theta[1]])

    assert np.all(np.abs(in_standard_errors(values, 3000)) < 4.0)


# --- L1 regression ----------------------------------------------------------------------------------------------------


def slope_deviations(step, n_data: int, precision: float, rounds: int, x: np.ndarray | None = None) -> np.ndarray:
    """theta with prior exp(-|theta|) / 2, data y = theta x + noise, and step(model, theta, rng) -> theta."""
    rng, theta = np.random.default_rng(23), np.array([0.3])
    x = rng.uniform(0.5, 1.5, n_data) if x is None else x

    def values() -> np.ndarray:
        nonlocal theta
        y = theta[0] * x + rng.normal(0.0, precision**-0.5, n_data)
        theta = step(Lasso(np.column_stack([x, y]), precision, 1.0), theta, rng)
        return np.array([theta[0], abs(theta[0]) - 1.0, theta[0] ** 2 - 2.0, np.mean(y - theta[0] * x)])

    return in_standard_errors(values, rounds)


class CarelessLangevin(Langevin):
    def propose(self, rng, theta):
        return super().propose(rng, theta)._replace(log_q=0.0)


def langevin_step(kind, fuse: bool = True, size: float = 0.8):
    def step(model: Lasso, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        chain = Chain(model, kind(model, step=size, batch=3), ExactTest(), theta, rng, fuse=fuse)
        chain.advance(3)
        return chain.theta

    return step


@pytest.mark.parametrize("fuse", [True, False])
def test_langevin_steps_on_l1_regression_keep_the_laplace_prior(fuse):
    assert np.all(np.abs(slope_deviations(langevin_step(Langevin, fuse), 8, 0.3, 3000)) < 4.0)


def test_a_langevin_step_without_its_ratio_is_found_out():
    """By small steps: of large ones most are refused, and a chain that hardly moves is not known to be wrong."""
    assert np.abs(slope_deviations(langevin_step(CarelessLangevin, size=0.3), 8, 0.3, 3000)).max() > 6.0


TESTS = {
    "sequential": (SequentialTest.from_design(Design(300, 50, 0.01)), "metropolis"),
    "sequential, Barker's rule": (SequentialTest.from_design(Design(300, 50, 0.01)), "barker"),
    "Barker minibatch": (BarkerTest(m=30), "barker"),
    "Barker minibatch, for skewed terms": (BarkerTest(m=30, skew_corrected=True), "barker"),
    "concentration": (ConcentrationTest(m=50, delta=0.1), "metropolis"),
}


@pytest.mark.parametrize("name", TESTS)
def test_kernels_that_read_some_of_the_data_keep_the_prior(name):
    """300 data that say as much as the prior; their terms are normal, so that the tests err too little to be seen."""
    (test, rule), used = TESTS[name], []

    def step(model: Lasso, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        chain = Chain(model, RandomWalk.isotropic(2.0, 1), test, theta, rng, rule)
        used.append(chain.advance(3).n_used)
        return chain.theta

    found = slope_deviations(step, 300, 1.0 / 300.0, 2000, np.ones(300))
    assert np.all(np.abs(found) < 4.0)
    if name != "concentration":  # whose bound needs all of so few data
        assert np.mean(used) < 0.8 * 300


# --- reversible jump --------------------------------------------------------------------------------------------------


class Capped(RJLogistic):
    """With a ceiling as well as a floor the prior is proper: P(k) ~ rate^k / k!, |beta|_1 log-uniform between them."""

    def jump(self, state, move, component, change):
        jump = super().jump(state, move, component, change)
        return jump._replace(log_ratio=np.inf) if np.abs(jump.state.beta).sum() > CEILING else jump


class Forgetful(Capped):
    def _birth_ratio(self, k, norm, new_norm, born):
        return super()._birth_ratio(k, norm, new_norm, born) + np.log(2.0)


FLOOR, CEILING, RATE, COEFFICIENTS = 0.3, 3.0, 1.5, 3


def jump_deviations(kind) -> np.ndarray:
    rng = np.random.default_rng(24)
    x = rng.standard_normal((6, COEFFICIENTS))
    weights = np.array([RATE, RATE**2 / 2.0, RATE**3 / 6.0])
    shares = weights / weights.sum()
    middle = 0.5 * (np.log(FLOOR) + np.log(CEILING))
    theta = np.array([0.5, 0.0, 0.0])

    def values() -> np.ndarray:
        nonlocal theta
        y = rng.random(6) < 1.0 / (1.0 + np.exp(-x @ theta))
        options = {"rate": RATE, "sd_update": 0.8, "sd_birth": 0.8, "floor": FLOOR}
        model = kind(x * np.where(y, 1.0, -1.0)[:, None], **options)
        theta = JumpChain(model, ExactTest(), theta, rng).advance(3).theta[-1]
        k = np.arange(1, COEFFICIENTS + 1) == np.count_nonzero(theta)
        return np.array([*(k - shares), np.log(np.abs(theta).sum()) - middle, *theta])

    return in_standard_errors(values, 3000)


def test_jumps_between_models_keep_the_prior():
    assert np.all(np.abs(jump_deviations(Capped)) < 4.0)


def test_a_wrong_jump_ratio_is_found_out():
    assert np.abs(jump_deviations(Forgetful)).max() > 6.0
