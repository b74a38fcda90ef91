"""Proxy proposals with Student tails and profile corrections: densities, Jacobians, reversibility, compiled steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, multivariate_normal, multivariate_t, norm

from designer import Design
from samplers.chains.chain import Chain
from samplers.decide import BarkerTest, ExactTest, SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.models.totals import log_posteriors
from samplers.proposals import Profile, ProxyStep
from samplers.proposals._kernels import bend, unbend
from samplers.proposals.profile import KNOTS, shape_of


def rare_levels(n: int = 2000, precision: float = 0.1, seed: int = 1) -> Logistic:
    """Five columns, then levels with 3 ones, 40 zeros, and two data that disagree."""
    rng = np.random.default_rng(seed)
    x = np.hstack([np.ones((n, 1)), rng.standard_normal((n, 4)), np.zeros((n, 3))])
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-x[:, :5] @ [0.2, 0.5, -0.3, 0.2, 0.0]))
    x[:3, 5], x[3:43, 6], x[43:45, 7] = 1.0, 1.0, 1.0
    y[:3], y[3:43], y[43:45] = True, False, (True, False)
    return Logistic.from_data(x, y, precision)


@pytest.fixture(scope="module")
def rare() -> Controlled:
    model = rare_levels()
    return Controlled.around(model, find_mode(model))


def one_level() -> Controlled:
    """A posterior of one coefficient, whose integrals are quadratures: three ones and a weak prior."""
    model = Logistic.from_data(np.ones((3, 1)), [1, 1, 1], prior_precision=0.1)
    return Controlled.around(model, find_mode(model))


KINDS = {
    "Student": {"degrees": 4.0},
    "profile": {"profile": True},
    "Student with profile": {"degrees": 6.0, "profile": True},
}


# --- the monotone maps ------------------------------------------------------------------------------------------------


def some_map(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    at, values = (np.cumsum(rng.uniform(0.1, 1.0, 9)) for _ in range(2))
    return at - 3.0, values - 2.0, rng.uniform(0.05, 4.0, 9)


def test_a_map_goes_through_its_knots_and_is_monotone_with_the_right_slope():
    rng = np.random.default_rng(1)
    for _ in range(20):
        known = at, values, slopes = some_map(rng)
        for v, u, slope in zip(at, values, slopes, strict=True):
            assert bend(*known, v) == pytest.approx((u, math.log(slope)), abs=1e-12)
        points = np.linspace(at[0] - 2.0, at[-1] + 2.0, 200)
        mapped = np.array([bend(*known, v)[0] for v in points])
        assert np.all(np.diff(mapped) > 0.0)
        for v in rng.uniform(at[0] - 2.0, at[-1] + 2.0, 30):
            difference = (bend(*known, v + 1e-6)[0] - bend(*known, v - 1e-6)[0]) / 2e-6
            assert math.exp(bend(*known, v)[1]) == pytest.approx(difference, rel=1e-5)


def test_the_inverse_takes_a_map_back():
    rng = np.random.default_rng(2)
    for _ in range(20):
        known = some_map(rng)
        for v in rng.uniform(-8.0, 9.0, 30):
            u, log_slope = bend(*known, v)
            assert unbend(*known, u) == pytest.approx((v, log_slope), abs=1e-9)


def test_what_is_not_a_number_stays_so():
    known = some_map(np.random.default_rng(3))
    assert math.isnan(bend(*known, math.nan)[0]) and math.isnan(unbend(*known, math.nan)[0])


# --- profiles ---------------------------------------------------------------------------------------------------------


def test_the_profile_of_one_coefficient_is_its_posterior():
    """Quantiles of the posterior by quadrature, at normal probabilities."""
    model = one_level()
    proposal = ProxyStep.of(model, profile=True)
    sd = proposal.profile.sds[0]

    def height(theta: float) -> float:
        return math.exp(log_posteriors(model.model, np.array([[theta]]))[0])

    edges = proposal.centre[0] + sd * proposal.profile.values[0]
    parts = [quad(height, a, b)[0] for a, b in zip([-60.0, *edges], [*edges, 90.0], strict=True)]
    np.testing.assert_allclose(np.cumsum(parts)[:-1] / sum(parts), norm.cdf(KNOTS), rtol=0.01, atol=1e-7)
    np.testing.assert_allclose(np.exp(-0.5 * KNOTS**2) / math.sqrt(2 * math.pi) / proposal.profile.slopes[0],
        [sd * height(edge) / sum(parts) for edge in edges], rtol=0.01)  # fmt: skip


def test_skewness_and_tilt_are_derivatives_of_the_log_posterior(rare):
    proposal = ProxyStep.of(rare)
    covariance = np.linalg.inv(proposal.precision)
    shape = shape_of(rare, proposal.centre, covariance)
    for j in range(8):
        direction = covariance[j] / math.sqrt(covariance[j, j])
        t = np.arange(-3, 4) * 0.2
        f = log_posteriors(rare.model, proposal.centre + t[:, None] * direction)
        third = (f[0] - 8 * f[1] + 13 * f[2] - 13 * f[4] + 8 * f[5] - f[6]) / (8 * 0.2**3)
        fourth = (-f[0] + 12 * f[1] - 39 * f[2] + 56 * f[3] - 39 * f[4] + 12 * f[5] - f[6]) / (6 * 0.2**4)
        assert shape.skewness[j] == pytest.approx(third, abs=0.01)
        assert shape.peakedness[j] == pytest.approx(fourth, abs=0.03)
        rest = np.arange(8) != j

        def half_log_determinant(t: float, direction: np.ndarray = direction, rest: np.ndarray = rest) -> float:
            there = Controlled.around(rare.model, proposal.centre + t * direction)
            return -0.5 * np.linalg.slogdet(there.posterior_precision()[np.ix_(rest, rest)])[1]

        slope = (half_log_determinant(0.01) - half_log_determinant(-0.01)) / 0.02
        assert shape.tilt[j] == pytest.approx(slope, abs=1e-3)


def test_only_what_is_skewed_or_peaked_is_bent(rare):
    profile = ProxyStep.of(rare, profile=True).profile
    bent = profile.functionals.argmax(axis=1)
    assert set(bent) >= {5, 6, 7} and profile.size < 8
    np.testing.assert_array_equal(profile.functionals, np.eye(8)[bent])
    np.testing.assert_allclose(profile.functionals @ profile.follow.T, np.eye(bent.size), atol=1e-12)
    x = np.random.default_rng(1).standard_normal((20_000, 2))
    normal = Logistic.from_data(x, np.arange(20_000) % 3 > 0, 1.0)
    assert ProxyStep.of(Controlled.around(normal, find_mode(normal)), profile=True).profile.size == 0


def test_a_profile_off_the_mode_is_about_the_same(rare):
    """Proxies expanded elsewhere: the profile is of the posterior, not of the proxies."""
    near, far = (ProxyStep.of(model, profile=True) for model in (rare, rare.recentred(rare.centre + 0.03)))
    quantiles = [step.centre[5] + step.profile.sds[0] * step.profile.values[0, 4:21] for step in (near, far)]
    np.testing.assert_allclose(*quantiles, atol=0.1)


def test_heavy_rows_change_nothing_but_what_is_sampled(rare):
    away = rare.recentred(rare.centre + 0.05)
    plain, heavy = (ProxyStep.of(model, profile=True) for model in (away, away.with_heavy(100)))
    np.testing.assert_allclose(heavy.centre, plain.centre, rtol=1e-9)
    np.testing.assert_allclose(heavy.profile.values, plain.profile.values, atol=1e-6)


# --- densities --------------------------------------------------------------------------------------------------------


def test_densities_are_the_known_ones(rare):
    normal, student = ProxyStep.of(rare), ProxyStep.of(rare, degrees=4.0)
    covariance = np.linalg.inv(normal.precision)
    for theta in normal.draw(np.random.default_rng(4), 5):
        wanted = multivariate_normal(normal.centre, covariance).logpdf(theta)
        assert normal.log_density(theta) == pytest.approx(wanted, abs=1e-7)
        wanted = multivariate_t(normal.centre, covariance, df=4.0).logpdf(theta)
        assert student.log_density(theta) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_densities_integrate_to_one_and_draws_have_them(kind):
    proposal = ProxyStep.of(one_level(), **KINDS[kind])
    centre, sd = proposal.centre[0], proposal.factor[0, 0]

    def density(theta: float) -> float:
        return math.exp(proposal.log_density(np.array([theta])))

    grid = centre + sd * np.linspace(-14.0, 14.0, 1401)
    heights = np.array([density(theta) for theta in grid])
    tails = sum(quad(density, *ends)[0] for ends in ((-np.inf, grid[0]), (grid[-1], np.inf)))
    below = np.append(0.0, np.cumsum(0.5 * (heights[1:] + heights[:-1]))) * (grid[1] - grid[0])
    assert below[-1] + tails == pytest.approx(1.0, abs=1e-4)
    draws = proposal.draw(np.random.default_rng(5), 3000)[:, 0]
    assert kstest(draws, lambda theta: np.interp(theta, grid, below)).pvalue > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_the_jacobian_of_a_profile_is_that_of_finite_differences(rare, kind):
    proposal = ProxyStep.of(rare, **KINDS[kind])
    profile = proposal.profile or Profile.none(8)
    for y in proposal.draw(np.random.default_rng(6), 5):
        theta, log_slope = profile.bend(proposal.centre, y)
        back, again = profile.unbend(proposal.centre, theta)
        np.testing.assert_allclose(back, y, atol=1e-9)
        assert again == pytest.approx(log_slope, abs=1e-8)
        moves = 1e-6 * np.eye(8)
        columns = [profile.bend(proposal.centre, y + d)[0] - profile.bend(proposal.centre, y - d)[0] for d in moves]
        assert np.linalg.slogdet(np.array(columns) / 2e-6)[1] == pytest.approx(log_slope, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [0.3, 0.8, 1.0])
def test_the_ratio_is_that_of_the_invariant_density(rare, kind, beta):
    proposal, rng = ProxyStep.of(rare, beta, **KINDS[kind]), np.random.default_rng(7)
    theta = proposal.draw(rng, 1)[0]
    for _ in range(10):
        new, log_q = proposal.propose(rng, theta)
        assert log_q == pytest.approx(proposal.log_density(new) - proposal.log_density(theta), abs=1e-8)
        theta = new


# --- reversibility ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [0.4, 0.9, 1.0])
def test_steps_keep_the_density_and_go_both_ways_equally_often(kind, beta):
    """From independent draws, one step: (θ, θ') and (θ', θ) have the same law, on a grid of cells and in moments."""
    proposal, rng = ProxyStep.of(one_level(), beta, **KINDS[kind]), np.random.default_rng(8)
    before = proposal.draw(rng, 10_000)
    after = np.array([proposal.propose(rng, theta).theta for theta in before])
    z, w = ((part[:, 0] - proposal.centre[0]) / proposal.factor[0, 0] for part in (before, after))
    edges = np.quantile(z, [0.05, 0.2, 0.4, 0.6, 0.8, 0.95])
    flows = np.zeros((7, 7))
    np.add.at(flows, (np.searchsorted(edges, z), np.searchsorted(edges, w)), 1.0)
    both = flows + flows.T
    upper = np.triu(both > 0.0, 1)
    excess = ((flows - flows.T)[upper] ** 2 / both[upper]).sum()  # chi-squared
    assert excess < upper.sum() + 4.5 * math.sqrt(2 * upper.sum())
    assert kstest(w, np.sort(z)).pvalue > 1e-3
    if beta < 1.0:
        assert np.corrcoef(np.argsort(np.argsort(z)), np.argsort(np.argsort(w)))[0, 1] > 0.3  # and it does remember
    else:
        assert abs(np.corrcoef(np.argsort(np.argsort(z)), np.argsort(np.argsort(w)))[0, 1]) < 0.03


def test_detailed_balance_of_student_steps():
    """q(y) K(y, y') is symmetric, K averaged over τ and τ', and the steps that are made have the density K."""
    nu, beta, rng = 5.0, 0.6, np.random.default_rng(9)
    base = ProxyStep.of(one_level(), beta, degrees=nu)
    centre, sd, keep = base.centre[0], base.factor[0, 0], math.sqrt(1.0 - beta**2)

    def density(y: float, new: float, draws: int = 100_000) -> tuple[float, float]:
        """K(y, y'), the mean of the normal density of y' given τ and τ', and its standard error."""
        tau = rng.standard_gamma((nu + 1) / 2, draws) / ((nu + y * y) / 2)
        kept = tau * rng.beta(nu / 2 * keep**2, nu / 2 * beta**2, draws)
        new_tau = kept + rng.standard_gamma(nu / 2 * beta**2, draws) / (nu / 2)
        z = (new * np.sqrt(new_tau) - keep * y * np.sqrt(tau)) / beta
        values = np.exp(-0.5 * z * z) * np.sqrt(new_tau) / (beta * math.sqrt(2 * math.pi))
        return float(values.mean()), float(values.std() / math.sqrt(draws))

    def height(y: float) -> float:
        return math.exp(base.log_density(np.array([centre + sd * y])))

    for y, new in ((0.3, -0.8), (2.0, 0.5), (-2.5, 0.0)):
        (there, error), (back, other) = density(y, new), density(new, y)
        assert height(y) * there == pytest.approx(
            height(new) * back, abs=4.5 * math.hypot(height(y) * error, height(new) * other)
        )
        assert error < 0.01 * there and other < 0.03 * back
        ends = np.array([base.propose(rng, np.array([centre + sd * y])).theta[0] for _ in range(10_000)])
        share = 0.2 * there
        within = float(np.mean(np.abs((ends - centre) / sd - new) < 0.1))
        assert within == pytest.approx(share, abs=4.5 * math.sqrt(share / 10_000) + 0.02 * share)


# --- chains -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [0.7, 1.0])
@pytest.mark.parametrize("test", ["sequential", "exact", "barker"])
def test_the_compiled_chain_makes_the_same_steps(rare, kind, beta, test):
    tests = {
        "sequential": (SequentialTest.from_design(Design(2000, 200, 0.05)), "metropolis"),
        "exact": (ExactTest(), "metropolis"),
        "barker": (BarkerTest(m=100), "barker"),
    }
    proposal, (decide, rule) = ProxyStep.of(rare, beta, **KINDS[kind]), tests[test]
    fast, slow = (
        Chain(rare, proposal, decide, rare.centre, np.random.default_rng(10), rule, fuse=fuse) for fuse in (True, False)
    )
    assert fast._fused is not None
    fast, slow = fast.advance(120), slow.advance(120)
    np.testing.assert_array_equal(fast.accepted, slow.accepted)
    np.testing.assert_array_equal(fast.n_used, slow.n_used)
    np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-9, atol=1e-12)
    assert fast.accepted.sum() > 20


def test_profile_proposals_are_nearly_always_accepted_where_plain_ones_are_not(rare):
    shares = [
        Chain(rare, ProxyStep.of(rare, profile=bent), ExactTest(), rare.centre, np.random.default_rng(11))
        .advance(4000).accepted.mean()
        for bent in (False, True)
    ]  # fmt: skip
    assert shares[0] < 0.7 and shares[1] > 0.9


def test_a_wrong_map_is_still_right():
    """Any monotone map leaves the posterior as it is; here one that moves the proposals the wrong way."""
    model = one_level()
    good = ProxyStep.of(model, 0.8, profile=True)
    wrong = replace(
        good, profile=good.profile._replace(values=-good.profile.values[:, ::-1], slopes=good.profile.slopes[:, ::-1])
    )
    draws = Chain(model, wrong, ExactTest(), model.centre, np.random.default_rng(12)).advance(60_000).theta[::10, 0]
    grid = np.linspace(-10.0, 25.0, 2001)
    below = np.cumsum(np.exp(log_posteriors(model.model, grid[:, None])))
    thinned = draws[::4]
    assert kstest(thinned, lambda theta: np.interp(theta, grid, below / below[-1])).pvalue > 1e-4


def test_bad_degrees_are_refused(rare, refuses):
    refuses(lambda: ProxyStep.of(rare, degrees=0.5), "degrees = 0.5")
    refuses(lambda: ProxyStep.of(rare, degrees=math.nan), "degrees = nan")
