"""The Barker mini-batch test: acceptance probability, data use, skewness, the bound of S17 Eqn 18."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

from samplers.decide import BarkerTest, Comparison, ExactTest, clt_bound, correction, ridge_correction
from samplers.decide.barker import _Sample

N = 20_000
GAUSS = np.random.default_rng(1).standard_normal(N)
EXPONENTIAL = np.random.default_rng(2).exponential(size=N)


def population(x: np.ndarray, a: float, kappa: float) -> np.ndarray:
    """lᵢ of the shape of x, with log acceptance exactly A and noise κ."""
    n = x.size
    return a / n + kappa * math.sqrt(n - 1) / n * (x - x.mean()) / x.std()


def change(test: BarkerTest, values: np.ndarray, repeats: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accept minus the exact decision with the same u, accept, and data used."""
    comparison, exact = Comparison(values.size, values.take, rule="barker"), ExactTest()
    summed = Comparison(values.size, values.take, rule="barker", full=lambda: float(values.sum()))
    seen = [test.decide(np.random.default_rng(seed), comparison) for seed in range(repeats)]
    truth = [exact.decide(np.random.default_rng(seed), summed).accept for seed in range(repeats)]
    accept = np.array([decision.accept for decision in seen], dtype=float)
    return accept - truth, accept, np.array([decision.n_used for decision in seen])


@pytest.mark.parametrize(
    "test",
    [
        lambda: BarkerTest(100),
        lambda: BarkerTest(50, 0.8),
        lambda: BarkerTest(100, 1.2),
        lambda: BarkerTest(100, table=ridge_correction(1.0, 2000)),
    ],
    ids=["sigma = 1", "0.8", "1.2", "ridge"],
)
@pytest.mark.parametrize("a", [-1.5, 0.0, 0.8])
def test_acceptance_is_barkers(test, a):
    """Gaussian lᵢ, b of a few hundred; also the difference from the exact decision, which varies less."""
    repeats = 2500
    differing, accept, _ = change(test(), population(GAUSS, a, 0.12), repeats)
    p = 1 / (1 + math.exp(-a))
    assert abs(accept.mean() - p) < 4 * math.sqrt(p * (1 - p) / repeats)
    assert abs(differing.mean()) < 4 * differing.std() / math.sqrt(repeats)
    assert np.mean(differing != 0) < 2 * p * (1 - p) * 0.9  # coupled: independent decisions would differ more often


def test_noise_is_needed():
    """Without X_corr the test is far from Barker's: these comparisons can fail."""
    table = correction(1.0)
    blunt = type(table)(1.0, 0.0, np.zeros(1), np.ones(1), 0.0, 0.0)
    differing, _, _ = change(BarkerTest(100, table=blunt), population(GAUSS, 0.8, 0.12), 2500)
    assert abs(differing.mean()) > 4 * differing.std() / math.sqrt(2500)


@pytest.mark.parametrize("kappa", [0.02, 0.5, 1.0, 3.0])
def test_data_use(kappa):
    """b / N = κ² / (σ² + κ²): the variance without replacement (docs/which_test.md)."""
    for sigma in (0.7, 1.0):
        _, _, used = change(BarkerTest(50, sigma), population(GAUSS, 0.0, kappa), 20)
        expected = max(50.0, N * kappa**2 / (sigma**2 + kappa**2) + 25)
        assert used.mean() == pytest.approx(expected, rel=0.06)


def test_all_the_data_give_the_exact_decision():
    values = population(GAUSS[:500], 0.3, 20.0)
    differing, accept, used = change(BarkerTest(90, 0.4), values, 300)
    assert np.all(used == 500) and np.all(differing == 0)
    assert 0.4 < accept.mean() < 0.75


def test_variance_of_the_estimate():
    """s² estimates the variance of Δ* without replacement, at b / N = 1/4; and Δ* is unbiased."""
    values = population(GAUSS[:400], 0.7, 0.5)
    comparison = Comparison(400, values.take, 0.2, "barker")
    rng, test = np.random.default_rng(3), BarkerTest(100)
    reports = [test.report(rng, comparison, resamples=1) for _ in range(1500)]
    estimates, variances = np.array([(r.estimate, r.variance) for r in reports]).T
    assert estimates.mean() == pytest.approx(0.5, abs=4 * estimates.std() / math.sqrt(1500))
    assert variances.mean() == pytest.approx(estimates.var(), rel=4 * math.sqrt(2 / 1500))
    assert variances.mean() == pytest.approx(0.5**2 * 399 / 400 * 400 * (1 / 100 - 1 / 400) * 400 / 399, rel=0.02)


