"""Geweke's joint test: alternate data given theta with kernel steps given the data; theta must keep its prior.

It finds errors of every kind in prior, likelihood, proposal ratio and decision at once.
"""

from __future__ import annotations

import numpy as np
import pytest

from samplers.accept.exact import ExactTest
from samplers.chain import Chain
from samplers.control import Controlled
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk

N_DATA, DIMENSION, ROUNDS, BATCHES = 12, 2, 8000, 25


def walk(model: Logistic) -> tuple[Logistic, RandomWalk]:
    return model, RandomWalk.isotropic(1.2, DIMENSION)


def controlled_walk(model: Logistic) -> tuple[Controlled, RandomWalk]:
    return Controlled.around(model, np.array([0.5, -0.3])), RandomWalk.isotropic(1.2, DIMENSION)


def proxy(model: Logistic) -> tuple[Controlled, ProxyStep]:
    controlled = Controlled.around(model, np.array([0.2, 0.1]))
    return controlled, ProxyStep.of(controlled, 0.8)


def first_order(model: Logistic) -> tuple[Controlled, RandomWalk]:
    return Controlled.around(model, np.array([0.5, -0.3]), 1), RandomWalk.isotropic(1.2, DIMENSION)


@pytest.mark.parametrize("kernel", [walk, controlled_walk, first_order, proxy])
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
    """Of the first two moments of theta from those of N(0, I), in standard errors by batch means."""
    rng = np.random.default_rng(12)
    x, theta = rng.standard_normal((N_DATA, DIMENSION)), rng.standard_normal(DIMENSION)
    draws = np.empty((ROUNDS, DIMENSION))
    for k in range(ROUNDS):
        y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ theta))
        model, proposal = kernel(Logistic.from_data(x, y, prior_precision=1.0))
        chain = Chain(model, proposal, ExactTest(), theta, rng, fuse=fuse)
        chain.advance(3)
        draws[k] = theta = chain.theta
    values = np.hstack([draws, draws**2 - 1.0, draws[:, :1] * draws[:, 1:]])
    batches = values.reshape(BATCHES, -1, values.shape[1]).mean(axis=1)
    return batches.mean(axis=0) / (batches.std(axis=0, ddof=1) / np.sqrt(BATCHES))
