"""Adaptation in warmup: it finds the posterior's shape, stops, and survives a stop of the run."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from designer import BadInput
from samplers.adapt.random_walk import TARGET, Adaptation
from samplers.chains.chain import Chain
from samplers.chains.draws import Draws
from samplers.config.config import SamplerConfig
from samplers.decide.exact import ExactTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import RandomWalk
from samplers.runs.run import run_config
from samplers.runs.store import Store


@pytest.fixture(scope="module")
def model() -> Logistic:
    """Coordinates on scales a hundred times apart, and correlated."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]]) * np.array([1.0, 0.01])
    return Logistic.from_data(x, rng.random(2000) < 1 / (1 + np.exp(-x[:, 0])), prior_precision=0.01)


def test_a_walk_that_starts_badly_learns_the_covariance(model):
    mode = find_mode(model)
    truth = np.linalg.inv(Controlled.around(model, mode).posterior_precision())
    walk = RandomWalk.isotropic(0.05, 2)
    adaptation, chain = Adaptation(walk), Chain(model, walk, ExactTest(), mode, np.random.default_rng(2))
    for _ in range(60):
        chain.use(adaptation.learn(chain.advance(200)))
    learned = chain.proposal.factor @ chain.proposal.factor.T
    correlation = truth[0, 1] / np.sqrt(truth[0, 0] * truth[1, 1])
    assert learned[0, 1] / np.sqrt(learned[0, 0] * learned[1, 1]) == pytest.approx(correlation, abs=0.15)
    assert learned[1, 1] / learned[0, 0] == pytest.approx(truth[1, 1] / truth[0, 0], rel=0.5)
    assert chain.advance(4000).accepted.mean() == pytest.approx(TARGET, abs=0.1)


def test_the_moments_are_those_of_all_states():
    rng = np.random.default_rng(3)
    adaptation, theta = Adaptation(RandomWalk.isotropic(1.0, 3)), rng.standard_normal((500, 3)) + 100.0
    for part in np.split(theta, 5):
        adaptation.learn(Draws(part, np.ones(100, bool), np.ones(100, int), np.ones(100, int)))
    assert adaptation.mean == pytest.approx(theta.mean(axis=0))
    assert adaptation.scatter / 499 == pytest.approx(np.cov(theta.T))
    assert adaptation.log_scale > 0  # everything was accepted: longer steps
    copy = Adaptation(RandomWalk.isotropic(1.0, 3))
    copy.restore(adaptation.state())
    np.testing.assert_array_equal(copy.proposal().factor, adaptation.proposal().factor)


def test_a_chain_that_never_moved_keeps_its_first_walk():
    adaptation = Adaptation(RandomWalk.isotropic(1.0, 2))
    still = Draws(np.ones((100, 2)), np.zeros(100, bool), np.ones(100, int), np.ones(100, int))
    assert 0 < adaptation.learn(still).factor[0, 0] < 1


def test_an_adaptive_run_resumes_bit_for_bit_and_stops_learning_after_warmup(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1000, 3))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(1000) < 0.5)
    (tmp_path / "config.toml").write_text(
        '[test]\nkind = "exact"\n[data]\npath = "data.npz"\n[model]\nprior_precision = 1.0\n'
        '[proposal]\nkind = "adaptive"\n[run]\nwarmup = 700\ndraws = 600\nchains = 1\ncheckpoint_seconds = 0.0\n'
    )
    config = SamplerConfig.load(tmp_path / "config.toml")
    whole = run_config(config, tmp_path / "whole")["posterior/theta"].values
    for stop_after in (1, 2, 1):
        calls = iter([False] * stop_after + [True] * 100)
        with suppress(BadInput):  # no draws after warm-up yet
            run_config(config, tmp_path / "parts", resume=True, cancelled=lambda calls=calls: next(calls))
    assert Store(tmp_path / "parts").chain(0).latest().step < 1300
    resumed = run_config(config, tmp_path / "parts", resume=True)["posterior/theta"].values
    np.testing.assert_array_equal(resumed, whole)
    assert Store(tmp_path / "whole").chain(0).latest().state["adaptation"]["count"] == 700
    with pytest.raises(BadInput, match=r"run\.warmup = 0"):
        run_config(SamplerConfig.load(tmp_path / "config.toml", warmup=0), tmp_path / "none")
