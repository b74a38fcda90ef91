"""The tolerance holds for the pairs that the trial run does not have: coverage of the upper limits, by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import t as student

from designer import Design, Space, TrialRun, acceptance, cross_validate, frontier, search
from designer.search.criteria import ENOUGH_PAIRS, OverPairs
from designer.search.relaxations import relaxations
from designer.search.upper_limit import (
    FEWEST_PAIRS,
    Limits,
    effective_pairs,
    limits_of,
    mean_band,
    mean_limit,
    pairs_for_quantile,
    quantile_level,
)

N_DATA = 20_000
DRAWS = 1500


def chain_pairs(rng, count: int, spread: float = 0.3) -> TrialRun:
    """Pairs of a random walk at stationarity."""
    return TrialRun.at_stationarity(N_DATA, 0.5, count, rng, spread)


def proxy_pairs(rng, count: int, spread: float) -> TrialRun:
    """Pairs as with control variates: κ small, very uneven, and unrelated to A."""
    kappa, a, n = 1e-3 * np.exp(spread * rng.standard_normal(count)), rng.normal(-0.045, 0.3, count), 10**6
    return TrialRun(n, a / n, kappa * np.sqrt(n - 1) / n)


def sizes_of(name: str, rng) -> np.ndarray:
    """Many |Δ| of a design, or heavy-tailed numbers."""
    if name == "heavy":
        return np.exp(rng.standard_normal(50_000))
    if name.startswith("proxy"):
        pairs = proxy_pairs(rng, 50_000, float(name.split()[1]))
        return np.abs(acceptance(Design(10**6, 100, 0.5), pairs, tolerance=1e-6).delta)
    design = Design(N_DATA, 500, 0.05) if name == "walk" else Design(N_DATA, 1000, 1e-3)
    return np.abs(acceptance(design, chain_pairs(rng, 50_000), tolerance=1e-6).delta)


@pytest.mark.parametrize(
    ("name", "pairs", "least"),
    [
        *(("walk", n, 0.95) for n in (20, 50, 100)),
        *(("small errors", n, 0.95) for n in (20, 50, 100)),
        ("proxy 0.5", 20, 0.94),
        ("proxy 0.5", 100, 0.95),
        ("proxy 1.0", 20, 0.93),
        ("proxy 1.0", 100, 0.95),
        ("proxy 1.5", 20, 0.89),
        ("proxy 1.5", 100, 0.95),
        ("heavy", 20, 0.93),
        ("heavy", 100, 0.95),
    ],
)
def test_the_limit_of_the_mean_covers_it_as_often_as_it_says(name, pairs, least):
    """Within 4 standard errors of the coverage named; Student's limit and the percentile bootstrap fall to 0.75."""
    rng = np.random.default_rng(1)
    sizes = sizes_of(name, rng)
    samples = sizes[rng.integers(sizes.size, size=(DRAWS, pairs))]
    covered = np.mean([mean_limit(sample, pairs, 0.95) >= sizes.mean() for sample in samples])
    assert covered > least - 4 * np.sqrt(least * (1 - least) / DRAWS)


def test_the_limit_is_close_to_students_for_many_even_pairs():
    sizes = np.abs(acceptance(Design(N_DATA, 500, 0.05), chain_pairs(np.random.default_rng(2), 4000)).delta)
    width = student.ppf(0.95, 3999) * sizes.std(ddof=1) / np.sqrt(4000)
    assert mean_limit(sizes, 4000.0, 0.95) == pytest.approx(sizes.mean() + width, rel=0.002)
    few, many = (mean_limit(sizes, n, 0.95) for n in (100.0, 4000.0))
    assert sizes.mean() < many < few
    assert mean_limit(sizes, 100.0, 0.8) < few < mean_limit(sizes, 100.0, 0.99)
    assert mean_limit(np.full(30, 0.02), 30.0, 0.95) == 0.02