def test_third_cumulant_of_skewed_data():
    """E[(Δ* + X_nc - A)³] = E[D³] - 3 E[D s²], by sampling; not that of Δ* alone, and for any b / N."""
    rng, n = np.random.default_rng(4), 120
    x = np.random.default_rng(5).exponential(size=n)
    x = (x - x.mean()) / x.std(ddof=1)
    gamma = float((x**3).mean() / (x**2).mean() ** 1.5)
    for b in (12, 60):
        order = np.argpartition(rng.random((60_000, n)), b, axis=1)[:, :b]
        seen, s0 = x[order], math.sqrt(1 / b - 1 / n)
        mean, s2 = seen.mean(axis=1), seen.var(axis=1, ddof=1) * s0**2
        third = (mean**3 - 3 * mean * s2) / s0**3
        expected = BarkerTest(b, skew_corrected=True)._skew(_Sample(b, 1, 0.0, 1.0, gamma, np.empty(0)), n)
        assert third.mean() == pytest.approx(
            expected, abs=4 * third.std() / math.sqrt(third.size) + 0.05 * abs(expected)
        )
        assert abs(third.mean() - gamma * (1 - 2 * b / n) / math.sqrt(b * (1 - b / n))) > 0.1


def accept_probability(test: BarkerTest, seen: np.ndarray, scale: float, a: float) -> np.ndarray:
    """P(accept | sample) with X_nc and X_corr integrated out, for samples (rows) of standardised lᵢ at a fixed b."""
    b, result = seen.shape[1], []
    for row in seen:
        s2 = scale**2 * row.var(ddof=1) / b
        x = row - row.mean()
        skew = test._skew(_Sample(b, 1, 0.0, s2, float((x**3).mean() / (x**2).mean() ** 1.5), np.empty(0)), 10**9)
        place = min(abs(skew), 0.6) / 0.1
        total = 0.0
        for node, weight in ((int(place), 1 - place % 1), (int(place) + 1, place % 1)):
            table = correction(1.0, node * 0.1)
            x_corr = math.copysign(1.0, skew) * table.x
            total += weight * (ndtr((a + scale * row.mean() + x_corr) / math.sqrt(max(1 - s2, 1e-12))) @ table.mass)
        result.append(total)
    return np.array(result)


def test_skewed_tables_remove_the_error_at_a_given_size():
    """b = 40 exponential lᵢ, s = 0.6, A = 0: 0.003 too many acceptances without the tables, none with them."""
    rng, b, s = np.random.default_rng(6), 40, 0.6
    seen, scale = rng.exponential(size=(6000, b)) - 1.0, s * math.sqrt(b)
    control = 0.25 * scale * seen.mean(axis=1)  # has mean 0, and takes most of the variance
    errors = {}
    for corrected in (False, True):
        error = accept_probability(BarkerTest(b, skew_corrected=corrected), seen, scale, 0.0) - control - 0.5
        errors[corrected] = (error.mean(), error.std() / math.sqrt(error.size))
    assert errors[False][0] > 8 * errors[False][1]
    assert abs(errors[True][0]) < max(4 * errors[True][1], 0.25 * errors[False][0])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bias_of_stopping_on_skewed_data(sign):
    """m = 20, b around 100: S17's test is off by 0.04; with the correction by a third of that at most."""
    values, repeats = population(sign * EXPONENTIAL, 0.0, 0.07), 8000
    plain, _, used = change(BarkerTest(20), values, repeats)
    assert 90 < used.mean() < 115
    assert -sign * plain.mean() > 5 * plain.std() / math.sqrt(repeats)
    corrected, _, _ = change(BarkerTest(20, skew_corrected=True), values, repeats)
    assert abs(corrected.mean()) < abs(plain.mean()) / 3 + 3 * corrected.std() / math.sqrt(repeats)
    assert abs(corrected.mean()) < 0.6 * abs(plain.mean())


def test_very_skewed_samples_are_made_larger():
    values = population((np.arange(2000) % 200 == 0).astype(float), 0.0, 0.01)
    comparison = Comparison(2000, values.take, rule="barker")
    used = {}
    for corrected in (False, True):
        test = BarkerTest(4, 0.3, skew_corrected=corrected)
        used[corrected] = np.mean([test.decide(np.random.default_rng(s), comparison).n_used for s in range(300)])
    assert used[True] >= used[False]


def test_report_and_its_bound():
    values = population(EXPONENTIAL, 0.4, 0.1)
    comparison, test = Comparison(N, values.take, 0.1, "barker"), BarkerTest(100, skew_corrected=True)
    for seed in range(20):
        report = test.report(np.random.default_rng(seed), comparison)
        assert report.decision == test.decide(np.random.default_rng(seed), comparison)
        assert 8.4 / math.sqrt(report.decision.n_used) < report.bound
        assert report.bound < report.bound_high < 3 * report.bound
        assert report.variance < 1.0 and report.skewness > 0.5
    whole = BarkerTest(100).report(
        np.random.default_rng(1), Comparison(150, np.linspace(-9, 9, 150).take, rule="barker")
    )
    assert (whole.decision.n_used, whole.variance, whole.bound, whole.bound_high) == (150, 0.0, 0.0, 0.0)
    forced = BarkerTest(100).report(np.random.default_rng(1), Comparison(150, np.zeros(150).take, math.inf, "barker"))
    assert forced.decision == (False, 0, 0) and forced.estimate == -math.inf


