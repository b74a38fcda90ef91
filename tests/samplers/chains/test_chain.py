"""Chains: fused against protocols, independence of workers, exactness in the limit, stationarity, faults."""

from __future__ import annotations

import numpy as np
import pytest

from designer import BadInput, Design
from designer.rule.boundary import LEAST_EPSILON
from samplers.chains.chain import Chain
from samplers.chains.draws import ChainStopped
from samplers.chains.parallel import streams
from samplers.compiled.block import run_block
from samplers.compiled.build import fused_parts
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.runs.run_chains import run

N_DATA, DIMENSION = 3000, 4


@pytest.fixture(scope="module")
def model() -> Logistic:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N_DATA, DIMENSION))
    y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ rng.normal(0.0, 0.5, DIMENSION)))
    return Logistic.from_data(x, y, prior_precision=1.0)


@pytest.fixture(scope="module")
def controlled(model: Logistic) -> Controlled:
    return Controlled.around(model, find_mode(model))


@pytest.fixture(scope="module")
def covariance(controlled: Controlled) -> np.ndarray:
    return np.linalg.inv(controlled.posterior_precision())


def sequential(epsilon: float = 0.05, m: int = 150) -> SequentialTest:
    return SequentialTest.from_design(Design(N_DATA, m, epsilon))


@pytest.mark.parametrize("kind", ["plain walk", "controlled walk", "proxy", "small proxy step"])
@pytest.mark.parametrize("exact", [False, True])
def test_the_fused_chain_makes_the_same_decisions_as_the_protocols(kind, exact, model, controlled, covariance):
    which = model if kind == "plain walk" else controlled
    walk = RandomWalk.with_covariance(covariance)
    proposal = ProxyStep.of(controlled, 0.4 if kind == "small proxy step" else 1.0) if "proxy" in kind else walk
    test = ExactTest() if exact else sequential()
    assert fused_parts(which, proposal, test) is not None
    fast, slow = (
        run(which, proposal, test, start=controlled.centre, draws=150, chains=2, seed=4, fuse=fuse)
        for fuse in (True, False)
    )
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one.accepted, other.accepted)
        np.testing.assert_array_equal(one.n_used, other.n_used)
        np.testing.assert_array_equal(one.n_looks, other.n_looks)
        np.testing.assert_allclose(one.theta, other.theta, rtol=1e-9, atol=1e-12)
    assert fast[0].accepted.any()


def test_the_draws_depend_on_the_seed_alone(controlled):
    call = {"start": controlled.centre, "draws": 400, "chains": 3}
    parts = (controlled, ProxyStep.of(controlled), sequential())
    one, many = (run(*parts, **call, seed=7, workers=workers) for workers in (1, 3))
    other = run(*parts, **call, seed=8)
    for mine, yours in zip(one, many, strict=True):
        np.testing.assert_array_equal(mine.theta, yours.theta)
    assert not np.array_equal(one[0].theta, other[0].theta)
    assert not np.array_equal(one[0].theta, one[1].theta)


def test_block_sizes_do_not_matter(controlled):
    chains = [
        Chain(controlled, ProxyStep.of(controlled), sequential(), controlled.centre, streams(3, 1)[0]) for _ in range(2)
    ]
    whole = chains[0].advance(300).theta
    parts = np.concatenate([chains[1].advance(k).theta for k in (1, 99, 200)])
    np.testing.assert_array_equal(whole, parts)


def test_epsilon_towards_zero_gives_the_exact_chain_draw_for_draw(model, covariance, controlled):
    """The sequential test draws u first, but then data: the streams part. So compare decisions step by step."""
    proposal = RandomWalk.with_covariance(covariance)
    theta = controlled.centre
    for seed in range(60):
        results = []
        for test in (ExactTest(), sequential(LEAST_EPSILON)):
            chain = Chain(model, proposal, test, theta, np.random.default_rng(seed))
            results.append((chain.advance(1), chain))
        assert results[0][0].accepted[0] == results[1][0].accepted[0]
        np.testing.assert_allclose(results[0][0].theta, results[1][0].theta)
        theta = results[0][1].theta


def test_the_controlled_chain_has_the_posterior_of_the_exact_one(controlled, covariance):
    """Proxy proposals are nearly independent draws: moments within 4 standard errors of an exact run's."""
    start, proposal = controlled.centre, ProxyStep.of(controlled)
    draws = {}
    for name, test in (("sequential", sequential(0.01, 100)), ("exact", ExactTest())):
        chains = run(controlled, proposal, test, start=start, draws=6000, warmup=50, chains=2, seed=11)
        draws[name] = np.concatenate([chain.theta for chain in chains])
    n = 12_000 / 1.3  # acceptance is about 0.95
    sd = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(draws["sequential"].mean(0) - draws["exact"].mean(0)) < 4 * sd * np.sqrt(2 / n))
    assert np.all(np.abs(draws["sequential"].std(0) / draws["exact"].std(0) - 1) < 4 / np.sqrt(n))


