"""Control variates that follow the chain in warmup: what they save, that nothing else changes, that they resume."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Design
from samplers.adapt.recentre import Recentring
from samplers.chains.chain import Chain, compare
from samplers.decide import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk

N_DATA, DIMENSION = 20_000, 3


@pytest.fixture(scope="module")
def base() -> Logistic:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N_DATA, DIMENSION))
    return Logistic.from_data(x, rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ [1.0, -0.5, 0.0])), prior_precision=1.0)


@pytest.fixture(scope="module")
def sds(base) -> np.ndarray:
    return np.sqrt(np.diag(np.linalg.inv(Controlled.around(base, find_mode(base)).posterior_precision())))


def far_off(base, sds, order: int = 2) -> Controlled:
    return Controlled.around(base, find_mode(base) + 12.0 * sds, order)


def walk(sds) -> RandomWalk:
    return RandomWalk(np.diag(sds) * 1.2)


def sequential():
    return SequentialTest.from_design(Design(N_DATA, 200, 0.05))


def warm_up(chain: Chain, recentring: Recentring, blocks: int) -> list[float]:
    read = []
    for _ in range(blocks):
        part = chain.advance(128)
        read.append(float(part.n_used.mean()))
        if recentring.learn(part):
            chain.use(recentring.follow(chain.proposal), recentring.model)
    return read


@pytest.mark.parametrize("order", [1, 2])
def test_a_chain_far_from_its_centre_reads_less_after_warmup(base, sds, order):
    model = far_off(base, sds, order)
    chain = Chain(model, walk(sds), sequential(), model.centre, np.random.default_rng(2))
    recentring = Recentring(model)
    read = warm_up(chain, recentring, 24)
    assert 1 <= recentring.moves <= 4
    near = np.abs(recentring.model.centre - find_mode(base)) / sds
    assert np.all(near < 1.5)
    assert read[-1] < 0.5 * max(read[2:])


def test_a_chain_at_its_centre_stays_there(base, sds):
    model = Controlled.around(base, find_mode(base))
    chain = Chain(model, ProxyStep.of(model), sequential(), model.centre, np.random.default_rng(3))
    recentring = Recentring(model)
    warm_up(chain, recentring, 24)
    assert recentring.moves == 0 and recentring.model is model and chain.model is model


def test_the_posterior_is_the_same_elsewhere(base, sds):
    model = far_off(base, sds)
    other = model.recentred(find_mode(base), stored=False)
    rng, every = np.random.default_rng(4), np.arange(N_DATA)
    for _ in range(3):
        theta, new = find_mode(base) + sds * rng.standard_normal((2, DIMENSION))
        a = [c.terms(every).sum() - c.log_ratio for c in (compare(m, theta, new) for m in (base, model, other))]
        assert a[1:] == pytest.approx([a[0]] * 2, abs=1e-8)


def test_proxy_proposals_follow(base, sds):
    model = Controlled.around(base, find_mode(base) + 6.0 * sds)
    proposal = ProxyStep.of(model, 0.3)
    chain = Chain(model, proposal, sequential(), model.centre, np.random.default_rng(5))
    recentring = Recentring(model)
    warm_up(chain, recentring, 16)
    assert recentring.moves > 0
    assert chain.proposal.beta == 0.3
    np.testing.assert_array_equal(chain.proposal.centre, ProxyStep.of(recentring.model).centre)
    assert np.all(np.abs(chain.proposal.centre - find_mode(base)) < 0.05 * sds)
    assert chain.model is recentring.model and chain._fused is not None
    assert chain.advance(300).accepted.mean() > 0.8


@pytest.mark.parametrize("stop", [1, 6, 10, 17])
def test_a_stopped_warmup_goes_on_to_the_same_draws(base, sds, stop):
    model = far_off(base, sds)
    whole = Chain(model, walk(sds), sequential(), model.centre, np.random.default_rng(6))
    recentring = Recentring(model)
    warm_up(whole, recentring, stop)
    saved = recentring.state(), whole.theta.copy(), whole.rng.bit_generator.state
    saved = {name: np.array(value) for name, value in saved[0].items()}, *saved[1:]
    warm_up(whole, recentring, 20 - stop)

    again = Recentring(model)
    again.restore(saved[0])
    resumed = Chain(model, walk(sds), sequential(), saved[1], np.random.default_rng(0))
    resumed.rng.bit_generator.state = saved[2]
    resumed.use(again.follow(resumed.proposal), again.model)
    warm_up(resumed, again, 20 - stop)
    np.testing.assert_array_equal(resumed.theta, whole.theta)
    assert again.moves == recentring.moves > 0
    np.testing.assert_array_equal(again.model.centre, recentring.model.centre)
