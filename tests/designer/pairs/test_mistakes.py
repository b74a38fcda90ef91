"""Mistakes in recorded pairs: each is told in one line, and right pairs are left alone."""

from __future__ import annotations

import io

import numpy as np
import pytest

from designer import TrialRun
from designer.pairs.columns import BadFile
from designer.pairs.diagnostics import summarise
from designer.pairs.examples import EXAMPLES, example
from designer.pairs.mistakes import likely_mistake, odd_pairs
from designer.pairs.refusals import pairs_problem

N = 100_000


@pytest.fixture(scope="module")
def right() -> TrialRun:
    """A random walk with a strong prior: c has the scale of A."""
    rng = np.random.default_rng(3)
    plain = TrialRun.at_stationarity(N, 0.3, 200, rng)
    c = rng.normal(0.0, 2.0, 200)
    return TrialRun(N, plain.mu + c / N, plain.sigma, c)


def changed(right, mu=None, sigma=None, sign=1.0):
    return TrialRun(
        right.n_data, right.mu if mu is None else mu, right.sigma if sigma is None else sigma, sign * right.log_ratio
    )


def test_right_pairs_have_no_mistake(right):
    assert (pairs_problem(right), odd_pairs(right)) == (None, None)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_have_no_mistake(name):
    assert (pairs_problem(example(name)), odd_pairs(example(name))) == (None, None)


@pytest.mark.parametrize("acceptance", [0.05, 0.3, 0.7, 0.95])
@pytest.mark.parametrize("n_data", [1_000, 10**6])
def test_no_false_alarms(acceptance, n_data):
    rng = np.random.default_rng(4)
    for _ in range(50):
        trial = TrialRun.at_stationarity(n_data, acceptance, 100, rng, spread=0.3)
        assert odd_pairs(TrialRun(n_data, trial.mu, trial.sigma, rng.normal(0.0, 0.5, 100))) is None


def test_sums_are_told(right):
    assert pairs_problem(changed(right, N * right.mu)).startswith("mu looks like the sum of the lᵢ")
    both = changed(right, N * right.mu, np.sqrt(N) * right.sigma)
    assert "with mu / N and sigma / √N these pairs are plausible" in pairs_problem(both)
    every = changed(right, N * right.mu, N * right.sigma)
    assert "divide both by N" in pairs_problem(every)
    spread = changed(right, None, np.sqrt(N) * right.sigma)
    assert "sigma looks like the standard deviation of the sum" in pairs_problem(spread)


def test_sums_of_a_few_proposals_that_seem_never_accepted_are_told(right):
    """All A far below 0: nothing is refused, but the summary says it."""
    low = right.subset(np.flatnonzero(right.log_acceptance < 0.0)[:10])
    sums = TrialRun(N, low.n_data * low.mu - low.log_ratio, low.sigma)
    assert pairs_problem(sums) is None
    assert summarise(sums).remarks[0].startswith("mu looks like the sum of the lᵢ")


def test_a_wrong_sign_is_told(right):
    assert pairs_problem(changed(right, sign=-1.0)).startswith("log_ratio has the wrong sign: c = ")


def test_a_wrong_sign_that_is_not_impossible_is_a_remark():
    rng = np.random.default_rng(6)
    plain, c = TrialRun.at_stationarity(N, 0.5, 400, rng), rng.normal(0.0, 1.2, 400)
    assert odd_pairs(TrialRun(N, plain.mu + c / N, plain.sigma, c)) is None
    wrong = TrialRun(N, plain.mu + c / N, plain.sigma, -c)
    assert pairs_problem(wrong) is None
    assert summarise(wrong).remarks[0].startswith("log_ratio seems to have the wrong sign")


def test_a_wrong_sign_with_control_variates_is_told():
    """There c holds the sum of the proxies, nearly all of A."""
    right = example("control")
    wrong = TrialRun(right.n_data, right.mu, right.sigma, -right.log_ratio, right.skew)
    assert "wrong sign" in pairs_problem(wrong)


def test_a_sign_that_does_not_matter_is_not_guessed():
    right = example("logistic")  # its prior is weak
    other = TrialRun(right.n_data, right.mu, right.sigma, -right.log_ratio, right.skew)
    assert (pairs_problem(other), odd_pairs(other)) == (None, None)


def test_a_burn_in_is_no_other_mistake(right):
    mu = right.mu.copy()
    mu[:20] = 40.0 / N
    assert likely_mistake(changed(right, mu)) is None
    assert "burn-in" in pairs_problem(changed(right, mu))


def test_proposals_that_are_really_never_accepted_are_no_mistake():
    rng = np.random.default_rng(5)
    kappa = 30.0
    a = rng.normal(-0.5 * kappa**2, kappa, 100)
    assert odd_pairs(TrialRun(N, a / N, np.full(100, kappa / np.sqrt(N)))) is None


def test_swapped_columns_are_told(right, refuses):
    text = io.StringIO()
    right.to_csv(text)
    swapped = text.getvalue().replace("mu,sigma", "sigma,mu").encode()
    with pytest.raises(BadFile) as caught:
        TrialRun.from_csv(swapped)
    assert str(caught.value).count("\n") == 0
    assert "mu and sigma are swapped: the column sigma has" in str(caught.value)
    refuses(lambda: TrialRun(N, right.sigma, right.mu), "mu and sigma are swapped")
    archive = io.BytesIO()
    np.savez(archive, mu=right.sigma, sigma=right.mu, n_data=N)
    with pytest.raises(BadFile, match="mu and sigma are swapped"):
        TrialRun.from_npz(archive.getvalue())


def test_one_negative_sigma_is_not_a_swap(refuses):
    refuses(lambda: TrialRun(N, [1e-5, 2e-5, 3e-5], [0.01, -0.01, 0.01]), "sigma[1] = -0.01: must be greater than 0")


@pytest.mark.parametrize("last", [",,\n", ";;\r\n", '"","",""\n', " , , \n,,\n"])
def test_empty_rows_of_a_spreadsheet_are_skipped(last):
    separator = ";" if ";" in last else ","
    text = "# n_data: 1000\nmu,sigma,log_ratio\n1e-3,0.01,0\n-1e-3,0.02,0.5\n".replace(",", separator)
    whole, cut = TrialRun.from_csv((text + last).encode()), TrialRun.from_csv(text.encode())
    assert whole == cut


def test_a_row_that_is_empty_in_part_is_refused():
    with pytest.raises(BadFile, match="line 4, column sigma: '': empty"):
        TrialRun.from_csv(b"# n_data: 1000\nmu,sigma\n1e-3,0.01\n1e-3,\n")


def test_a_burn_in_of_few_pairs_is_no_other_mistake():
    trial = TrialRun(10_000, [-1e-4, 0.0276], [0.013, 0.011])
    assert likely_mistake(trial) is None