def test_warmup_is_thrown_away_and_progress_told(controlled):
    told = []
    parts = (controlled, ProxyStep.of(controlled), sequential())
    chains = run(*parts, start=controlled.centre, draws=300, warmup=200, chains=2, progress=told.append)
    assert [chain.theta.shape for chain in chains] == [(300, DIMENSION)] * 2
    assert told[-1].done == told[-1].total == 1000
    assert 0.5 < told[-1].acceptance <= 1
    assert 0 < told[-1].usage < 0.3
    assert told[-1].rate > 0
    assert told[-1].seconds_left == 0
    long = run(*parts, start=controlled.centre, draws=500, chains=2)
    np.testing.assert_array_equal(chains[0].theta, long[0].theta[200:])


def test_a_cancelled_run_returns_what_there_is(controlled):
    seen = []
    stop = {"progress": seen.append, "cancelled": lambda: bool(seen) and seen[-1].done >= 700}
    parts = (controlled, ProxyStep.of(controlled), sequential())
    chains = run(*parts, start=controlled.centre, draws=10**6, chains=1, **stop)
    assert chains[0].theta.shape == (seen[-1].done, DIMENSION)
    assert 700 <= seen[-1].done < 1000


@pytest.mark.parametrize("fuse", [True, False])
def test_a_likelihood_that_is_not_finite_stops_the_chain_and_names_the_datum(fuse, controlled, covariance):
    rows = controlled.model.rows.copy()
    rows[17, 0] = np.nan
    broken = Logistic(rows, 1.0)
    chain = Chain(
        broken, RandomWalk.with_covariance(covariance), sequential(0.05, 100), controlled.centre,
        np.random.default_rng(5), fuse=fuse,
    )  # fmt: skip
    with pytest.raises(ChainStopped, match="of datum 17 is not finite at θ = ") as stopped:
        chain.advance(2000)
    assert stopped.value.step == stopped.value.draws.accepted.size == chain.steps
    assert np.all(np.isfinite(stopped.value.draws.theta))


def test_the_stopped_chain_is_the_same_fused_or_not(controlled, covariance):
    rows = controlled.model.rows.copy()
    rows[17, 0] = np.nan
    stops = []
    for fuse in (True, False):
        parts = Logistic(rows, 1.0), RandomWalk.with_covariance(covariance), sequential(0.05, 100), controlled.centre
        with pytest.raises(ChainStopped) as stopped:
            Chain(*parts, np.random.default_rng(5), fuse=fuse).advance(2000)
        stops.append(stopped.value)
    assert stops[0].step == stops[1].step
    np.testing.assert_allclose(stops[0].theta, stops[1].theta)


def test_a_subclass_is_not_taken_for_the_built_in_model(model, controlled, covariance):
    class Tight(Logistic):
        def log_prior(self, theta):
            return -0.5e8 * float(theta @ theta)

    tight = Tight(model.rows, 1.0)
    assert fused_parts(tight, RandomWalk.with_covariance(covariance), ExactTest()) is None
    chains = run(tight, RandomWalk.isotropic(0.03, 4), ExactTest(), start=np.zeros(4), draws=200, chains=1)
    assert np.abs(chains[0].theta[-1]).max() < 0.01


def test_wrong_dimensions_are_refused(model):
    rng = np.random.default_rng(0)
    with pytest.raises(BadInput, match="start: has 3 numbers, the model 4"):
        Chain(model, RandomWalk.isotropic(0.1, 3), ExactTest(), np.zeros(3), rng)
    with pytest.raises(BadInput, match="proposal: is for 2 numbers, start has 4"):
        Chain(model, RandomWalk.isotropic(0.1, 2), ExactTest(), np.zeros(4), rng)


@pytest.mark.parametrize("exact", [True, False])
def test_infinite_likelihoods_stop_both_paths_at_the_same_step(exact, controlled):
    rows = controlled.model.rows.copy()
    rows[17] = (-1.7e308, 0.0, 0.0, 0.0)  # finite at theta, -inf where theta_1 exceeds 1.06
    stops = []
    for fuse in (True, False):
        test = ExactTest() if exact else sequential(0.05, 1000)  # reads that row in a third of the steps
        chain = Chain(
            Logistic(rows, 1.0), RandomWalk.isotropic(0.5, 4), test, controlled.centre,
            np.random.default_rng(5), fuse=fuse,
        )  # fmt: skip
        with pytest.raises(ChainStopped, match="datum 17") as stopped:
            chain.advance(3000)
        stops.append((stopped.value.step, chain.theta.copy(), chain.rng.random()))
    assert stops[0][0] == stops[1][0]
    np.testing.assert_allclose(stops[0][1], stops[1][1])
    assert stops[0][2] == stops[1][2]  # the random numbers stand where the bad step began


