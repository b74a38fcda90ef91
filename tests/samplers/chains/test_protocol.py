"""Every chain follows the protocol: the same draws by blocks and by steps, from a restored state, with another test."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from designer import BadInput, Design
from samplers import (
    Chain,
    DenseMRF,
    ExactTest,
    JumpChain,
    Logistic,
    RandomWalk,
    RJLogistic,
    SequentialTest,
    Slice,
    SliceChain,
    ValuedMRF,
)
from samplers.chains.gibbs import GibbsChain
from samplers.chains.gibbs_values import ValueGibbsChain
from samplers.chains.protocol import MarkovChain
from samplers.study.observe import observe

N_DATA, MEMBERS = 500, [name for name, _ in inspect.getmembers(MarkovChain) if not name.startswith("_")]


def data():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N_DATA, 2))
    return x, rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x[:, 0]))


def sequential(n_data: int, m: int = 50) -> SequentialTest:
    return SequentialTest.from_design(Design(n_data, m, 0.05))


def metropolis(seed, fuse=True):
    model = Logistic.from_data(*data(), prior_precision=1.0)
    start = np.array([1.0, 0.0])
    return Chain(model, RandomWalk.isotropic(0.1, 2), sequential(N_DATA), start, np.random.default_rng(seed), fuse=fuse)


def protocols(seed):
    return metropolis(seed, fuse=False)


def slices(seed):
    model = Logistic.from_data(*data(), prior_precision=1.0)
    rng = np.random.default_rng(seed)
    return SliceChain(model, Slice.isotropic(0.1, 2), sequential(N_DATA), np.array([1.0, 0.0]), rng)


def jumps(seed):
    model = RJLogistic.from_data(*data(), rate=0.1)
    return JumpChain(model, sequential(N_DATA), np.array([1.0, 0.0]), np.random.default_rng(seed))


def gibbs(seed):
    field = DenseMRF.random(np.random.default_rng(1), dimension=15, sd=0.1)
    return GibbsChain(field, sequential(field.n_data, 20), np.zeros(15), np.random.default_rng(seed), thin=2)


def values(seed):
    field = ValuedMRF.random(np.random.default_rng(1), dimension=10, n_values=3)
    return ValueGibbsChain(field, sequential(field.n_data, 10), np.zeros(10), np.random.default_rng(seed))


CHAINS = [metropolis, protocols, slices, jumps, gibbs, values]
every = pytest.mark.parametrize("make", CHAINS)


def same(one, other):
    for name, left, right in zip(one._fields, one, other, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name)


@every
def test_it_has_every_member(make):
    chain = make(1)
    assert len(MEMBERS) > 10
    assert [name for name in (*MEMBERS, "rng", "theta", "steps") if not hasattr(chain, name)] == []


@every
def test_blocks_and_single_steps_make_the_same_draws(make):
    whole, parts, steps = make(2), make(2), make(2)
    draws = whole.advance(40)
    same(draws, type(draws).joined([parts.advance(k) for k in (1, 30, 9)]))
    by_steps = steps.advance_by_steps(40)
    np.testing.assert_allclose(by_steps.theta, draws.theta, rtol=1e-9, atol=1e-12)  # compiled blocks round otherwise
    np.testing.assert_array_equal(by_steps.n_used, draws.n_used)
    assert whole.steps == parts.steps == steps.steps == 40
    assert draws.accepted.any()
    np.testing.assert_array_equal(draws.theta[-1], whole.theta)


@every
def test_a_restored_chain_continues_as_if_it_had_never_stopped(make):
    chain, other = make(3), make(4)
    chain.advance(20)
    saved = chain.state()
    expected = chain.advance(20)
    other.advance(5)
    other.restore(saved)
    assert other.steps == 20
    same(other.advance(20), expected)
    assert saved["steps"] == 20  # the state was a copy


@every
def test_another_test_is_used_from_there_on_and_must_be_for_as_many_data(make):
    chain = make(5)
    with pytest.raises(BadInput, match="the test was designed for n_data = 77"):
        chain.use_test(sequential(77, 20))
    assert np.any(chain.advance(10).n_used % chain.n_data > 0)
    chain.use_test(ExactTest())
    used = chain.advance(10).n_used
    assert np.all(used % chain.n_data == 0) and used.sum() >= 9 * chain.data_per_step


@every
def test_probes_are_the_same_for_the_same_chain_and_random_numbers(make):
    def of(chain):
        return [[probe.log_ratio, *probe.terms(np.arange(probe.n))] for probe in chain.probes(np.random.default_rng(6))]

    one, other = of(make(7)), of(make(8))
    assert len(one) > 2
    np.testing.assert_array_equal(one, other)
    assert np.ptp([sum(numbers) for numbers in one]) > 0.0


@pytest.mark.parametrize("make", [slices, gibbs, values])
def test_chains_whose_steps_are_no_pairs_refuse_trial_runs(make):
    chain = make(9)
    with pytest.raises(BadInput, match="is not one decision about one pair"):
        observe(chain, 10, 2)
    assert chain.steps == 0


@pytest.mark.parametrize("make", [metropolis, protocols, jumps])
def test_trial_runs_change_no_draw(make):
    plain, observed = make(10).advance(30), observe(make(10), 30, 4)
    np.testing.assert_allclose(observed.draws.theta, plain.theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(observed.draws.n_used, plain.n_used)
    assert len(observed.pairs) == 7


@pytest.mark.parametrize("make", [slices, jumps, gibbs, values])
def test_a_proposal_that_cannot_change_says_so(make):
    with pytest.raises(BadInput, match="its proposal cannot change"):
        make(11).use(RandomWalk.isotropic(0.1, 2))
