"""Audits: right runs pass, wrong runs are found, and what could have been noticed is said."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Design, TrialRun, acceptance, search
from samplers.chains.chain import Chain
from samplers.decide import BarkerTest, ConcentrationTest, ExactMinibatchTest, ExactTest, SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import ProxyStep, RandomWalk
from samplers.study.audit import POWER, audit, audit_chain, judge, standard, what_shows
from samplers.study.integrated import StepError
from samplers.study.observe import observe
from tests.cases import CASES

N_DATA = 1000


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(8)
    x = rng.standard_normal((N_DATA, 3))
    y = rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ np.array([0.3, -0.5, 0.1])))
    model = Logistic.from_data(x, y, prior_precision=1.0)
    mode = find_mode(model)
    covariance = np.linalg.inv(Controlled.around(model, mode).posterior_precision())
    return model, RandomWalk.with_covariance(covariance, 1.0), mode


def designed(parts, tolerance, seed=3):
    model, walk, mode = parts
    trial = observe(Chain(model, walk, ExactTest(), mode, np.random.default_rng(seed)), 1000, every=10).trial(N_DATA)
    return search(trial, tolerance).best


def chain_of(parts, design, seed, rule="metropolis"):
    model, walk, mode = parts
    return Chain(model, walk, SequentialTest.from_design(design), mode, np.random.default_rng(seed), rule)


def test_a_designed_chain_does_what_its_design_predicts(parts):
    """Trial run -> design -> chain -> audit: the whole loop of the product."""
    design = designed(parts, 0.05)
    seen = observe(chain_of(parts, design, 4), 360, every=3)
    found = audit(design, seen, N_DATA)
    assert found.pairs == 120
    predicted = acceptance(design, seen.trial(N_DATA))
    assert found.wrong.predicted == pytest.approx(predicted.wrong.mean())
    assert found.error.predicted == pytest.approx(predicted.mean_abs_delta)
    for row in (found.wrong, found.delta, found.usage, found.error):  # the same pairs: only the theory's error is left
        assert row.value == pytest.approx(row.predicted, abs=0.006)
    assert found.source == "tolerance" and found.tolerance == pytest.approx(0.05)
    assert found.verdict in ("within", "near") and found.agrees
    assert found.power > POWER and found.detectable < 0.1
    assert "would have been noticed" in found.sentence


def test_single_decisions_agree_with_the_integrated_errors(parts):
    design = Design(N_DATA, 25, 0.2)
    seen = observe(chain_of(parts, design, 5), 400, every=1)
    found = audit(design, seen, N_DATA)
    change = np.array([float(pair.accepted) - float(pair.exact) for pair in seen.pairs])
    assert change.mean() == pytest.approx(found.delta.value, abs=4.0 * change.std() / len(change) ** 0.5)
    assert np.abs(change).mean() == pytest.approx(found.wrong.value, abs=4.0 * change.std() / len(change) ** 0.5)
    assert found.delta.se < 0.5 * change.std() / len(change) ** 0.5


def test_a_test_that_is_not_the_designed_one_is_noticed(parts):
    promised = Design(N_DATA, 125, 0.01)
    found = audit(promised, observe(chain_of(parts, Design(N_DATA, 25, 0.3), 5), 100, every=1), N_DATA)
    assert found.verdict == "beyond" and not found.agrees
    assert "NOT as predicted" in found.sentence
    right = audit(promised, observe(chain_of(parts, promised, 6), 300, every=3), N_DATA)
    assert right.source == "prediction" and right.agrees and "as predicted" in right.sentence


def test_a_design_of_another_proposal_is_noticed(parts):
    """Its own theory predicts the error of the pairs that are met, so the prediction does not help."""
    model, _, mode = parts
    controlled = Controlled.around(model, mode)
    exact = Chain(controlled, ProxyStep.of(controlled), ExactTest(), mode, np.random.default_rng(1))
    design = search(observe(exact, 100, every=1).trial(N_DATA), 0.01).best
    found = audit_chain(chain_of(parts, design, 7), design)
    assert found.verdict == "beyond"
    assert found.error.value > 10.0 * found.tolerance
    assert found.error.value == pytest.approx(found.error.predicted, rel=0.1)


def test_a_trial_run_in_burn_in_is_noticed(parts):
    """Far from the mode A and κ are large and decisions easy: such a design reads little."""
    model, walk, mode = parts
    far = Chain(model, walk, ExactTest(), mode + 3.0, np.random.default_rng(2))
    trial = observe(far, 60, every=1).trial(N_DATA)
    assert trial.log_acceptance.max() > 20.0
    easy = [TrialRun(N_DATA, trial.mu[k : k + 1], trial.sigma[k : k + 1]) for k in range(len(trial))]
    epsilons = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05)
    errors = {e: np.mean([acceptance(Design(N_DATA, 50, e), one).mean_abs_delta for one in easy]) for e in epsilons}
    met = [e for e in epsilons if errors[e] < 0.05]
    found = audit_chain(chain_of(parts, Design(N_DATA, 50, met[0]), 8), tolerance=0.05)
    assert found.verdict == "beyond"


@pytest.mark.parametrize("name", ["rare-levels-wide", "rare-dummies"])
def test_rare_levels_at_a_small_batch_are_noticed(name):
    case = CASES[name]
    x, y, precision = case.data()
    model = Logistic.from_data(x, y, prior_precision=precision)
    controlled = Controlled.around(model, find_mode(model))
    design = Design(model.n_data, 20, 0.05)
    chain = Chain(
        controlled,
        ProxyStep.of(controlled),
        SequentialTest.from_design(design),
        controlled.centre,
        np.random.default_rng(1),
    )
    found = audit_chain(chain, design, tolerance=0.01)
    assert found.verdict == "beyond"
    assert found.lower > 0.01
    assert found.error.value > 1.5 * found.error.predicted  # the normal theory does not see it


@pytest.fixture(scope="module")
def known(parts):
    """A design, and its mean |Δ| from 300 steps."""
    design = Design(N_DATA, 50, 0.1)
    return design, audit(design, observe(chain_of(parts, design, 9), 1200, every=4), N_DATA).error.value


def test_right_runs_rarely_make_it_cry_wolf(parts, known):
    """Mean |Δ| is at the tolerance, where an alarm is likeliest; 0.5% of audits may say that it is beyond."""
    design, truth = known
    found = [
        audit_chain(chain_of(parts, design, seed), design, tolerance=truth, every=2, passes=150) for seed in range(12)
    ]
    assert sum(one.verdict == "beyond" for one in found) <= 1
    assert np.mean([one.upper > truth for one in found]) > 0.85
    assert all(one.pairs <= 100 for one in found)


def test_twice_the_tolerance_is_noticed_as_often_as_promised(parts, known):
    design, truth = known
    found = [
        audit_chain(chain_of(parts, design, seed), design, tolerance=truth / 2.0, every=2, passes=150)
        for seed in range(6)
    ]
    assert sum(one.verdict == "beyond" for one in found) >= 3
    assert np.mean([one.power for one in found]) > POWER - 0.05


def step(delta):
    return StepError(probability=0.5, delta=delta, se=0.0, low=abs(delta), wrong=abs(delta), usage=0.1, orders=64)


def test_an_audit_of_few_steps_says_what_it_could_not_have_noticed():
    rng = np.random.default_rng(1)
    by, nothing = standard(None, 0.01, np.nan), [np.nan] * 4
    few = judge([step(d) for d in rng.normal(0.0, 0.008, 6)], by, nothing)
    many = judge([step(d) for d in rng.normal(0.0, 0.008, 300)], by, nothing)
    assert few.detectable > 0.02 > many.detectable
    assert few.power < POWER < many.power
    assert many.verdict == "within" and few.upper > many.upper
    assert f"{few.detectable:.3g} would have been noticed" in few.sentence


def test_what_shows_is_what_the_normal_approximation_says():
    rng, tolerance, n = np.random.default_rng(2), 0.01, 80
    se = 0.01 / n**0.5  # spread in proportion to the mean: exponential |Δ|
    detectable, power = what_shows(se, 0.01, tolerance, n)
    by = standard(None, tolerance, np.nan)

    def alarms(mean):
        made = [judge([step(d) for d in rng.exponential(mean, n)], by, [np.nan] * 4) for _ in range(300)]
        return np.mean([one.verdict == "beyond" for one in made])

    assert alarms(detectable) == pytest.approx(POWER, abs=0.08)
    assert alarms(2.0 * tolerance) == pytest.approx(power, abs=0.05)
    assert alarms(tolerance) < 0.02


def test_other_tests_are_audited(parts):
    model, walk, mode = parts
    barker = Chain(model, walk, BarkerTest(m=50), mode, np.random.default_rng(6), "barker")
    found = audit_chain(barker, passes=40)
    assert found.source == "assumed" and found.tolerance == 0.01
    assert found.verdict == "within" and np.isnan(found.wrong.value)
    bounded = Chain(model, walk, ConcentrationTest(m=50, delta=0.1), mode, np.random.default_rng(6))
    found = audit_chain(bounded, passes=5)
    assert found.tolerance == 0.1 and found.error.value < 0.01 and found.verdict == "within"
    by_rule = audit_chain(chain_of(parts, Design(N_DATA, 50, 0.1), 6, "barker"), Design(N_DATA, 50, 0.1))
    assert by_rule.agrees and by_rule.error.value == pytest.approx(by_rule.error.predicted, abs=0.004)


def test_what_cannot_be_audited_is_refused(parts, refuses):
    model, walk, mode = parts
    exact = Chain(model, walk, ExactTest(), mode, np.random.default_rng(1))
    refuses(lambda: audit_chain(exact), "has no error to audit")
    exact.use_test(ExactMinibatchTest())
    refuses(lambda: audit_chain(exact), "has no error to audit")
    exact.use_test(ExactTest())
    refuses(lambda: audit(None, observe(exact, 10), N_DATA), "observed: no step")
    designed = chain_of(parts, Design(N_DATA, 50, 0.1), 1)
    refuses(lambda: audit_chain(designed, tolerance=0.0), "tolerance = 0")
    refuses(lambda: audit_chain(designed, passes=0), "passes = 0")
    refuses(lambda: audit_chain(designed, every=0), "every = 0")