def test_a_prior_that_vanishes_decides_without_data(model, covariance, controlled):
    class Positive(Logistic):
        def log_prior(self, theta):
            return -np.inf if theta[0] < controlled.centre[0] else 0.0

    chain = Chain(
        Positive(model.rows, 1.0), RandomWalk.with_covariance(covariance), sequential(), controlled.centre,
        np.random.default_rng(1),
    )  # fmt: skip
    draws = chain.advance(200)
    assert draws.n_used.min() == 0
    assert np.all(draws.theta[:, 0] >= controlled.centre[0])


def test_bad_input_is_refused_before_sampling(model, controlled, covariance):
    walk = RandomWalk.with_covariance(covariance)
    other = SequentialTest.from_design(Design(N_DATA + 1, 100, 0.1))
    with pytest.raises(BadInput, match="designed for n_data = 3,001, the model has 3,000"):
        Chain(model, walk, other, controlled.centre, np.random.default_rng(0))
    with pytest.raises(BadInput, match="start"):
        Chain(model, walk, ExactTest(), [np.nan] * 4, np.random.default_rng(0))
    with pytest.raises(BadInput, match="draws = 0"):
        run(model, walk, ExactTest(), start=controlled.centre, draws=0)


def test_a_bound_that_the_model_knows_spares_the_concentration_test_a_full_pass():
    from samplers.models.mixture import Mixture, draw_mixture

    model = Mixture.from_data(draw_mixture(np.random.default_rng(1), 2000), temperature=20.0)
    chain = Chain(model, RandomWalk.isotropic(0.5, 2), ConcentrationTest(m=100), [0.0, 1.0], np.random.default_rng(2))
    assert chain.advance(200).n_used.max() <= 2000


class Exhausted(RandomWalk):
    """Finds no memory at its 40th proposal."""

    calls = 0

    def propose(self, rng, theta):
        Exhausted.calls += 1
        if Exhausted.calls == 40:
            raise MemoryError("no room")
        return super().propose(rng, theta)


@pytest.mark.parametrize("test", [ExactTest(), sequential()])
def test_an_error_takes_the_chain_back_to_the_begin_of_the_block(model, covariance, controlled, test):
    Exhausted.calls = 0
    chains = [Chain(model, kind(covariance), test, controlled.centre, streams(3, 1)[0])
              for kind in (Exhausted.with_covariance, RandomWalk.with_covariance)]  # fmt: skip
    chains[0].advance(30)
    with pytest.raises(MemoryError, match="no room"):
        chains[0].advance(30)
    assert chains[0].steps == 30
    np.testing.assert_allclose(chains[0].advance(30).theta, chains[1].advance(60).theta[30:])


def test_an_error_in_the_fused_block_takes_the_chain_back(controlled, monkeypatch):
    parts = controlled, ProxyStep.of(controlled), sequential(), controlled.centre
    chains = [Chain(*parts, streams(3, 1)[0]) for _ in range(2)]

    def exhausted(rng, *arguments):
        run_block(rng, *arguments)
        raise MemoryError("no room")

    with monkeypatch.context() as patched:
        patched.setattr("samplers.chains.chain.run_block", exhausted)
        with pytest.raises(MemoryError, match="no room"):
            chains[0].advance(30)
    assert chains[0].steps == 0
    np.testing.assert_array_equal(chains[0].advance(30).theta, chains[1].advance(30).theta)


def test_a_bound_is_not_computed_for_tests_that_do_not_ask(model, covariance):
    class Costly(Logistic):
        def range_bound(self, theta, theta_new):
            raise MemoryError("a pass over the data")

    parts = Costly(model.rows, 1.0), RandomWalk.with_covariance(covariance)
    for test in (sequential(), ExactTest()):
        Chain(*parts, test, np.zeros(DIMENSION), streams(3, 1)[0]).advance(5)
    with pytest.raises(MemoryError):
        Chain(*parts, ConcentrationTest(m=100), np.zeros(DIMENSION), streams(3, 1)[0]).advance(5)


def test_a_chain_is_fused_again_once_its_test_is_built_in_again(model, covariance):
    """Draw for draw the chain that was never fused, through a test that no compiled block knows."""
    design = Design(model.n_data, 200, 0.05)
    chains = [
        Chain(model, RandomWalk.with_covariance(covariance), ExactTest(), np.zeros(model.dimension), rng, fuse=fuse)
        for fuse, rng in ((True, np.random.default_rng(5)), (False, np.random.default_rng(5)))
    ]
    for test, fused in ((ConcentrationTest(), False), (SequentialTest.from_design(design), True), (ExactTest(), True)):
        for chain in chains:
            chain.use_test(test)
        assert (chains[0]._fused is not None) == fused
        assert chains[1]._fused is None
        np.testing.assert_array_equal(*(chain.advance(20).theta for chain in chains))


def test_another_test_must_be_for_as_many_data(model, covariance):
    chain = Chain(
        model, RandomWalk.with_covariance(covariance), ExactTest(), np.zeros(model.dimension), np.random.default_rng(1)
    )
    with pytest.raises(BadInput, match="designed for n_data = 77"):
        chain.use_test(SequentialTest.from_design(Design(77, 10, 0.05)))
    assert isinstance(chain.test, ExactTest)
