"""E10: data per step on the Gaussian mixture, and the quadrature its scores rest on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import chdtri

from samplers.experiments.framework.running import run_experiment
from samplers.experiments.problems.tempered import Binned, Posterior, Quadrature
from samplers.experiments.studies.e10 import EXPERIMENT
from samplers.models.mixture import Mixture, draw_mixture


def test_the_printed_average_is_that_of_a_standard_deviation(done):
    assert all(done.report.checks.values())
    rows = {(row[0], row[1]): row for row in done.report.tables[0].rows}
    assert rows["sd", "barker"][3] == pytest.approx(
        210, abs=21
    )  # N / T is that of the paper, and b depends on it alone
    assert rows["variance", "barker"][3] > 600
    assert rows["sd", "barker"][3] == pytest.approx(rows["sd", "barker"][5], rel=0.15)
    assert rows["sd", "exact"][3] == 10_000
    assert (rows["sd", "barker"][9], rows["sd", "barker"][10]) == (210.0, 182.0)
    assert rows["sd", "barker"][7] < rows["sd", "sequential"][7]  # Barker's rule moves less


def test_time_and_evaluations_are_told(done):
    """Both states at every datum read, but the exact test keeps the log-likelihoods of its state."""
    data, _, cost, _ = done.report.tables
    read = {(row[0], row[1]): row[3] for row in data.rows}
    rows = {(row[0], row[1]): dict(zip(cost.columns, row, strict=True)) for row in cost.rows}
    assert rows.keys() == read.keys() and len(rows) == 8
    for (reading, test), row in rows.items():
        factor = 1.0 if test == "exact" else 2.0
        assert row["likelihood evaluations/step"] == pytest.approx(factor * read[reading, test])
        assert row["seconds"] == pytest.approx(1e-3 * row["milliseconds/step"] * row["samples"]) and row["seconds"] > 0
        spent = row["likelihood evaluations/step"] * row["samples"]
        assert row["evaluations per effective draw"] * row["effective draws"] == pytest.approx(spent)
    assert "Bernstein-Serfling" in done.report.finding


def test_samples_fit_the_posterior_better_than_another(done, folder):
    """The Barker chain's chi-squared, and that of the same states shifted by 0.7."""
    with np.load(folder / "parts" / "posterior.npz") as kept:
        posterior = Posterior(kept["probability"], kept["first"], kept["second"])
    with np.load(folder / "parts" / "barker-sd.npz") as kept:
        theta = kept["theta"]
    right, wrong = (posterior.scores(posterior.counts(states)) for states in (theta, theta + 0.7))
    assert right[0] > wrong[0] and right[1] < wrong[1]
    assert posterior.probability.sum() == pytest.approx(1.0)


def test_few_draws_are_enough_to_see_a_shift(done, folder):
    """Chi-squared by groups of bins: right draws pass, draws shifted by a third of a mode's distance do not."""
    with np.load(folder / "parts" / "posterior.npz") as kept:
        posterior, rng = Posterior(kept["probability"], kept["first"], kept["second"]), np.random.default_rng(1)
    for number in (60, 600):
        fits = [posterior.chi_squared(rng.multinomial(number, posterior.cells), 8.0) for _ in range(200)]
        assert np.mean([fit for fit, _ in fits]) == pytest.approx(fits[0][1], rel=0.15)  # its degrees of freedom
        shifted = np.append(np.roll(posterior.probability, 1, axis=0).ravel(), 0.0)
        fit, free = posterior.chi_squared(rng.multinomial(number, shifted), 8.0)
        assert fit > chdtri(free, 0.001)


def test_nothing_is_computed_twice(done, folder):
    assert run_experiment(EXPERIMENT, "tiny", folder).seconds == done.seconds


def test_a_histogram_is_enough_for_the_likelihood():
    x = draw_mixture(np.random.default_rng(1), 5000)
    model, binned = Mixture.from_data(x, 50.0), Binned.of(x, 50.0)
    theta, proposed = np.array([0.1, 0.8]), np.array([-0.2, 1.1])
    terms = model.terms(theta, proposed, np.arange(5000))
    assert binned.moments(theta, proposed) == pytest.approx((terms.mean(), terms.std()), rel=1e-4)
    difference = terms.sum() + model.log_prior(proposed) - model.log_prior(theta)
    assert binned.log_posterior(proposed) - binned.log_posterior(theta) == pytest.approx(difference, abs=1e-4)


def test_draws_come_from_the_quadrature():
    binned = Binned.of(draw_mixture(np.random.default_rng(1), 5000), 50.0)
    fine = Quadrature.of(binned, 40, lambda share: None)
    theta, n = fine.draw(np.random.default_rng(2), 4000), 4000
    mean = fine.weight.sum(axis=1) @ fine.first
    sd = math.sqrt(fine.weight.sum(axis=1) @ (fine.first - mean) ** 2)
    assert theta[:, 0].mean() == pytest.approx(mean, abs=4 * sd / math.sqrt(n))
    assert fine.pooled(8).probability.sum() == pytest.approx(1.0)


def test_scores_by_hand():
    """S17 Eqn 23 and chi-squared for two bins with probabilities 1/4 and 3/4, counts 3 and 5 of 8."""
    posterior = Posterior(np.array([[0.25, 0.75]]), np.array([0.0, 1.0]), np.array([0.0, 1.0, 2.0]))
    theta = np.array([[0.5, 0.5]] * 3 + [[0.5, 1.5]] * 5)
    score, chi = posterior.scores(posterior.counts(theta))
    expected = 3 * math.log(2) - 2 - math.log(6) + 5 * math.log(6) - 6 - math.log(120)
    assert score == pytest.approx(expected)
    assert chi == pytest.approx(1 / 2 + 1 / 6)
