"""Checks of the normal approximation, against simulation and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from designer import (
    BadInput,
    Boundary,
    Design,
    Plan,
    Schedule,
    TrialRun,
    acceptance,
    student_check,
    summarise,
    tail_check,
)
from designer.pairs.examples import example
from designer.pairs.residuals import Residuals
from tests.designer.search.test_search import pairs

DESIGN = Design(20_000, 500, 0.05)


def test_without_skewness_nothing_is_distorted():
    check = tail_check(DESIGN, 0.0)
    assert check.accept == pytest.approx(check.wanted, rel=1e-12)
    assert check.reject == pytest.approx(0.05, rel=1e-12)
    assert check.verdict == "good"


@pytest.mark.parametrize(("shape", "m"), [(4.0, 500), (4.0, 100), (1.0, 500)])
def test_the_predicted_tails_are_those_of_resampled_gamma_data(shape, m):
    rng = np.random.default_rng(11)
    values = rng.gamma(shape, 1.0, 20_000)
    skew = float((((values - values.mean()) / values.std()) ** 3).mean())
    predicted = tail_check(Design(20_000, m, 0.05), skew)
    seen = student_check(rng, Design(20_000, m, 0.05), values, repeats=40_000)
    noise = 4 * np.sqrt(0.05 * 0.95 / 40_000)
    # first order in skew / sqrt(m): the next order is of the size of its square
    assert abs(seen.accept - predicted.accept) < noise + 0.1 * skew**2 / m * 10
    assert abs(seen.reject - predicted.reject) < noise + 0.1 * skew**2 / m * 10
    assert predicted.accept < 0.05 < predicted.reject


def test_gaussian_data_pass_and_wild_data_fail():
    rng = np.random.default_rng(5)
    fine = student_check(rng, DESIGN, rng.standard_normal(20_000))
    wild = student_check(rng, DESIGN, np.exp(3.0 * rng.standard_normal(20_000)))
    assert fine.verdict == "good"
    assert fine.p_value > 1e-3
    assert wild.verdict == "poor"
    assert wild.p_value < 1e-6
    assert np.all(np.diff(fine.t) >= 0)
    assert np.corrcoef(fine.t, fine.theoretical)[0, 1] > 0.995


def test_verdicts_get_worse_with_skewness():
    verdicts = [tail_check(Design(20_000, 100, 0.01), skew).verdict for skew in (0.2, 0.8, 1.25)]
    assert verdicts == ["good", "fair", "poor"]


@pytest.mark.parametrize("skew", [1.3, -8.0, 90.0])
def test_no_rates_are_claimed_beyond_the_first_order(skew):
    check = tail_check(Design(20_000, 100, 0.05), skew)
    assert (check.accept, check.reject, check.factor) == (None, None, None)
    assert check.verdict == "unknown" and "beyond the first-order correction" in check.sentence
    enough = int(np.ceil((skew / 0.125) ** 2))
    assert (f"take m >= {enough:,}" in check.sentence) == (enough < 20_000)
    if enough < 10_000:
        assert tail_check(Design(20_000, enough, 0.05), skew).accept is not None


def test_rates_within_the_first_order_are_probabilities():
    for epsilon in (1e-6, 0.01, 0.3, 0.5):
        for skew in (-1.25, 1.25):
            check = tail_check(Design(20_000, 100, epsilon), skew)
            assert 0 < check.accept < 1 and 0 < check.reject < 1 and check.accept + check.reject < 1 + 1e-9


def test_the_summary_says_what_a_usual_test_would_read():
    for trial in (pairs(400), example("control"), example("logistic")):
        found = summarise(trial)
        assert (found.usual.m, found.usual.epsilon, found.usual.alpha) == (500, 0.05, 0.5)
        assert found.usage == pytest.approx(acceptance(found.usual, trial).mean_usage, abs=1e-3)
        assert any("of the data" in remark for remark in found.remarks) == (found.usage > 0.5)


def test_the_summary_is_of_the_right_quantities():
    trial = pairs(400)
    summary = summarise(trial)
    assert summary.pairs == 400
    assert summary.log_acceptance.mean == pytest.approx(trial.log_acceptance.mean())
    assert summary.kappa.sd == pytest.approx(trial.kappa.std())
    assert summary.probability.mean == pytest.approx(np.minimum(1.0, np.exp(trial.log_acceptance)).mean())
    assert summary.kappa.quantiles[3] == pytest.approx(np.median(trial.kappa))
    barker = summarise(trial, "barker").probability.mean
    assert barker == pytest.approx((1.0 / (1.0 + np.exp(-trial.log_acceptance))).mean())


@pytest.mark.parametrize(
    ("kappa", "a", "skew", "words"),
    [
        (1.0, -0.5, None, "no skewness recorded"),
        (1.0, -0.5, 2.0, "skewness changes mean |Δ|"),
        (1.0, -0.5, 300.0, "100 of 100 pairs are too skewed for m = 500"),
        (8.0, -1.0, 0.0, "κ is 8"),
        (1.0, -30.0, 0.0, "nearly always rejected"),
        (1.0, 20.0, 0.0, "no design can be made: pair 1 has A = 20"),
    ],
)
def test_remarks_say_what_is_odd(kappa, a, skew, words):
    n = 10_000
    sigma = kappa * np.sqrt(n - 1) / n
    trial = TrialRun(n, np.full(100, a / n), np.full(100, sigma), 0.0, None if skew is None else np.full(100, skew))
    assert any(words in remark for remark in summarise(trial).remarks)


@pytest.mark.parametrize("proposal", [None, "proxy", "random-walk"])
def test_only_a_random_walk_can_have_too_small_steps(proposal):
    notes = {} if proposal is None else {"proposal": proposal}
    n = 10_000
    trial = TrialRun(n, np.zeros(100), np.full(100, 1e-4), 0.0, np.zeros(100), notes=notes)
    assert summarise(trial).remarks == (
        ["mean acceptance is 1: the random walk's steps are too small"] if proposal == "random-walk" else []
    )


def test_skewed_pairs_with_residuals_can_be_predicted():
    terms = np.random.default_rng(1).standard_normal((3, 10_000)) / 100
    terms[1, 0] = 3.0
    skew = ((terms - terms.mean(axis=1, keepdims=True)) ** 3).mean(axis=1) / terms.std(axis=1) ** 3
    parts = 10_000, terms.mean(axis=1), terms.std(axis=1), -0.5 - terms.sum(axis=1), skew
    assert any("1 of 3 pairs are too skewed for m = 500" in line for line in summarise(TrialRun(*parts)).remarks)
    kept = summarise(TrialRun(*parts, Residuals.of(terms))).remarks
    assert any("1 of 3 pairs are too skewed for the theory at m = 500: predictions resample" in line for line in kept)


def test_skewness_without_effect_gets_no_remark():
    """As with control variates: large skewness, and decisions that the first look makes nearly always."""
    n, skew = 10_000, np.linspace(-2.6, 2.6, 100)
    assert summarise(TrialRun(n, np.zeros(100), np.full(100, 1e-6), 0.0, skew)).remarks == []


def test_ordinary_pairs_get_no_remark():
    trial = pairs(100)
    quiet = TrialRun(trial.n_data, trial.mu, trial.sigma, 0.0, np.zeros(100))
    assert summarise(quiet).remarks == []


def test_bad_input():
    with pytest.raises(BadInput, match="all the data at its first look"):
        tail_check(Design(100, 100, 0.1), 1.0)
    one_sided = Plan(Schedule.equal(100, 50), Boundary.explicit([-1.0], [np.inf]))
    with pytest.raises(BadInput, match="symmetric, finite bounds"):
        tail_check(one_sided, 1.0)
    with pytest.raises(BadInput, match="population: must be 20,000 finite numbers"):
        student_check(np.random.default_rng(0), DESIGN, np.zeros(5))
