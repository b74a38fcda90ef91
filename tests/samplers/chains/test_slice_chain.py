"""Slice updates: exact ones keep the posterior, sequential ones err as predicted; runs stop and resume."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest

from designer import BadInput, Design
from samplers.chains.draws import ChainStopped
from samplers.chains.slice_chain import Slice, SliceChain, update
from samplers.config.config import SamplerConfig
from samplers.decide import BarkerTest, ExactTest, SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.runs.run import audit_config, collect_pairs, run_config
from samplers.study.slice_audit import audit_slice
from tests.samplers.chains.test_geweke import DIMENSION, N_DATA, ROUNDS, in_standard_errors

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2000, 3))
Y = RNG.random(2000) < 1 / (1 + np.exp(-X @ [0.5, -0.3, 0.2]))
MODEL = Logistic.from_data(X, Y, prior_precision=1.0)
MODE = find_mode(MODEL)
CONTROLLED = Controlled.around(MODEL, MODE)
COVARIANCE = np.linalg.inv(CONTROLLED.posterior_precision())
LINES = Slice.with_covariance(COVARIANCE)
TEST = SequentialTest.from_design(Design(2000, 200, 0.05))


class Line:
    """N(0, 1) in one dimension, with one datum that says nothing: the prior is the target."""

    n_data = 1

    def log_prior(self, theta):
        return -0.5 * float(theta @ theta)

    def terms(self, theta, theta_new, indices):
        return np.zeros(indices.size)


@pytest.mark.parametrize("most_out", [1, 3, 8])
@pytest.mark.parametrize("controlled", [False, True])
def test_theta_keeps_its_prior(most_out, controlled):
    """Geweke's joint test with exact membership tests."""
    rng = np.random.default_rng(12)
    x, theta = rng.standard_normal((N_DATA, DIMENSION)), rng.standard_normal(DIMENSION)

    def values() -> np.ndarray:
        nonlocal theta
        y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ theta))
        model = Logistic.from_data(x, y, prior_precision=1.0)
        target = Controlled.around(model, np.array([0.5, -0.3])) if controlled else model
        chain = SliceChain(target, Slice.isotropic(0.7, DIMENSION, most_out=most_out), ExactTest(), theta, rng)
        theta = chain.advance(2).theta[-1]
        return np.concatenate([theta, theta**2 - 1.0, theta[:1] * theta[1:]])

    assert np.all(np.abs(in_standard_errors(values, ROUNDS // 3)) < 4.0)


def test_a_normal_distribution_has_its_moments():
    chain = SliceChain(Line(), Slice.isotropic(1.0, 1, width=1.5, most_out=4), ExactTest(), [0.0], RNG)
    theta = chain.advance(20_000).theta[:, 0]
    batches = theta.reshape(40, -1)
    for moment, want in ((1, 0.0), (2, 1.0), (4, 3.0)):
        means = (batches**moment).mean(axis=1)
        assert abs(means.mean() - want) < 4.0 * means.std(ddof=1) / math.sqrt(40)


def test_membership_errors_are_as_predicted():
    """The rate of wrong membership tests and their data use against K14's E and usage."""
    found = audit_slice(np.random.default_rng(5), MODEL, LINES, TEST, MODE, 300)
    assert found.tests > 3 * found.updates
    assert abs(found.wrong.value - found.wrong.predicted) < 4.0 * found.wrong.se
    assert abs(found.usage.value - found.usage.predicted) < 4.0 * found.usage.se
    assert 0.01 < found.wrong.predicted < 0.2


def test_an_audit_changes_no_update():
    chain = SliceChain(MODEL, LINES, TEST, MODE, np.random.default_rng(5))
    chain.advance(20)
    rng = np.random.default_rng(5)
    audit_slice(rng, MODEL, LINES, TEST, MODE, 20)
    assert rng.bit_generator.state == chain.rng.bit_generator.state


def test_control_variates_give_the_posterior_from_few_data():
    test = SequentialTest.from_design(Design(2000, 100, 0.01))
    draws = SliceChain(CONTROLLED, LINES, test, MODE, np.random.default_rng(6)).advance(4000)
    exact = SliceChain(MODEL, LINES, ExactTest(), MODE, np.random.default_rng(7)).advance(4000)
    assert draws.n_used.mean() < 0.15 * exact.n_used.mean()
    for k in range(3):
        one, other = (part.theta[:, k].reshape(20, -1) for part in (draws, exact))
        for moment in (1, 2):
            a, b = ((((rows - MODE[k]) / math.sqrt(COVARIANCE[k, k])) ** moment).mean(axis=1) for rows in (one, other))
            se = math.hypot(a.std(ddof=1), b.std(ddof=1)) / math.sqrt(20)
            assert abs(a.mean() - b.mean()) < 4.0 * se


def test_counts_are_those_of_the_tests():
    found = update(np.random.default_rng(1), MODEL, LINES, ExactTest(), MODE)
    assert found.n_used == 2000 * found.n_tests and found.n_looks == found.n_tests
    chain = SliceChain(MODEL, LINES, ExactTest(), MODE, np.random.default_rng(1))
    draws = chain.advance(1)
    assert draws.n_used[0] == found.n_used and np.array_equal(draws.theta[0], found.theta)
    assert chain.steps == 1 and draws.accepted[0]


def test_outside_the_prior_is_outside_the_slice():
    class Bounded(Line):
        def log_prior(self, theta):
            return 0.0 if abs(theta[0]) < 1.0 else -math.inf

    draws = SliceChain(Bounded(), Slice.isotropic(1.0, 1), ExactTest(), [0.5], np.random.default_rng(1)).advance(3000)
    assert np.all(np.abs(draws.theta) < 1.0)
    means = (draws.theta**2).reshape(20, -1).mean(axis=1)
    assert abs(means.mean() - 1 / 3) < 4.0 * means.std(ddof=1) / math.sqrt(20)


def test_a_term_that_is_not_finite_stops_the_chain_where_it_was():
    class Cliff(Line):
        def terms(self, theta, theta_new, indices):
            return np.full(indices.size, math.nan if theta_new[0] > 1.0 else 0.0)

    chain = SliceChain(Cliff(), Slice.isotropic(1.0, 1), ExactTest(), [0.0], np.random.default_rng(2))
    with pytest.raises(ChainStopped) as stopped:
        chain.advance(1000)
    assert stopped.value.index == 0
    assert chain.steps == stopped.value.draws.theta.shape[0] == stopped.value.step
    again = SliceChain(Cliff(), Slice.isotropic(1.0, 1), ExactTest(), [0.0], np.random.default_rng(2))
    assert np.array_equal(again.advance(chain.steps).theta, stopped.value.draws.theta)
    assert again.rng.bit_generator.state == chain.rng.bit_generator.state


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Slice.isotropic(1.0, 2, width=0.0), "width = 0"),
        (lambda: Slice.isotropic(1.0, 2, most_out=0), "most_out = 0"),
        (lambda: SliceChain(MODEL, LINES, ExactTest(), np.zeros(2), RNG), "start: must be 3"),
        (lambda: SliceChain(MODEL, LINES, BarkerTest(), MODE, RNG), "draw their own threshold"),
        (lambda: SliceChain(MODEL, LINES, SequentialTest.from_design(Design(99, 9, 0.1)), MODE, RNG), "n_data = 99"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()


# --- configs ----------------------------------------------------------------------------------------------------------


def config(tmp_path, *, test='kind = "exact"', model="", proposal="", run="") -> SamplerConfig:
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    text = f"""
[test]
{test}
[data]
path = "{tmp_path}/data.npz"
[model]
prior_precision = 1.0
{model}
[proposal]
kind = "slice"
{proposal}
[run]
chains = 2
draws = 300
warmup = 10
seed = 3
{run}
"""
    return SamplerConfig.from_toml(text)


SEQUENTIAL = 'kind = "sequential"\nn_data = 2000\nm = 100\nepsilon = 0.05'


def test_a_run_resumed_is_the_run(tmp_path):
    whole = run_config(config(tmp_path, test=SEQUENTIAL), tmp_path / "whole")
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    short = config(tmp_path, test=SEQUENTIAL, run="checkpoint_seconds = 0.0")
    with suppress(BadInput):  # if stopped before the first draw after warmup
        run_config(short, tmp_path / "parts", cancelled=cancelled, workers=1)
    parts = run_config(short, tmp_path / "parts", resume=True)
    assert np.array_equal(whole["posterior"]["theta"].values, parts["posterior"]["theta"].values)
    theta = whole["posterior"]["theta"].values.reshape(-1, 3)
    assert np.abs((theta.mean(axis=0) - MODE) / np.sqrt(np.diag(COVARIANCE))).max() < 0.5
    assert float(whole["sample_stats"]["n_used"].mean()) < 2000


def test_a_config_goes_to_toml_and_back(tmp_path):
    made = config(tmp_path, proposal="width = 2.0\nmost_out = 3")
    assert SamplerConfig.from_toml(made.to_toml()) == made
    assert made.proposal.width == 2.0 and made.proposal.most_out == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test": 'kind = "barker"'}, "test.kind = 'barker': proposal.kind = 'slice' takes"),
        ({"run": 'rule = "barker"'}, "a slice update has no acceptance rule"),
        ({"model": "recentre = true"}, "model.recentre = true"),
        ({"proposal": "width = -1"}, "proposal.width = -1"),
    ],
)
def test_configs_that_cannot_be(tmp_path, change, message):
    with pytest.raises(BadInput, match=message):
        config(tmp_path, **change)


def test_a_mixture_needs_a_width():
    text = '[test]\nkind = "exact"\n[data]\npath = "x.npy"\n[model]\nkind = "mixture"\n[proposal]\nkind = "slice"\n'
    with pytest.raises(BadInput, match=r"proposal\.width: missing"):
        SamplerConfig.from_toml(text)


def test_slices_have_no_pairs(tmp_path):
    with pytest.raises(BadInput, match="not one decision"):
        collect_pairs(config(tmp_path), 5)
    with pytest.raises(BadInput, match="not one decision"):
        audit_config(config(tmp_path, test=SEQUENTIAL), 10, 2)