def test_bound_in_closed_form():
    """Standardised: E|Z| = sqrt(2 / pi), E|Z|³ = 2 sqrt(2 / pi); location and scale do not matter."""
    z = np.random.default_rng(7).standard_normal(400_000)
    expected = (6.4 * 2 + 2) * math.sqrt(2 / math.pi) / math.sqrt(z.size)
    assert clt_bound(z) == pytest.approx(expected, rel=0.01)
    assert clt_bound(1e-6 * z + 5.0) == pytest.approx(clt_bound(z), rel=1e-6)
    assert clt_bound(np.tile([-3.0, 3.0], 50)) == pytest.approx(0.84, rel=1e-12)
    assert clt_bound(np.zeros(10)) == 0.0


def test_metropolis_is_refused(refuses):
    ask = Comparison(200, np.zeros(200).take)
    refuses(lambda: BarkerTest().decide(np.random.default_rng(1), ask), "metropolis", "barker")


def test_options_are_checked(refuses):
    refuses(lambda: BarkerTest(1), "m")
    refuses(lambda: BarkerTest(100, 2.0), "sigma")
    refuses(lambda: BarkerTest(100, 0.9, table=correction(1.0)), "table", "0.9")
    refuses(lambda: BarkerTest(100, 1.0, skew_corrected=True, table=correction(1.0)), "table")
    refuses(
        lambda: BarkerTest(201).decide(np.random.default_rng(1), Comparison(200, np.zeros(200).take, rule="barker")),
        "201",
    )


@pytest.mark.parametrize("a", [-1.5, 0.5])
def test_logistic_is_reached_without_noise_in_the_data(a):
    """Constant lᵢ: s = 0, so X_nc + X_corr alone must be logistic."""
    comparison = Comparison(100, np.full(100, a / 100).take, rule="barker")
    accepts = [BarkerTest(10).decide(np.random.default_rng(seed), comparison).accept for seed in range(4000)]
    p = expit(a)
    assert abs(np.mean(accepts) - p) < 4 * math.sqrt(p * (1 - p) / 4000)


class Drawn:
    """A generator whose next uniform number is known."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self) -> float:
        return self.number


def test_between_two_skewed_tables_one_is_drawn():
    test = BarkerTest(skew_corrected=True)
    for p in (0.01, 0.3, 0.5, 0.77):
        assert test._correction(Drawn(0.69), p, 0.27) == correction(1.0, 0.3).quantile(p)
        assert test._correction(Drawn(0.71), p, 0.27) == correction(1.0, 0.2).quantile(p)
        assert test._correction(Drawn(0.71), p, -0.27) == -correction(1.0, 0.2).quantile(1 - p)
    middle = (np.arange(20_000) + 0.5) / 20_000  # third moments tell the tables apart
    for u, skew, third in ((0.71, -0.27, 0.2), (0.71, 0.27, -0.2), (0.69, -0.27, 0.3), (0.69, 0.27, -0.3)):
        cubes = [test._correction(Drawn(u), q, skew) ** 3 for q in middle]
        assert np.mean(cubes) == pytest.approx(third, abs=0.04)


@pytest.mark.parametrize(("shape", "delta"), [(GAUSS, 0.15), (EXPONENTIAL, 0.17), (EXPONENTIAL, 0.05)])
@pytest.mark.parametrize("kappa", [0.1, 0.9])
def test_delta_reads_on_until_the_bound_is_small(shape, delta, kappa):
    """S17 Alg. 1 as printed, with the bound computed from scratch at every look."""
    values = population(shape, 0.2, kappa)
    comparison, m = Comparison(N, values.take, rule="barker"), 130
    for seed in range(3):
        decision, sample = BarkerTest(m, delta=delta)._decide(np.random.default_rng(seed), comparison, keep=True)
        read = sample.values
        assert read.size == decision.n_used == sample.size
        for b in range(m, N, m):
            s2 = N**2 * read[:b].var(ddof=1) / b * (1 - b / N)
            if s2 < 1.0 and clt_bound(read[:b]) <= delta:
                break
        else:
            b = N
        assert decision.n_used == b
    assert b > 4500  # the variance alone needs some 200 to 9,000 data
    assert (b == N) == (delta == 0.05)


def test_without_spread_delta_stops_at_once():
    comparison = Comparison(N, np.full(N, 1e-6).take, rule="barker")
    assert BarkerTest(50, delta=0.1).decide(np.random.default_rng(1), comparison).n_used == 50


@pytest.mark.parametrize("delta", [0.0, -0.1, 1.5, math.nan, "x"])
def test_delta_is_a_probability(delta, refuses):
    refuses(lambda: BarkerTest(delta=delta), "delta = ", "must lie in (0, 1]")


def test_a_predicted_sample_is_large_enough_for_delta():
    from designer import TrialRun
    from samplers.study.compare_tests import barker_data

    values = population(GAUSS, 0.2, 0.1)
    trial = TrialRun(N, [values.mean()], [values.std()])
    used = change(BarkerTest(100, delta=0.15), values, 20)[2]
    assert barker_data(BarkerTest(100, delta=0.15), trial)[0] == pytest.approx(used.mean(), rel=0.05)
