"""Predictions of `samplers.study.compare_tests` against the real tests."""

import numpy as np
import pytest

from designer import Design, TrialRun, acceptance
from designer.core.errors import BadInput
from designer.core.progress import Cancelled
from designer.pairs.diagnostics import skewed_population
from samplers.decide.barker import BarkerTest
from samplers.decide.concentration import ConcentrationTest
from samplers.study.compare_tests import Candidates, cheapest, measure, predict

N = 6_000
CANDIDATES = Candidates(Design(N, 300, 0.05), BarkerTest(m=50), ConcentrationTest(m=300))


def stationary(acceptance, pairs=8):
    return TrialRun.at_stationarity(N, acceptance, pairs, np.random.default_rng(5))


@pytest.fixture(scope="module")
def small_kappa():
    """Pairs as control variates make them."""
    trial = stationary(0.6)
    return TrialRun(N, trial.mu, trial.sigma / 30.0)


@pytest.mark.parametrize("which", ["plain", "small kappa"])
def test_predictions_hold_for_the_real_tests(which, small_kappa):
    trial = small_kappa if which == "small kappa" else stationary(0.6)
    predicted = {p.test: p for p in predict(trial, CANDIDATES)}
    seen = {m.test: m for m in measure(np.random.default_rng(1), trial, CANDIDATES, pairs=len(trial), repeats=150)}
    for name in ("sequential", "Barker minibatch", "concentration"):
        assert seen[name].acceptance == pytest.approx(predicted[name].acceptance, abs=4 * seen[name].acceptance_se)
        # Barker: the sample's own variance decides, so that b scatters by a batch or two; concentration: grid of u
        slack = 4 * seen[name].data_se + (0.0 if name == "sequential" else 0.03 * predicted[name].data)
        assert seen[name].data == pytest.approx(predicted[name].data, abs=slack)
        assert seen[name].predicted_data == pytest.approx(predicted[name].data)
    exact = seen["exact, cached"]
    assert exact.data == predicted["exact, cached"].data == N
    assert exact.acceptance == pytest.approx(predicted["exact, cached"].acceptance, abs=4 * exact.acceptance_se)


def test_what_is_measured_is_predicted_for_the_same_pairs():
    """Pairs whose means differ widely, of which a few are measured: over all pairs another acceptance is predicted."""
    easy, hard = stationary(0.98, 30), stationary(0.05, 90)
    both = TrialRun(N, np.concatenate([easy.mu, hard.mu]), np.concatenate([easy.sigma, hard.sigma]))
    some = both.subset(np.linspace(0, len(both) - 1, 6).astype(int))
    over_some, over_all = ({p.test: p for p in predict(pairs, CANDIDATES)} for pairs in (some, both))
    for row in measure(np.random.default_rng(3), both, CANDIDATES, pairs=6, repeats=150):
        expected = over_some[row.test]
        assert (row.predicted_data, row.predicted_acceptance) == pytest.approx((expected.data, expected.acceptance))
        assert row.acceptance == pytest.approx(row.predicted_acceptance, abs=4 * row.acceptance_se)
        assert abs(over_all[row.test].acceptance - row.predicted_acceptance) > 0.02


def test_evaluations_count_both_states():
    rows = {p.test: p for p in predict(stationary(0.5), CANDIDATES)}
    assert rows["exact, cached"].evaluations == N
    assert rows["exact, without cache"].evaluations == 2 * N
    for row in rows.values():
        if row.test != "sequential":
            assert row.per_move == pytest.approx(row.evaluations / row.acceptance)
    assert rows["Barker minibatch"].acceptance < rows["sequential"].acceptance


def test_moves_accepted_by_error_are_no_progress():
    """Of a test that accepts twice as often as it should, half by error: exact decisions are the better buy."""
    trial = TrialRun.at_stationarity(100_000, 0.1, 100, np.random.default_rng(1))
    design = Design(100_000, 500, 0.01)
    rows = predict(trial, Candidates(design))
    sequential = next(row for row in rows if row.test == "sequential")
    step = acceptance(design, trial)
    right = np.minimum(step.probability, step.probability + step.delta)
    assert sequential.per_move == pytest.approx(sequential.evaluations / right.mean())
    assert sequential.acceptance == pytest.approx((step.probability + step.delta).mean())
    assert cheapest(rows, tolerance=0.05).test == "exact, cached"
    assert sequential.error < 0.05  # it was admitted
    assert sequential.evaluations / sequential.acceptance < 0.6 * min(row.per_move for row in rows)  # or it would win


def test_barker_needs_kappa_squared_over_one_plus_it():
    """math: b / N = κ² / (1 + κ²), up to whole batches."""
    trial = stationary(0.5)
    share = trial.kappa**2 / (1.0 + trial.kappa**2)
    row = next(p for p in predict(trial, CANDIDATES) if p.test == "Barker minibatch")
    assert 0.0 <= row.data / N - share.mean() <= 50 / N + 1e-4


def test_a_skewness_that_no_population_has_is_refused():
    trial = TrialRun(1000, [0.0], [0.1], skew=[40.0])
    with pytest.raises(BadInput, match=r"skew = 40: 1,000 numbers have at most 31\.6"):
        measure(np.random.default_rng(2), trial, Candidates(Design(1000, 100, 0.05)), pairs=1)
    assert np.isfinite(skewed_population(1000, 31.0)).all()


def test_bad_input_and_cancel():
    big = TrialRun.at_stationarity(10**7, 0.5, 5, np.random.default_rng(1))
    with pytest.raises(BadInput, match="n_data = 10,000,000: too many"):
        measure(np.random.default_rng(1), big, Candidates(Design(10**7, 500, 0.05)))
    with pytest.raises(BadInput, match="range_in_sd"):
        predict(stationary(0.5), CANDIDATES._replace(range_in_sd=0.0))
    with pytest.raises(Cancelled):
        measure(np.random.default_rng(1), stationary(0.5), CANDIDATES, cancelled=lambda: True)


def test_batches_larger_than_the_data_are_all_the_data_in_both():
    trial, few = TrialRun.at_stationarity(60, 0.5, 4, np.random.default_rng(5)), Design(60, 20, 0.05)
    candidates = Candidates(few, BarkerTest(m=100), ConcentrationTest(m=100))
    predicted = {p.test: p.data for p in predict(trial, candidates)}
    seen = {m.test: m.data for m in measure(np.random.default_rng(1), trial, candidates, pairs=4, repeats=5)}
    for name in ("Barker minibatch", "concentration"):
        assert predicted[name] == seen[name] == 60