@pytest.mark.parametrize(("quantile", "pairs"), [(0.95, 59), (0.95, 200), (0.8, 40), (0.5, 25)])
def test_the_limit_of_a_quantile_covers_it(quantile, pairs):
    rng = np.random.default_rng(3)
    limit = Limits(0.95, float(pairs), quantile)
    truth = -np.log1p(-quantile)
    covered = np.mean([limit.of(rng.standard_exponential(pairs)) >= truth for _ in range(DRAWS)])
    assert covered > 0.95 - 4 * np.sqrt(0.95 * 0.05 / DRAWS)
    k = round(quantile_level(quantile, pairs, 0.95) * (pairs - 1)) + 1
    assert binom.cdf(k - 1, pairs, quantile) >= 0.95 > binom.cdf(k - 2, pairs, quantile)  # and it is the smallest


def test_designs_hold_on_all_pairs_of_the_chain_as_often_as_asked():
    """By the point estimate, in half of the cases."""
    rng = np.random.default_rng(4)
    everyone = chain_pairs(rng, 5000, 0.6)
    held = {0.95: 0, None: 0}
    for _ in range(60):
        trial = everyone.subset(rng.integers(len(everyone), size=40))
        for confidence in held:
            found = search(trial, 0.03, "fixed-m", confidence=confidence, workers=1)
            held[confidence] += OverPairs(everyone, "metropolis")(_plan(found.best), 1e-6).error <= 0.03
    assert held[0.95] >= 52  # 57 expected, sd 1.7
    assert 15 <= held[None] <= 45


def _plan(design):
    from designer.rule.plan import as_plan

    return as_plan(design)


def test_the_result_and_the_file_say_both_the_expected_error_and_its_limit():
    trial = chain_pairs(np.random.default_rng(5), 100)
    found = search(trial, 0.02)
    sizes = np.abs(found.acceptance.delta)
    assert found.confidence == found.best.provenance.confidence == 0.95
    assert found.error == pytest.approx(sizes.mean(), abs=1e-6)
    assert found.error < found.limit <= 0.02
    assert found.limit == pytest.approx(mean_limit(sizes, limits_of(trial, 0.95).pairs, 0.95), abs=1e-6)
    predicted = Design.from_toml(found.best.to_toml()).predicted
    assert predicted.error == pytest.approx(found.error, abs=1e-6)
    assert predicted.error_limit == pytest.approx(found.limit, abs=1e-6)
    assert found.limit > 0.02 * (1 - 2e-3)  # no more data than needed
    table = found.evaluated
    assert np.array_equal(table.feasible, table.limit <= 0.02) and np.all(table.limit >= table.error)
    point = search(trial, 0.02, confidence=0.5)
    assert point.best == search(trial, 0.02, confidence=None).best
    assert (point.confidence, point.limit, point.best.predicted.error_limit) == (None, point.error, None)
    assert point.usage < found.usage


def test_the_worst_case_has_no_band():
    trial = chain_pairs(np.random.default_rng(5), 5)
    found = search(trial, 0.1, "worst-case")
    assert (found.confidence, found.limit) == (None, found.error)
    assert found.best.without_notes == search(None, 0.1, "worst-case", n_data=N_DATA).best.without_notes


def test_the_quantile_has_its_own_limit():
    trial = chain_pairs(np.random.default_rng(6), 120)
    found = search(trial, 0.05, "quantile", quantile=0.9)
    sizes = np.sort(np.abs(acceptance(found.best, trial).delta))
    below = int(binom.ppf(0.95, 120, 0.9))
    assert found.limit == pytest.approx(sizes[below], abs=1e-6)
    assert found.error == pytest.approx(np.quantile(sizes, 0.9), abs=1e-6)
    assert found.error < found.limit <= 0.05


def test_folds_frontier_and_advice_follow():
    rng = np.random.default_rng(7)
    trial = chain_pairs(rng, 60)
    space = Space(500, 1000, (0.5, 0.5), epsilon=(0.02, 0.5))
    folds = cross_validate(rng, trial, 0.05, folds=2, space=space)
    assert all(fold.design.predicted.error_limit <= 0.05 for fold in folds.folds)
    (point,) = frontier(trial, [0.05], criteria=["fixed-m"])
    assert point.train_error < point.train_limit <= 0.05
    found = search(trial, 0.004, space=space)
    assert "upper limit of |Δ| (confidence 0.95)" in found.reason
    assert all(advice.found.limit <= advice.found.tolerance for advice in relaxations(trial, found, space=space))
    between = search(trial, found.nearest_tolerance * 0.97, space=space)
    assert between.best is None and between.reason.endswith("take more pairs: the expected error is small enough")


