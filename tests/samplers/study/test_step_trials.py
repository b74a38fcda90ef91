"""Trial runs at several steps from one chain."""

from __future__ import annotations

import numpy as np
import pytest

from designer import BadInput
from samplers.chains.chain import Chain
from samplers.decide import ExactTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.study.step_trials import trials_at

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2000, 3))
MODEL = Logistic.from_data(X, RNG.random(2000) < 1 / (1 + np.exp(-X @ [0.5, -0.3, 0.2])), prior_precision=1.0)
MODE = find_mode(MODEL)
CONTROLLED = Controlled.around(MODEL, MODE)
COVARIANCE = np.linalg.inv(CONTROLLED.posterior_precision())


def chain(proposal) -> Chain:
    return Chain(MODEL, proposal, ExactTest(), MODE, np.random.default_rng(1))


def test_pairs_have_the_moments_of_gaussian_steps():
    """Near the mode the posterior is Gaussian: E A = -s²D/2, mean kappa² about s²D, at every step."""
    step, d, pairs = 0.8, 3, 400
    runs = trials_at(chain(RandomWalk.with_covariance(COVARIANCE, step)), [0.5, 1.0, 2.0], pairs, every=15)
    assert sorted(runs) == [0.5, 1.0, 2.0]
    for scale, run in runs.items():
        assert len(run) == pairs and run.n_data == 2000
        a, q = run.log_acceptance, (step * scale) ** 2 * d
        assert abs(a.mean() + q / 2) < 4 * a.std() / np.sqrt(pairs) + 0.05 * q
        # without a prior's share and with a true model the information is the curvature
        assert float((run.kappa**2).mean()) == pytest.approx(q, rel=0.25)


def test_the_chain_moves_and_other_proposals_are_refused():
    walk = chain(RandomWalk.with_covariance(COVARIANCE, 1.0))
    told = []
    trials_at(walk, [1.0], 5, every=7, progress=lambda *at: told.append(at))
    assert walk.steps == 35 and told[-1] == (5, 5)
    proxy = Chain(CONTROLLED, ProxyStep.of(CONTROLLED), ExactTest(), MODE, np.random.default_rng(1))
    with pytest.raises(BadInput, match="must be a RandomWalk"):
        trials_at(proxy, [1.0])
