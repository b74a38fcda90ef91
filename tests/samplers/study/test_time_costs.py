"""What a time budget needs, measured of a config's own chain: no time is asserted, what is counted is."""

from __future__ import annotations

import numpy as np
import pytest

from designer import BadInput, Cost
from samplers import ExactTest, Logistic, RandomWalk
from samplers.chains.chain import Chain
from samplers.config.config import SamplerConfig
from samplers.study.time_costs import ENOUGH, fitted_cost, log_posterior, time_costs

CONFIG = """
[test]
kind = "exact"
[data]
path = "PATH"
[model]
prior_precision = 1.0
[run]
warmup = 100
[proposal]
kind = "KIND"
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2000, 3))
    found = tmp_path_factory.mktemp("data") / "data.npz"
    np.savez(found, x=x, y=rng.random(2000) < 1.0 / (1.0 + np.exp(-x @ [1.0, 0.5, 0.0])))
    return found


def config(path, kind: str = "proxy") -> SamplerConfig:
    return SamplerConfig.from_toml(CONFIG.replace("PATH", str(path)).replace("KIND", kind))


def test_what_is_measured_belongs_to_the_chain(path):
    found = time_costs(config(path), steps=1200, m=100)
    assert found.exact_seconds > 0 and found.cost.per_datum > 0 and found.cost.fixed >= 0
    assert (found.steps, found.dimension, found.n_data) == (1200, 3, 2000)
    assert found.effective > ENOUGH  # independence proposals
    assert found.autocorrelation == pytest.approx(max(1.0, 1200 / found.effective))
    assert found.quantity().sensitivity == found.sensitivity < 0.5  # a nearly Gaussian posterior
    assert found.quantity(0.3, 2.0) == (found.autocorrelation, 0.3, 2.0)


def test_too_few_effective_draws_give_no_sensitivity(path):
    found = time_costs(config(path, "random-walk"), steps=200)
    assert found.effective < ENOUGH and found.sensitivity is None
    with pytest.raises(BadInput, match="effective draws in 200 steps are too few to measure it"):
        found.quantity()
    assert found.quantity(0.2).sensitivity == 0.2


def test_the_log_posterior_is_that_of_the_model():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((300, 2))
    y = rng.random(300) < 0.5
    model = Logistic.from_data(x, y, prior_precision=2.0)
    chain = Chain(model, RandomWalk.isotropic(0.1, 2), ExactTest(), np.zeros(2), rng)
    theta = rng.standard_normal((5, 2))
    got = log_posterior(chain, theta)
    want = [-np.logaddexp(0.0, -np.where(y, 1.0, -1.0) * (x @ one)).sum() - 1.0 * one @ one for one in theta]
    assert np.diff(got) == pytest.approx(np.diff(want))


def test_costs_are_fitted():
    data = np.array([100.0, 500.0, 2000.0])
    assert fitted_cost(data, 3e-6 + 2e-8 * data) == pytest.approx(Cost(3e-6, 2e-8))
    assert fitted_cost(data, 2e-8 * data - 1e-7).fixed == 0.0  # none is negative
    falling = fitted_cost(data, [3e-6, 2e-6, 1e-6])  # noise
    assert falling.per_datum > 0 and falling.checked()


def test_chains_without_one_decision_per_step_are_refused(path):
    with pytest.raises(BadInput, match="only chains with one decision per step"):
        time_costs(config(path, "slice"), steps=200)
    with pytest.raises(BadInput, match="steps = 10"):
        time_costs(config(path), steps=10)