def test_few_pairs_are_refused_with_what_to_do(refuses):
    trial = chain_pairs(np.random.default_rng(8), FEWEST_PAIRS)
    assert limits_of(trial, 0.95).pairs <= FEWEST_PAIRS
    slow = TrialRun(N_DATA, np.zeros(100), np.repeat([0.01, 0.02, 0.015, 0.03], 25))
    refuses(lambda: search(slow, 0.05), "100 pairs are too few (worth", "take more pairs")
    few = chain_pairs(np.random.default_rng(8), FEWEST_PAIRS - 1)
    refuses(lambda: search(few, 0.05), "19 pairs are too few", "take more pairs", "confidence 0.5")
    assert search(few, 0.05, "fixed-m", confidence=None).best is not None
    some = chain_pairs(np.random.default_rng(8), 58)
    refuses(lambda: search(some, 0.05, "quantile"), "58 pairs are too few", "needs 59")
    assert pairs_for_quantile(0.95, 0.95) == 59
    refuses(lambda: search(some, 0.05, "quantile", quantile=1.0), "quantile = 1")
    refuses(lambda: search(trial, 0.05, confidence=1.0), "confidence = 1.0")
    refuses(lambda: search(trial, 0.05, confidence=0.4), "confidence = 0.4")


def test_pairs_of_a_slow_chain_count_for_less():
    rng = np.random.default_rng(9)
    rho, n = 0.9, 4000
    noise, state = rng.standard_normal(n), np.zeros(n)
    for i in range(1, n):
        state[i] = rho * state[i - 1] + np.sqrt(1 - rho**2) * noise[i]
    slow = TrialRun(N_DATA, rng.normal(-0.5, 1, n) / N_DATA, np.exp(0.3 * state) / np.sqrt(N_DATA))
    assert effective_pairs(slow) == pytest.approx(n * (1 - rho) / (1 + rho), rel=0.35)
    independent = [effective_pairs(chain_pairs(rng, 200)) / 200 for _ in range(40)]
    assert np.mean(independent) > 0.95
    assert effective_pairs(TrialRun(N_DATA, np.zeros(30), np.full(30, 0.01))) == 30
    assert limits_of(slow, 0.95).of(np.ones(n) + noise**2) > mean_limit(np.ones(n) + noise**2, n, 0.95)


def test_many_pairs_are_compared_on_a_sample_with_the_limit_of_all():
    trial = chain_pairs(np.random.default_rng(10), 3 * ENOUGH_PAIRS)
    full = OverPairs(trial, "metropolis", limits=limits_of(trial, 0.95))
    design = _plan(Design(N_DATA, 500, 0.05))
    assert full.small()(design, 1e-6).limit == pytest.approx(full(design, 1e-6).limit, rel=0.01)


SHARES = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.5, 5.0, n),
    "heavy": lambda rng, n: np.minimum(0.02 * rng.lognormal(0.0, 1.2, n), 1.0),
    "rare": lambda rng, n: np.where(rng.random(n) < 0.9, 0.9 + 0.1 * rng.random(n), 0.0),
}


@pytest.mark.parametrize("name", SHARES)
def test_a_band_of_shares_misses_the_mean_as_rarely_as_asked(name):
    """At 5% on either side, a t interval misses such means on one side in 10 to 20% of samples of 40."""
    rng = np.random.default_rng(1)
    true, missed = SHARES[name](rng, 10**6).mean(), np.zeros(2)
    for _ in range(1_500):
        low, high = mean_band(SHARES[name](rng, 40), 40.0, tail=0.05)
        assert 0.0 <= low <= high <= 1.0
        missed += (true < low, true > high)
    assert np.all(missed / 1_500 < 0.075) and missed.sum() > 5


def test_few_pairs_have_no_band_and_equal_ones_a_narrow_one():
    assert mean_band(np.array([0.2, 0.3, 0.4]), 3.0) == (0.0, 1.0)
    for share in (0.25, 0.01, 1.0 / 3.0, 0.1 + 0.2, 0.0, 1.0):
        low, high = mean_band(np.full(50, share), 50.0)
        assert low <= high and low == pytest.approx(share, abs=1e-15) and high == pytest.approx(share, abs=1e-15)
