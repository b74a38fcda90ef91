"""Each test at its best; and what Barker's rule costs, on chains whose asymptotic variance is known exactly."""

import numpy as np
import pytest

from designer import Design, TrialRun, search
from designer.search.space import Space
from samplers.decide.barker import BarkerTest
from samplers.decide.concentration import ConcentrationTest
from samplers.study.best_tests import best_candidates
from samplers.study.compare_tests import WORTH, Candidates, barker_data, concentration_data, predict

N = 5_000


@pytest.fixture(scope="module")
def trial():
    return TrialRun.at_stationarity(N, 0.5, 40, np.random.default_rng(3), spread=0.4)


def test_every_test_keeps_the_tolerance_and_none_reads_more_than_as_given(trial):
    best = best_candidates(trial, 0.02, least_batch=100)
    rows = {row.test: row for row in predict(trial, best)}
    assert all(row.error <= 0.02 for row in rows.values())
    given = Candidates(Design(N, 250, 0.01), BarkerTest(m=250), ConcentrationTest(m=250, delta=0.02))
    for row in predict(trial, given):
        if row.error <= 0.02:
            assert rows[row.test].data <= row.data * (1 + 1e-9)
    found = search(trial, 0.02, space=Space(100, N // 2)).best
    assert best.sequential == found.without_notes


def test_barkers_sample_is_fixed_by_its_variance(trial):
    """No batch makes it read less than N² σ² / b (1 - b / N) = σ₀² asks for."""
    best = best_candidates(trial, 0.02, least_batch=100).barker
    needed = trial.kappa**2 / (best.sigma**2 + trial.kappa**2) * N
    data = barker_data(best, trial)
    assert np.all(data >= needed * (1 - 1e-3))
    assert data.mean() <= barker_data(BarkerTest(m=400, sigma=best.sigma), trial).mean()
    assert best_candidates(trial, 1e-6, least_batch=100).barker.sigma < best.sigma  # a finer table


def test_concentration_is_given_the_tolerance(trial):
    test = best_candidates(trial, 0.02, 4.0, least_batch=100).concentration
    assert test.delta == 0.02
    other = ConcentrationTest(m=100, delta=0.02)
    assert concentration_data(test, trial, 4.0).mean() <= concentration_data(other, trial, 4.0).mean()


def test_refusals(trial, refuses):
    refuses(lambda: best_candidates(trial, 0.0), "tolerance = 0.0")
    refuses(lambda: best_candidates(trial, 0.1, least_batch=1), "m_low = 1")


# --- what a step by Barker's rule is worth ----------------------------------------------------------------------------


def asymptotic_variance(transition, weights, f):
    """n var of the mean of f over n steps, from the fundamental matrix of a finite chain."""
    centred = f - weights @ f
    solved = np.linalg.solve(np.eye(f.size) - transition + weights, centred)
    return 2.0 * weights @ (centred * solved) - weights @ centred**2


@pytest.mark.parametrize("seed", range(5))
def test_barkers_variance_is_at_most_twice_metropolis_and_one(seed):
    """v <= v_Barker <= 2 v + Var f, because Barker accepts each move at least half as often."""
    rng, states = np.random.default_rng(seed), 30
    weights = np.exp(rng.normal(0.0, 1.5, states))
    weights /= weights.sum()
    proposal = 0.5 * (np.eye(states, k=1) + np.eye(states, k=-1))
    ratio = weights[None, :] / weights[:, None]
    found = []
    for accept in (np.minimum(1.0, ratio), ratio / (1.0 + ratio)):
        transition = proposal * accept
        transition += np.diag(1.0 - transition.sum(axis=1))
        assert weights @ transition == pytest.approx(weights)
        found.append((transition, [rng.normal(size=states), np.arange(states, dtype=float)]))
    for f in found[0][1]:
        v, v_barker = (asymptotic_variance(transition, weights, f) for transition, _ in found)
        assert v <= v_barker <= WORTH["barker"] * v + weights @ (f - weights @ f) ** 2


def test_costs_say_what_they_count(trial):
    rows = {row.test: row for row in predict(trial, Candidates(Design(N, 250, 0.05)))}
    assert rows["Barker minibatch"].per_metropolis_step == 2 * rows["Barker minibatch"].evaluations
    for name in ("exact, cached", "sequential", "concentration"):
        assert rows[name].per_metropolis_step == rows[name].evaluations
    ratio = rows["exact, cached"].acceptance / rows["Barker minibatch"].acceptance
    assert 1.0 < ratio < 2.0
