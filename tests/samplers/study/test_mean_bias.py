"""What audited errors do to posterior means: against enumeration, against chains, and never without its power."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.samplers.audits import Chains, Kind, alarms, at_most, repeated
from designer.engine.step_error import exact_probability
from designer.further.posterior.independent import WeightedStates
from samplers.study.audit import audit_chain
from samplers.study.mean_bias import NOT_JUDGED, WISH, _Solution, judged

PROXY = Kind("proxy proposals", "plain", 600, 0.01, m=10, epsilon=0.45)


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
def test_the_mean_over_the_chain_s_own_steps_is_the_bias(rule):
    """Five states, large errors: the stationary distribution by linear algebra, the bias from steps of that chain."""
    rng = np.random.default_rng(1)
    theta, log_posterior, log_proposal = rng.normal(size=(5, 2)), rng.normal(size=5), rng.normal(size=5)
    states = WeightedStates.of(theta, log_posterior, log_proposal)
    ratio = log_posterior - log_proposal
    exact = exact_probability(ratio[None, :] - ratio[:, None], rule == "barker")
    delta = np.clip(exact + rng.uniform(-0.3, 0.3, (5, 5)), 0.0, 1.0) - exact
    np.fill_diagonal(delta, 0.0)
    flow = (exact + delta) * states.proposal
    np.fill_diagonal(flow, 0.0)
    generator = flow - np.diag(flow.sum(axis=1))
    law = np.linalg.lstsq(np.vstack([generator.T, np.ones(5)]), np.append(np.zeros(5), 1.0), rcond=None)[0]
    truth = (law - states.posterior) @ theta
    solution = _Solution.of(states, ratio, rule)
    np.testing.assert_allclose(solution.at(theta, ratio), solution.g, atol=1e-10)  # the extension is the solution
    old, new = (k.ravel() for k in np.meshgrid(range(5), range(5), indexing="ij"))
    gains = solution.gains(theta[old], theta[new], ratio[old], ratio[new] - ratio[old])
    steps = (law[old] * states.proposal[new] * delta[old, new])[:, None] * gains
    np.testing.assert_allclose(steps.sum(axis=0), truth, atol=1e-10)
    assert np.abs(truth).max() > 0.05


def test_limits_and_power_are_those_of_the_mean():
    rng = np.random.default_rng(2)
    moved = rng.normal([0.0, 0.02], 0.05, (400, 2))
    certain = np.tile(moved.mean(axis=0), (10, 1))
    found = judged(moved, certain)
    np.testing.assert_allclose(found.bias, moved.mean(axis=0))
    np.testing.assert_allclose(found.se, moved.std(axis=0, ddof=1) / 20.0, rtol=0.2)
    assert found.verdict == "within" and found.upper < WISH and found.power > 0.9 and found.enough < 400
    assert judged(moved + 0.1, certain + 0.1).verdict == "beyond"
    unsure = judged(moved, certain + rng.normal(0.0, 0.02, (10, 2)))
    assert unsure.verdict == "unclear" and unsure.upper > found.upper and unsure.power < found.power
    skewed = judged(np.where(rng.random((400, 2)) < 0.01, 1.0, 0.0), certain)
    assert skewed.upper > np.abs(skewed.bias).max() + 2.5 * skewed.se.max()  # few steps carry the mean


def test_right_runs_are_within_and_nothing_cries_wolf():
    """The whole is `python -m benchmarks audits`."""
    chains = Chains(PROXY)
    design = chains.design()
    truth, _ = chains.truth(design, 300)
    right = repeated(chains, design, 1.25 * truth, 6)
    assert alarms(right) == 0
    for one in right:
        assert one.means.verdict != "beyond" and one.agrees == (one.verdict in ("within", "near"))
        assert one.means.upper < 0.2 and "would have been seen" in one.sentence
    twice = repeated(chains, design, 0.4 * truth, 2, 100)
    assert alarms(twice) == 2 and not any(one.agrees for one in twice)
    assert at_most(0, 600) == pytest.approx(1.0 - 0.05 ** (1.0 / 600.0))


def test_means_of_random_walks_are_left_to_the_certificate():
    chains = Chains(Kind("random walk", "plain", 300, 0.05, walk=True, m=50, epsilon=0.1))
    found = audit_chain(chains.designed(chains.design(), 1), tolerance=0.2, passes=20)
    assert found.means is None and found.sentence.endswith(NOT_JUDGED)


def test_means_are_judged_by_the_wish_that_is_given():
    moved = np.random.default_rng(1).normal(0.02, 0.01, (200, 2))
    verdicts = {wish: judged(moved, np.tile(moved.mean(axis=0), (10, 1)), wish).verdict for wish in (0.01, 0.02, 0.05)}
    assert verdicts == {0.01: "beyond", 0.02: "unclear", 0.05: "within"}
