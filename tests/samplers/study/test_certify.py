"""Certificates: their bounds cover the truth, wrong runs are never certified, and what they cannot do is refused."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Design
from samplers.chains.chain import Chain
from samplers.config.config import SamplerConfig
from samplers.decide import BarkerTest, ConcentrationTest, ExactMinibatchTest, ExactTest, SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.runs.run import run_config
from samplers.study.certify import PAIRS, certify, judge
from samplers.study.coupled import Coupled, coupled_chains
from tests.cases import CASES

EPSILONS = (0.01, 0.1, 0.3)


def one_coefficient(seed, n_data=300):
    """Logistic regression with one coefficient and few ones: a skewed posterior, known by quadrature."""
    rng = np.random.default_rng([seed, 7])
    x = rng.exponential(size=(n_data, 1)) * rng.choice([-1.0, 1.0], (n_data, 1))
    y = rng.random(n_data) < 1.0 / (1.0 + np.exp(2.0 - x[:, 0]))
    return Logistic.from_data(x, y, prior_precision=1.0)


def exact_moments(model):
    mode = find_mode(model)
    sd = np.linalg.inv(Controlled.around(model, mode).posterior_precision())[0, 0] ** 0.5
    grid = mode[0] + sd * np.linspace(-10.0, 10.0, 2001)
    eta = model.rows @ grid[None, :]  # signed rows: log p = -log(1 + e^-η)
    log_density = -np.logaddexp(0.0, -eta).sum(axis=0) - 0.5 * model.prior_precision * grid**2
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = weight @ grid
    return mean, (weight @ (grid - mean) ** 2) ** 0.5


def chain_of(model, design, seed=1, *, walk=False):
    proxied = Controlled.around(model, find_mode(model))
    covariance = np.linalg.inv(proxied.posterior_precision())
    proposal = RandomWalk.with_covariance(covariance, 2.4) if walk else ProxyStep.of(proxied)
    test = SequentialTest.from_design(design)
    return Chain(model if walk else proxied, proposal, test, proxied.centre, np.random.default_rng(seed))


@pytest.mark.parametrize("walk", [False, True])
def test_bounds_cover_the_truth(walk):
    """The truth by quadrature; what the tested chain samples, by a long run of it."""
    missed, certified, tried = 0, 0, 0
    for seed in range(3):
        model = one_coefficient(seed)
        mean, sd = exact_moments(model)
        for epsilon in EPSILONS:
            chain = chain_of(model, Design(model.n_data, 20, epsilon), seed, walk=walk)
            draws = chain.advance(40_000).theta[:, 0]
            bias, change = (draws.mean() - mean) / sd, draws.std() / sd - 1.0
            found = certify(chain, 600, seed=seed)
            missed += abs(bias) > found.bound + 0.01 or abs(change) > found.bound + 0.01  # the long run's own error
            certified += found.outcome == "certified"
            tried += 1
            if found.outcome == "certified":
                assert max(abs(bias), abs(change)) < found.wish + 0.01
            assert abs(found.bias[0] - bias) < 5.0 * found.bias_se[0] + 0.03
            assert found.wasserstein[0] > abs(found.bias[0])
    assert tried == 9 and missed == 0
    assert certified > 0 or walk


@pytest.mark.parametrize("name", ["rare-levels-wide", "rare-dummies"])
def test_a_wrong_run_is_never_certified(name):
    case = CASES[name]
    x, y, precision = case.data()
    model, truth = Logistic.from_data(x, y, prior_precision=precision), case.reference()
    chain = chain_of(model, Design(model.n_data, 20, 0.05))
    draws = chain.advance(20_000).theta
    off = (draws.mean(axis=0) - truth.mean) / truth.sd
    assert np.abs(off).max() > 0.2
    found = [certify(chain, 1000, seed=seed) for seed in range(4)]
    assert all(one.outcome != "certified" for one in found)
    assert any(one.outcome == "wrong" for one in found)
    worst = int(np.argmax(np.abs(off)))
    for one in found:
        if one.outcome == "wrong":
            assert one.bias[worst] == pytest.approx(off[worst], abs=5.0 * one.bias_se[worst])
            assert "WRONG" in one.sentence


def test_equal_decisions_keep_coupled_chains_together():
    """A test that reads all data is exact: once both chains accept, they never part again."""
    model = one_coefficient(1)
    chain = chain_of(model, Design(model.n_data, model.n_data, 0.05))
    found = coupled_chains(chain, [(chain.theta + 0.02, chain.theta - 0.03)], 5, 60, seed=3)
    apart = np.flatnonzero(found.exact[0, :, 0] != found.tested[0, :, 0])
    assert found.exact.shape == (1, 60, 1)
    assert apart.size < 20 and np.array_equal(apart, np.arange(apart.size))
    certificate = certify(chain, 400)
    assert certificate.outcome == "certified" and certificate.bias[0] == 0.0
    assert 0.0 < certificate.bound < 0.05  # disagreements that 400 passes have not met


def test_the_exact_chain_is_exact():
    model = one_coefficient(2)
    mean, sd = exact_moments(model)
    starts = [(np.array([k / 4.0]), np.array([k / 4.0])) for k in range(4)]
    found = coupled_chains(chain_of(model, Design(model.n_data, 20, 0.4)), starts, 50, 1500, seed=4)
    assert found.exact.mean() == pytest.approx(mean, abs=4.0 * sd / 3000**0.5)
    assert 0.3 < found.meetings < 1.0


def test_too_few_effective_draws_are_not_certified():
    rng = np.random.default_rng(1)
    slow = np.cumsum(rng.normal(size=(PAIRS, 200, 1)), axis=1)
    found = judge(Coupled(slow, slow, 0.3), 0.05, 1000, ("x",))
    assert found.outcome == "not certified" and found.effective < 100
    assert "of which 100 are needed" in found.sentence
    quick = rng.normal(size=(PAIRS, 200, 1))
    assert judge(Coupled(quick, quick, 0.3), 0.05, 1000, ("x",)).outcome == "certified"
    assert judge(Coupled(quick, quick + 0.5, 0.3), 0.05, 1000, ("x",)).outcome == "wrong"
    assert judge(Coupled(quick, 1.5 * quick, 0.3), 0.05, 1000, ("x",)).outcome == "wrong"
    noisy = quick + np.where(rng.random(quick.shape) < 0.05, 2.0 * rng.normal(size=quick.shape), 0.0)
    assert judge(Coupled(quick, noisy, 0.3), 0.05, 1000, ("x",)).outcome == "not certified"


def test_other_tests_are_certified():
    model = one_coefficient(3, 2000)
    proxied = Controlled.around(model, find_mode(model))
    parts = proxied, ProxyStep.of(proxied)
    barker = Chain(*parts, BarkerTest(m=100), proxied.centre, np.random.default_rng(1), "barker")
    assert certify(barker, 400).outcome != "wrong"
    careful = Chain(*parts, ConcentrationTest(m=100), proxied.centre, np.random.default_rng(1))
    found = certify(careful, 100)
    assert found.outcome != "wrong" and found.meetings > 0.9


@pytest.fixture
def config(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1000, 2))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(1000) < 1.0 / (1.0 + np.exp(-x[:, 0])))
    text = "[data]\npath = 'data.npz'\n[model]\nprior_precision = 1.0\n[run]\nwarmup = 50\ndraws = 100\nchains = 2"
    (tmp_path / "config.toml").write_text(text)
    return SamplerConfig.load(tmp_path / "config.toml", Design(1000, 100, 0.05))


def test_configs_runs_and_results(config, tmp_path, monkeypatch):
    results = run_config(config, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")  # the data are found from anywhere
    by_config = certify(config, 400, wish=0.3)
    assert by_config.outcome == "certified"
    by_results, by_path = (certify(given, 400, wish=0.3) for given in (results, tmp_path / "run"))
    assert by_results.bias == pytest.approx(by_path.bias)
    assert by_results.outcome == "certified" and by_results.names == by_config.names
    again = certify(config, 400, wish=0.3)
    assert again.bias.tolist() == by_config.bias.tolist()  # the seed decides


def test_what_cannot_be_certified_is_refused(config, refuses, tmp_path):
    model = one_coefficient(1)
    walk = RandomWalk.isotropic(0.1, 1)
    exact = Chain(model, walk, ExactTest(), [0.0], np.random.default_rng(1))
    refuses(lambda: certify(exact), "ExactTest decides exactly", "no certificate")
    exact.use_test(ExactMinibatchTest())
    refuses(lambda: certify(exact), "ExactMinibatchTest decides exactly", "no certificate")
    refuses(lambda: certify(config.model_copy(update={"test": None})), "test.kind = 'exact'")
    refuses(lambda: certify(config, 10), "passes = 10")
    refuses(lambda: certify(config, wish=0.0), "wish = 0")
    refuses(lambda: certify(3), "source: a int")
    refuses(lambda: certify(tmp_path), "does not say which config")
