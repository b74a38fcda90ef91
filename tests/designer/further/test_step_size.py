"""Step size and test together: the law against closed forms and simulation, the table against the search."""

from __future__ import annotations

import math

import numpy as np
import pytest

from designer import BadInput, Cost, Design, Space, TrialRun, acceptance, best_step, search
from designer.core.progress import Cancelled
from designer.further.step_size import effective_share, exact_jump, fit_step_law

N = 20_000
SPACE = Space(500, 2000, (0.5, 0.5))


def gaussian_pairs(rng: np.random.Generator, dimension: int, step: float, pairs: int, ratio: float = 1.0) -> TrialRun:
    """Pairs of a random walk on N(0, I) at stationarity; κ is `ratio` times the length of the step."""
    theta, move = rng.standard_normal((2, pairs, dimension))
    q = step**2 * (move**2).sum(axis=1)
    a = -step * (theta * move).sum(axis=1) - 0.5 * q
    return TrialRun(N, a / N, ratio * np.sqrt(q) * math.sqrt(N - 1) / N)


def test_the_law_finds_the_length_of_the_steps():
    rng = np.random.default_rng(1)
    for ratio in (1.0, 0.3):
        trial = gaussian_pairs(rng, 5, 0.8, 4000, ratio)
        law = fit_step_law(trial)
        true = (trial.kappa / ratio) ** 2
        assert law.proportional
        # the information on log b of one pair under N(-q/2, q) is 1/2 + q/4
        se = 1.0 / math.sqrt(float(np.sum(0.5 + true / 4.0)))
        assert np.all(np.abs(law.squared_length / true - 1.0) < 4.0 * se)


def test_kappa_that_is_not_the_length_is_not_taken_for_it():
    """With control variates κ is large where |A| is, of either sign."""
    rng = np.random.default_rng(2)
    trial = gaussian_pairs(rng, 50, 2.38 / math.sqrt(50), 2000)
    fooled = TrialRun(N, trial.mu, 1e-3 * (0.2 + np.abs(trial.log_acceptance)) / math.sqrt(N))
    law = fit_step_law(fooled)
    assert not law.proportional
    assert law.squared_length == pytest.approx(np.full(2000, 2.38**2), rel=0.1)


@pytest.mark.parametrize("relative", [0.4, 1.6])
def test_scaled_pairs_are_those_of_a_scaled_walk(relative):
    """On a Gaussian posterior the law is exact but for b: acceptance and squared jump agree with a walk's own pairs."""
    rng = np.random.default_rng(3)
    pairs, dimension, step = 20_000, 10, 0.7
    trial = gaussian_pairs(rng, dimension, step, pairs)
    law = fit_step_law(trial)
    scaled, fresh = law.scaled(trial, relative), gaussian_pairs(rng, dimension, relative * step, pairs)
    for value in (lambda run: np.minimum(1.0, np.exp(run.log_acceptance)), lambda run: run.log_acceptance):
        one, other = value(scaled), value(fresh)
        se = math.hypot(one.std(), other.std()) / math.sqrt(pairs)
        assert abs(one.mean() - other.mean()) < 4.0 * se + 0.01 * abs(other.mean())
    jump = exact_jump(scaled, relative**2 * law.squared_length)
    assert jump == pytest.approx(exact_jump(fresh, fresh.kappa**2), rel=0.04)


def test_rows_are_what_search_and_acceptance_say():
    trial = TrialRun.at_stationarity(N, 0.3, 40, np.random.default_rng(4))
    cost = Cost(10.0, 2.0, 5.0)
    found = best_step(trial, 0.03, [0.5, 1.0], cost=cost, hold="step", refine=False, space=SPACE)
    assert [row.scale for row in found.rows] == [0.5, 1.0]
    row, want = found.rows[1], search(trial, 0.03, cost=cost, space=SPACE)
    assert row.design == want.best
    step = acceptance(want.best, trial)
    q = fit_step_law(trial).squared_length
    assert row.usage == pytest.approx(step.mean_usage, rel=1e-5)
    assert row.acceptance == pytest.approx(float((step.probability + step.delta).mean()), rel=1e-5)
    right = np.minimum(step.probability, step.probability + step.delta)
    assert row.jump == pytest.approx(float((q * right).mean()), rel=1e-5)
    assert row.jump_error == pytest.approx(float((q * right).std(ddof=1)) / math.sqrt(40), rel=1e-4)
    assert row.cost == pytest.approx(10.0 + 2.0 * N * step.mean_usage + 5.0 * float(step.looks.mean()), rel=1e-5)
    assert row.efficiency == pytest.approx(row.jump / row.cost)
    assert row.exact_efficiency == pytest.approx(float((q * step.probability).mean()) / (10.0 + N + 5.0))


