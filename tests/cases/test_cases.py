"""The stored posteriors belong to the data of today, and another proposal finds them again."""

import json

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from tests.cases import CASES, PROPER
from tests.cases.case import STORED, Data
from tests.cases.reference import exact_posterior, log_posterior, mode_and_factor, wide_t

ROWS = {"rare-levels": [3, 105, 298], "near-separation": [150, 200], "rare-dummies": [20] * 5}


@pytest.mark.parametrize("name", PROPER)
def test_the_stored_reference_is_of_these_data(name):
    stored = json.loads(STORED.read_text())[name]
    assert (stored["n"], stored["digest"]) == (PROPER[name].small, PROPER[name].data().digest())


@pytest.mark.parametrize("name", PROPER)
def test_another_proposal_finds_the_same_posterior(name):
    """A symmetric proposal with other tails and another seed, 25 times fewer draws."""
    data, stored = PROPER[name].data(), PROPER[name].reference()
    found = exact_posterior(data, int(1.6e7 / data.y.size), seed=1, proposal=wide_t(data))
    for value in ("mean", "sd"):
        error = np.hypot(getattr(found, f"{value}_se"), getattr(stored, f"{value}_se"))
        assert np.all(np.abs(getattr(found, value) - getattr(stored, value)) < 4.5 * error)


@pytest.mark.parametrize("name", PROPER)
def test_references_are_precise(name):
    """Enough to see an error of .05 sd, which is a bias worth noticing."""
    stored = PROPER[name].reference()
    assert stored.ess > 1_000
    assert np.all(stored.mean_se < 0.0125 * stored.sd) and np.all(stored.sd_se < 0.0125 * stored.sd)
    assert np.all(stored.low < stored.mean) and np.all(stored.mean < stored.high)


def test_one_coefficient_against_quadrature():
    """Five ones and no zero: the posterior is skewed, and one integral gives it."""
    data = Data(np.ones((5, 1)), np.ones(5, dtype=np.int8), 0.1)

    def moment(power):
        return quad(lambda t: t**power * expit(t) ** 5 * np.exp(-0.05 * t * t), -20.0, 40.0, epsabs=1e-12)[0]

    mean = moment(1) / moment(0)
    sd = np.sqrt(moment(2) / moment(0) - mean**2)
    found = exact_posterior(data, 50_000)
    assert abs(found.mean[0] - mean) < 4.0 * found.mean_se[0] < 0.05 * sd
    assert abs(found.sd[0] - sd) < 4.0 * found.sd_se[0]
    mass = quad(lambda t: expit(t) ** 5 * np.exp(-0.05 * t * t), -20.0, found.low[0])[0] / moment(0)
    assert mass == pytest.approx(0.005, rel=0.1)


def test_log_posterior_is_the_plain_formula():
    data = CASES["rare-levels"].data(1_000)
    thetas = np.random.default_rng(0).normal(0.0, 3.0, (5, data.x.shape[1]))
    eta = np.where(data.y > 0, 1.0, -1.0)[:, None] * (data.x @ thetas.T)
    plain = -np.logaddexp(0.0, -eta).sum(axis=0) - 0.5 * data.prior_precision * (thetas**2).sum(axis=1)
    assert log_posterior(data, thetas) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize(("name", "rows"), ROWS.items())
@pytest.mark.parametrize("n", [2_000, 50_000])
def test_levels_keep_their_few_rows(name, rows, n):
    x = CASES[name].data(n).x
    assert x.shape[0] == n
    assert x[:, 4:].sum(axis=0).tolist() == rows


def test_the_labels_of_rare_levels_are_all_alike():
    x, y, _ = CASES["rare-levels"].data()
    assert [y[x[:, j] == 1.0].mean() for j in (4, 5, 6)] == [1.0, 0.0, 1.0]


def test_one_in_a_thousand_is_positive():
    assert CASES["rare-positives"].data(20_000).y.sum() == 20


@pytest.mark.parametrize("name", sorted(set(CASES) - set(PROPER)))
def test_improper_cases_have_a_direction_without_end(name):
    """Along some direction the likelihood never falls: no normalising constant."""
    x, y, precision = CASES[name].data()
    assert precision == 0.0
    direction = {"separated-flat": np.eye(5)[4], "collinear-flat": np.array([0, 1.0, 1.0, 0, -1.0])}[name]
    along = log_posterior(Data(x, y, precision), np.outer([0.0, 10.0, 1_000.0], direction))
    assert np.all(np.diff(along) >= -1e-6)


def test_laplace_is_wrong_where_a_case_says_so():
    """The cases are hard: Laplace's means are off by more than .1 sd, except for plain data."""
    far = {
        name: np.max(np.abs(mode_and_factor(c.data())[0] - c.reference().mean) / c.reference().sd)
        for name, c in PROPER.items()
    }
    assert far["plain"] < 0.1
    assert all(
        far[name] > 0.1
        for name in ("rare-levels", "rare-levels-wide", "near-separation", "rare-dummies", "rare-positives")
    )
