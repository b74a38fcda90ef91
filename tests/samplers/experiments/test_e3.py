"""E3 at a tiny size: what the tests read and get wrong, and what proxies do about it."""

import numpy as np
import pytest

from samplers.accept.exact import ExactTest
from samplers.chain import Chain
from samplers.experiments import experiment
from samplers.experiments.running import Work, run_experiment
from samplers.experiments.walks import timed_chain
from samplers.models.logistic import Logistic
from samplers.proposals import RandomWalk


@pytest.fixture(scope="module")
def done():
    return run_experiment(experiment("e3"), "tiny")


def test_finding(done):
    assert all(done.report.checks.values()), done.report.checks
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert rows["exact"][5] == 1.0
    assert rows["ε = 0.2"][5] < 0.5 < rows["ε = 0.01"][5]
    assert rows["proxy proposals"][7] < 0.2 * rows["exact"][7]
    assert any("SYNTHETIC" in line for line in done.report.notices)


def test_a_timed_chain_is_the_chain_itself():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 2))
    model = Logistic.from_data(x, x[:, 0] > 0, 1.0)

    def chain():
        return Chain(model, RandomWalk.isotropic(0.3, 2), ExactTest(), np.zeros(2), np.random.default_rng(2))

    timed = timed_chain(chain(), 1000, lambda draws: draws, Work(), thin=7, block=64)
    draws = chain().advance(1000)
    assert timed.at[-1] == 1000
    assert timed.means[-1] == pytest.approx(draws.theta[::7].mean(axis=0))
    assert timed.acceptance == draws.accepted.mean()
    assert timed.evaluations[-1] == 300 * 1000
    assert timed.usage == 1.0
    assert np.all(np.diff(timed.seconds) > 0)