def test_the_same_bias_allows_an_error_in_proportion_to_the_jump():
    trial = TrialRun.at_stationarity(N, 0.3, 40, np.random.default_rng(5))
    found = best_step(trial, 0.03, [0.25, 1.0], refine=False, space=SPACE)
    small, whole = found.rows
    assert whole.tolerance == 0.03
    assert small.tolerance == pytest.approx(0.03 * small.exact_jump / whole.exact_jump)
    assert small.error <= small.tolerance * (1 + 1e-6)


def test_the_exact_chain_is_best_at_the_known_step():
    """A random walk in many dimensions: k = 2.38, acceptance 0.234."""
    trial = gaussian_pairs(np.random.default_rng(6), 200, 2.38 / math.sqrt(200), 4000)
    found = best_step(trial, 0.9, [0.5, 0.7, 1.0, 1.4, 2.0], refine=False, space=Space(2000, 2000, (0.5, 0.5)))
    assert found.exact.scale == 1.0
    assert found.exact.exact_acceptance == pytest.approx(0.234, abs=0.02)
    ideal = 2.38**2 * 0.234
    assert found.exact.exact_jump == pytest.approx(ideal, rel=0.06)


def test_costly_data_make_steps_smaller():
    """With control variates of cubic growth large steps need the data that small ones do not."""
    trial = gaussian_pairs(np.random.default_rng(7), 50, 2.38 / math.sqrt(50), 100, ratio=0.3)
    found = best_step(trial, 0.005, [0.35, 0.5, 0.7, 1.0], kappa_power=3.0, refine=False, space=SPACE)
    assert found.best is not None and found.best.scale < found.exact.scale
    assert found.flat is not None and found.flat[0] <= found.best.scale <= found.flat[1]


def test_trial_runs_at_several_steps_are_used_as_they_are():
    rng = np.random.default_rng(8)
    runs = {scale: gaussian_pairs(rng, 10, 0.7 * scale, 60) for scale in (0.5, 1.0, 2.0)}
    found = best_step(runs, 0.05, [0.5, 1.1, 2.0], hold="step", refine=False, space=SPACE)
    for scale, place in ((0.5, 0), (2.0, 2)):
        assert found.rows[place].exact_acceptance == pytest.approx(
            float(np.minimum(1.0, np.exp(runs[scale].log_acceptance)).mean())
        )
        assert found.rows[place].kappa == pytest.approx(float(np.median(runs[scale].kappa)))
    slope = np.polyfit(np.log([0.5, 1.0, 2.0]), [np.log(run.kappa).mean() for run in runs.values()], 1)[0]
    assert found.rows[1].kappa == pytest.approx(float(np.median(runs[1.0].kappa)) * 1.1**slope)


def test_refining_adds_steps_beside_the_best():
    trial = TrialRun.at_stationarity(N, 0.3, 30, np.random.default_rng(9))
    plain = best_step(trial, 0.05, [0.5, 1.0, 2.0], refine=False, space=SPACE)
    told: list[tuple[int, int]] = []
    fine = best_step(trial, 0.05, [0.5, 1.0, 2.0], space=SPACE, progress=lambda *at: told.append(at))
    assert plain.best is not None and fine.best is not None
    assert {row.scale for row in fine.rows} > {row.scale for row in plain.rows}
    assert fine.best.efficiency >= plain.best.efficiency
    assert told[-1] == (len(fine.rows), len(fine.rows))


def test_steps_without_a_test_have_none():
    trial = TrialRun.at_stationarity(N, 0.3, 30, np.random.default_rng(10))
    found = best_step(trial, 1e-5, [1.0], space=Space(500, 500, (0.5, 0.5), epsilon=(0.1, 0.5)))
    assert found.best is None and found.flat is None
    assert math.isnan(found.rows[0].efficiency) and found.rows[0].exact_efficiency > 0
    assert found.sentence.startswith("no test meets the tolerance")


def test_steps_so_large_that_nothing_is_accepted_are_told():
    trial = TrialRun.at_stationarity(N, 0.3, 30, np.random.default_rng(10))
    found = best_step(trial, 0.05, [1000.0], space=SPACE)
    assert found.best is None and found.exact.exact_efficiency == 0.0
    assert found.sentence.startswith("no proposal is accepted")


def test_refining_between_close_steps_repeats_none():
    trial = TrialRun.at_stationarity(N, 0.9, 30, np.random.default_rng(10))
    found = best_step(trial, 0.05, [0.0010, 0.0011], space=SPACE)
    scales = [row.scale for row in found.rows]
    assert len(scales) == len(set(scales)) == 3


def test_it_can_be_cancelled():
    trial = TrialRun.at_stationarity(N, 0.3, 30, np.random.default_rng(10))
    with pytest.raises(Cancelled):
        best_step(trial, 0.05, [1.0], cancelled=lambda: True)


def test_effective_share_of_an_autoregression():
    """x' = rho x + noise in D coordinates: squared jump 2 D (1 - rho), and (1 - rho) / (1 + rho) effective draws."""
    assert effective_share(2.0 * 7 * (1.0 - 0.9), 7) == pytest.approx(0.1 / 1.9)
    assert effective_share(100.0, 1) == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tolerance": 0.0}, "tolerance"),
        ({"scales": []}, "scales: 0 given"),
        ({"scales": [-1.0]}, "scales = -1.0"),
        ({"hold": "bias"}, "hold = 'bias'"),
        ({"kappa_power": 9.0}, "kappa_power"),
        ({"trial": {}}, "at least one"),
        ({"trial": {1.0: TrialRun(100, [0.01], [0.1]), 2.0: TrialRun(200, [0.01], [0.1])}}, "different n_data"),
        ({"trial": {1.0: TrialRun(100, [0.01], [0.1]), 2.0: TrialRun(100, [0.01], [0.1])}}, "does not grow"),
        ({"trial": TrialRun(100, [0.0], [0.1])}, "A = 0"),
        ({"trial": TrialRun(1000, [-1.0], [0.1])}, "no proposal of the trial run has a chance"),
        ({"trial": {"one": TrialRun(100, [0.01], [0.1])}}, "step of a trial run = 'one'"),
    ],
)
def test_bad_input_is_refused(change, message):
    known = {"trial": TrialRun(100, [-0.01, 0.005], [0.1, 0.1]), "tolerance": 0.05}
    with pytest.raises(BadInput, match=message):
        best_step(**(known | change))


def test_a_design_of_another_rule():
    trial = TrialRun.at_stationarity(N, 0.3, 30, np.random.default_rng(11))
    found = best_step(trial, 0.05, [1.0], rule="barker", refine=False, space=SPACE)
    want = acceptance(Design(N, found.rows[0].design.m, found.rows[0].design.epsilon), trial, "barker")
    assert found.rows[0].acceptance == pytest.approx(float((want.probability + want.delta).mean()), rel=1e-4)


def test_kappas_of_any_size_give_lengths_without_warnings():
    """a² / κ² of one pair overflowed; then κ² is no length, and all steps count as equally long."""
    trial = TrialRun(1000, mu=[-1e97, 0.0, 1e-4], sigma=[1e-100, 1e-3, 1.0])
    law = fit_step_law(trial)
    assert not law.proportional
    assert np.all(np.isfinite(law.squared_length)) and np.all(law.squared_length > 0.0)
