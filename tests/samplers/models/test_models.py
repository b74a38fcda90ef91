"""ICA, the Gaussian mixture and L1 regression: likelihoods against the equations as printed, and known posteriors."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from designer import Design
from samplers.chains.chain import Chain, compare
from samplers.decide.concentration import ConcentrationTest
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models import Model
from samplers.models.ica import ICA, amari, whiten
from samplers.models.lasso import Lasso, draw_line
from samplers.models.mixture import Mixture, draw_mixture
from samplers.proposals import RandomWalk, StiefelWalk


def turned(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c, s, -s, c])


def orthonormal(rng: np.random.Generator, d: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, d)))[0].ravel()


def away(draws: np.ndarray, cumulative: Callable[[np.ndarray], np.ndarray]) -> float:
    """Kolmogorov's sqrt(n) sup |F_n - F| with n the effective number of draws: beyond 2 with probability 7e-4.

    A chain's draws are worth fewer: batch means of where they lie give the autocorrelation time.
    """
    place = cumulative(draws)
    steps, at = np.arange(draws.size + 1) / draws.size, np.sort(place)
    sup = float(max(np.abs(at - steps[1:]).max(), np.abs(at - steps[:-1]).max()))
    batches = place[: place.size // 50 * 50].reshape(50, -1)
    times = [(batches < p).mean(axis=1).var() * batches.shape[1] / (p * (1 - p)) for p in (0.1, 0.25, 0.5, 0.75, 0.9)]
    return math.sqrt(draws.size / max(1.0, *times)) * sup


def on_grid(grid: np.ndarray, weight: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Distribution function of a density known on a fine grid of midpoints."""
    half = 0.5 * (grid[1] - grid[0])
    total = np.concatenate([[0.0], np.cumsum(weight)]) / weight.sum()
    return lambda x: np.interp(x, np.concatenate([[grid[0] - half], grid + half]), total)


# --- the equations, literally and with 40 digits --------------------------------------------------------------------


@mpmath.workdps(40)
def ica_naive(x: np.ndarray, theta: np.ndarray) -> mpmath.mpf:
    w = theta.reshape(x.size, x.size)
    inner = [mpmath.fsum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(row, x, strict=True)) for row in w]
    return -mpmath.fsum(mpmath.log(4 * mpmath.cosh(a / 2) ** 2) for a in inner)


@mpmath.workdps(40)
def mixture_naive(x: float, theta: np.ndarray) -> mpmath.mpf:
    first = mpmath.mpf(theta[0])
    means = first, first + mpmath.mpf(theta[1])
    return mpmath.log(mpmath.fsum(mpmath.exp(-((mpmath.mpf(x) - mean) ** 2) / 4) for mean in means) / 2) - mpmath.log(
        mpmath.sqrt(4 * mpmath.pi)
    )


@mpmath.workdps(40)
def lasso_naive(row: np.ndarray, theta: np.ndarray) -> mpmath.mpf:
    inner = mpmath.fsum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(row, theta, strict=False))
    return -3 * (mpmath.mpf(row[-1]) - inner) ** 2 / 2


def ica_case(scale: float) -> tuple[Model, Callable[..., mpmath.mpf], np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(1)
    rows = scale * rng.standard_normal((12, 4))
    return ICA(rows), ica_naive, rows, [orthonormal(rng, 4) for _ in range(3)]


def mixture_case(scale: float) -> tuple[Model, Callable[..., mpmath.mpf], np.ndarray, list[np.ndarray]]:
    x = scale * np.random.default_rng(2).standard_normal(12)
    thetas = np.array([0.0, 1.0]), np.array([-0.3, 2.5]), np.array([1.2, -0.7]), np.array([0.4, 0.0])
    return Mixture.from_data(x), mixture_naive, x, list(thetas)


def lasso_case(scale: float) -> tuple[Model, Callable[..., mpmath.mpf], np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(3)
    x, y = scale * rng.standard_normal((12, 3)), rng.standard_normal(12)
    return Lasso.from_data(x, y), lasso_naive, np.column_stack([x, y]), list(rng.standard_normal((3, 3)))


@pytest.mark.parametrize("case", [ica_case, mixture_case, lasso_case])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e5])
def test_terms_and_likelihoods_are_the_printed_equations(case, scale):
    model, naive, data, thetas = case(scale)
    assert isinstance(model, Model)
    indices = np.array([7, 0, 3, 11, 3])
    for theta in thetas:
        value = [naive(data[i], theta) for i in indices]
        np.testing.assert_allclose(model.log_likelihood(theta, indices), np.array(value, dtype=float), rtol=1e-13)
        np.testing.assert_array_equal(
            model.log_likelihood(theta, slice(3, 9, 2)), model.log_likelihood(theta, np.array([3, 5, 7]))
        )
        for new in (*thetas, theta + 1e-7):  # also a tiny step, where subtracting the two values would lose digits
            exact = np.array([naive(data[i], new) - before for i, before in zip(indices, value, strict=True)], float)
            # rounding of θ' - θ and of |W x| themselves is all that may remain
            np.testing.assert_allclose(
                model.terms(theta, new, indices), exact, rtol=1e-8 if new is not theta else 0, atol=4e-15 * (1 + scale)
            )


def test_a_huge_argument_neither_overflows_nor_vanishes():
    eye, turn = np.eye(2).ravel(), turned(math.pi / 4)
    far = ICA(np.array([[1e300, 0.0], [0.0, 0.0]]))
    root = math.sqrt(0.5)
    assert far.terms(eye, turn, np.arange(2)) == pytest.approx([1e300 * (1 - 2 * root), 0.0])
    assert far.log_likelihood(eye, np.array([1]))[0] == pytest.approx(-2 * math.log(4))
    assert far.log_likelihood(eye, np.array([0]))[0] == -1e300


def test_nan_in_the_data_is_not_swallowed():
    """Chains rely on it to name the datum; the checked constructors refuse such data."""
    both = np.arange(2)
    assert np.isnan(ICA(np.array([[np.nan, 1.0], [1.0, 1.0]])).terms(turned(0), turned(1), both)).tolist() == [
        True,
        False,
    ]
    x = np.array([np.nan, 1.0])
    assert np.isnan(Mixture(x).terms(np.zeros(2), np.ones(2), both)).tolist() == [True, False]
    assert np.isnan(Lasso(np.array([x, x[::-1]]).T).terms(np.zeros(1), np.ones(1), both)).all()


# --- bounds on lᵢ --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [ica_case, mixture_case, lasso_case])
def test_the_range_bound_holds_and_is_of_the_right_size(case):
    model, _, _, _ = case(3.0)
    rng = np.random.default_rng(5)
    ratios = []
    for size in np.repeat([1e-3, 0.1, 2.0], 100):
        theta = orthonormal(rng, 4) if case is ica_case else rng.standard_normal(model.dimension)
        step = StiefelWalk(size, 4) if case is ica_case else RandomWalk.isotropic(size, model.dimension)
        new = step.propose(rng, theta).theta
        ratios.append(np.abs(model.terms(theta, new, np.arange(12))).max() / model.range_bound(theta, new))
    assert max(ratios) <= 1.0
    assert np.median(ratios) > (0.03 if case is ica_case else 0.2)  # ICA's holds for data in the worst direction


@given(st.tuples(*[st.floats(-20, 20)] * 4), st.lists(st.floats(-50, 50), min_size=1, max_size=5))
def test_the_mixtures_range_bound_holds_for_any_parameters(parameters, x):
    model = Mixture.from_data(x, temperature=3.0)
    theta, new = np.array(parameters[:2]), np.array(parameters[2:])
    largest = np.abs(model.terms(theta, new, np.arange(len(x)))).max()
    assert largest <= model.range_bound(theta, new) * (1 + 1e-12) + 1e-12


def test_the_mixtures_range_bound_is_attained_and_knows_that_labels_may_switch():
    model = Mixture.from_data(draw_mixture(np.random.default_rng(1), 200), temperature=10.0)
    one, other = np.array([0.3, 0.0]), np.array([-0.5, 0.0])  # a single Gaussian: linear in x
    largest = np.abs(model.terms(one, other, np.arange(200))).max()
    assert model.range_bound(one, other) == pytest.approx(largest, rel=1e-12)
    here, there = np.array([0.0, 1.0]), np.array([1.0, -1.0])
    assert model.range_bound(here, there) == 0.0
    np.testing.assert_allclose(model.terms(here, there, np.arange(200)), 0.0, atol=1e-16)


def test_the_concentration_test_decides_with_the_bound_as_the_exact_one():
    model = Mixture.from_data(draw_mixture(np.random.default_rng(1), 20_000), temperature=200.0)
    rng, used = np.random.default_rng(2), []
    for seed in range(30):
        theta, new = np.array([0.0, 1.0]), np.array([0.0, 1.0]) + 0.5 * rng.standard_normal(2)
        question = compare(model, theta, new)
        bounded = type(question)(
            question.n, question.terms, question.log_ratio, range_bound=model.range_bound(theta, new)
        )
        exact = ExactTest().decide(np.random.default_rng(seed), question)
        decided = ConcentrationTest().decide(np.random.default_rng(seed), bounded)
        assert decided.accept == exact.accept
        used.append(decided.n_used)
    assert np.mean(used) < 20_000  # with a pass over the data for the bound it would be more


# --- ICA ------------------------------------------------------------------------------------------------------------


def mixed(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sources, mixing = rng.laplace(size=(n, d)) * np.arange(1, d + 1), rng.standard_normal((d, d))
    return sources, mixing, sources @ mixing.T + 5.0


def test_whitening():
    _, _, x = mixed(np.random.default_rng(1), 500, 3)
    white = whiten(x)
    np.testing.assert_allclose(white.rows.mean(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(white.rows.T @ white.rows / 500, np.eye(3), atol=1e-12)
    np.testing.assert_allclose((x - white.mean) @ white.matrix.T, white.rows, atol=1e-12)
    np.testing.assert_array_equal(x, mixed(np.random.default_rng(1), 500, 3)[2])  # the caller's data are untouched
    assert ICA.from_data(white.rows).n_data == 500


def test_the_true_unmixing_matrix_gives_back_the_sources():
    sources, mixing, x = mixed(np.random.default_rng(2), 20_000, 3)
    white = whiten(x)
    truth = white.unmixing(mixing)
    found = white.rows @ truth.T
    centred = sources - sources.mean(axis=0)
    np.testing.assert_allclose(found / found.std(axis=0), centred / centred.std(axis=0), atol=1e-9)
    np.testing.assert_allclose(truth @ truth.T, np.eye(3), atol=0.03)  # orthonormal but for chance correlations


def amari_naive(w: np.ndarray, truth: np.ndarray) -> float:
    p, total = np.abs(w @ np.linalg.inv(truth)), 0.0
    for i in range(len(p)):
        total += sum(p[i, j] / max(p[i]) for j in range(len(p))) - 1
        total += sum(p[j, i] / max(p[:, i]) for j in range(len(p))) - 1
    return total


def test_amari_distance():
    rng = np.random.default_rng(3)
    truth = rng.standard_normal((4, 4))
    draws = rng.standard_normal((5, 16))
    distances = amari(draws, truth)
    assert distances == pytest.approx([amari_naive(w.reshape(4, 4), truth) for w in draws])
    np.testing.assert_array_equal(amari(draws.reshape(5, 4, 4), truth), distances)
    order, signs = rng.permutation(4), np.array([1, -1, -1, 1])
    assert amari(signs[:, None] * truth[order], truth) == pytest.approx(0.0, abs=1e-13)
    shuffled = (signs[:, None] * draws.reshape(5, 4, 4))[:, order]
    assert amari(shuffled, truth) == pytest.approx(distances)
    assert amari(turned(0.3), np.eye(2)) == pytest.approx(4 * math.tan(0.3))
    assert amari(turned(math.pi / 4), np.eye(2)) == pytest.approx(4)  # the largest: 2 D (D - 1)
    hadamard = np.kron(turned(math.pi / 4).reshape(2, 2), turned(math.pi / 4).reshape(2, 2))
    assert amari(hadamard, np.eye(4)) == pytest.approx(24)


def test_the_prior_of_ica_is_zero_off_the_manifold():
    model = ICA(np.random.default_rng(1).standard_normal((50, 2)))
    assert model.log_prior(turned(0.4)) == 0.0
    assert model.log_prior(turned(0.4) * 1.001) == -np.inf
    assert model.log_prior(np.array([1.0, 0.0, 0.1, 1.0])) == -np.inf
    assert model.log_prior(np.array([1.0, np.nan, 0.0, 1.0])) == -np.inf
    chain = Chain(model, RandomWalk.isotropic(0.01, 4), ExactTest(), turned(0.0), np.random.default_rng(1))
    assert not chain.advance(20).accepted.any()


@pytest.mark.parametrize("exact", [True, False])
def test_an_ica_chain_has_the_posterior_of_the_angle(exact):
    """D = 2: W is a rotation, up to signs and order of the rows, so its angle counts modulo 90 degrees."""
    rng = np.random.default_rng(4)
    model = ICA.from_data(whiten(rng.laplace(size=(300, 2)) @ turned(0.9).reshape(2, 2)).rows)
    test = ExactTest() if exact else SequentialTest.from_design(Design(300, 100, 0.005))
    chain = Chain(model, StiefelWalk(0.35, 2), test, turned(0.0), rng)
    draws = chain.advance(500 + 18_000).theta[500:]
    angle = np.arctan2(draws[:, 1], draws[:, 0]) % (math.pi / 2)
    grid = (np.arange(2000) + 0.5) * (math.pi / 4000)
    every = np.arange(300)
    log = np.array([model.log_likelihood(turned(a), every).sum() for a in grid])
    truth = on_grid(grid, np.exp(log - log.max()))
    assert away(angle, truth) < 2.0
    assert away(angle, on_grid(grid, np.exp(1.4 * (log - log.max())))) > 2.5  # a posterior 40% colder would be noticed


# --- mixture --------------------------------------------------------------------------------------------------------


def test_the_temperature_is_that_of_the_likelihood_alone():
    x, theta, new = draw_mixture(np.random.default_rng(1), 30), np.array([0.1, 0.7]), np.array([0.5, -0.2])
    cold, hot = Mixture.from_data(x), Mixture.from_data(x, temperature=8.0)
    every = np.arange(30)
    np.testing.assert_allclose(hot.terms(theta, new, every), cold.terms(theta, new, every) / 8, rtol=1e-14)
    np.testing.assert_allclose(hot.log_likelihood(theta, every), cold.log_likelihood(theta, every) / 8, rtol=1e-14)
    assert hot.log_prior(theta) == cold.log_prior(theta) == pytest.approx(-0.5 * (0.1**2 / 10 + 0.7**2))


def test_data_drawn_from_the_mixture_have_its_moments():
    x = draw_mixture(np.random.default_rng(1), 400_000, theta=(1.0, 3.0), variance=0.5)
    assert x.mean() == pytest.approx(2.5, abs=4 * math.sqrt(2.75 / 400_000))
    assert x.var() == pytest.approx(0.5 + 1.5**2, rel=0.01)
    assert np.mean(np.abs(x - 2.5) < 0.5) == pytest.approx(0.0764, abs=0.002)  # Phi(-1.4142) - Phi(-2.8284)


@pytest.mark.parametrize(("exact", "rule"), [(True, "metropolis"), (False, "metropolis"), (True, "barker")])
def test_a_mixture_chain_has_the_posterior_on_a_grid(exact, rule):
    rng = np.random.default_rng(6)
    model = Mixture.from_data(draw_mixture(rng, 1000), temperature=10.0)
    first, second = np.linspace(-2.5, 3.5, 121), np.linspace(-4.0, 4.0, 121)
    means = np.stack(np.meshgrid(first, second, indexing="ij"))
    log = -0.5 * (means[0] ** 2 / 10 + means[1] ** 2)
    for x in model.x:
        near, far = (x - means[0]) ** 2 / 4, (x - means[0] - means[1]) ** 2 / 4
        log -= 0.1 * -np.logaddexp(-near, -far)
    weight = np.exp(log - log.max())
    test = ExactTest() if exact else SequentialTest.from_design(Design(1000, 250, 0.005))
    chain = Chain(model, RandomWalk.isotropic(0.8, 2), test, [0.0, 1.0], rng, rule)
    draws = chain.advance(500 + 30_000).theta[500:]
    for k, grid in enumerate((first, second)):
        marginal = weight.sum(axis=1 - k)
        assert away(draws[:, k], on_grid(grid, marginal)) < 2.0
        assert away(draws[:, k], on_grid(grid + 0.5, marginal)) > 2.5


# --- L1 regression --------------------------------------------------------------------------------------------------


def test_the_gradient_is_that_of_the_sum_over_the_given_data():
    model, _, _, thetas = lasso_case(1.0)
    indices, size = np.array([2, 5, 5, 8]), 1e-6
    for theta in thetas:
        steps = size * np.eye(3)
        for f, g in (
            (lambda t: model.log_likelihood(t, indices).sum(), model.gradient(theta, indices)),
            (model.log_prior, model.prior_gradient(theta)),
        ):
            slope = [(f(theta + step) - f(theta - step)) / (2 * size) for step in steps]
            np.testing.assert_allclose(g, slope, rtol=1e-6)
    np.testing.assert_array_equal(model.prior_gradient(np.zeros(3)), 0.0)


@pytest.mark.parametrize("penalty", [0.0, 3.0, 150.0, 4000.0])
@pytest.mark.parametrize("slope", [0.5, -0.1])
def test_the_closed_form_density_is_the_normalised_posterior(penalty, slope):
    model = Lasso.from_data(*draw_line(np.random.default_rng(1), 300, slope), penalty=penalty)
    every, (x, y) = np.arange(300), model.rows.T

    def log_posterior(theta: float) -> float:
        return float(-1.5 * np.sum((y - x * theta) ** 2) - penalty * abs(theta))

    grid = np.linspace(-1.5, 1.5, 30_001)
    top = max(map(log_posterior, grid))
    width = 20.0 / max(1.0, math.sqrt(300), penalty)
    peak = grid[np.argmax([log_posterior(t) for t in grid])]
    ends = np.unique([-1.5, peak - width, 0.0, peak, peak + width, 1.5])
    total = sum(
        quad(lambda t: math.exp(log_posterior(t) - top), a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for a, b in pairwise(ends)
    )
    at = peak + width * np.linspace(-0.4, 0.4, 41)
    truth = [math.exp(log_posterior(t) - top) / total for t in at]
    np.testing.assert_allclose(model.density(at), truth, rtol=1e-8)
    # and its integral is the distribution function
    inner = [quad(lambda t: float(model.density(t)), a, b)[0] for a, b in pairwise(at)]
    np.testing.assert_allclose(np.diff(model.cumulative(at)), inner, atol=1e-9)
    assert model.cumulative([-50.0, 50.0]).tolist() == [0.0, 1.0]
    assert model.log_likelihood(np.array([0.2]), every).sum() == pytest.approx(log_posterior(0.2) + penalty * 0.2)


def test_the_constants_of_the_paper_put_the_mode_at_the_kink():
    model = Lasso.from_data(*draw_line(np.random.default_rng(1)))
    grid = np.linspace(-0.05, 0.1, 15_001)
    density = model.density(grid)
    assert 0.0 <= grid[np.argmax(density)] < 0.02
    assert model.cumulative(0.0) < 0.02  # the valley on the left, where K14's sampler is thrown off
    mean = np.sum(grid * density) / np.sum(density)
    assert math.sqrt(np.sum((grid - mean) ** 2 * density) / np.sum(density)) == pytest.approx(0.007, abs=0.003)


@pytest.mark.parametrize("exact", [True, False])
def test_a_regression_chain_has_the_closed_form_posterior(exact):
    rng = np.random.default_rng(8)
    model = Lasso.from_data(*draw_line(rng, 1000), penalty=490.0)
    assert 0.02 < model.cumulative(0.0) < 0.3  # the kink is inside the posterior
    test = ExactTest() if exact else SequentialTest.from_design(Design(1000, 250, 0.005))
    chain = Chain(model, RandomWalk.isotropic(0.06, 1), test, [0.0], rng)
    draws = chain.advance(200 + 18_000).theta[200:, 0]
    assert away(draws, model.cumulative) < 2.0
    other = Lasso.from_data(model.rows[:, 0], model.rows[:, 1], penalty=475.0)
    assert away(draws, other.cumulative) > 2.5  # a penalty 3% lower would be noticed


# --- bad input ------------------------------------------------------------------------------------------------------


def test_bad_data_are_refused(refuses):
    white = whiten(np.random.default_rng(1).standard_normal((50, 2))).rows
    holed = white.copy()
    holed[3, 1] = np.nan
    refuses(lambda: ICA.from_data(white[:, 0]), "x has shape (50,)", "2 dimensions")
    refuses(lambda: ICA.from_data(white[:2]), "shape (2, 2)", "N > D")
    refuses(lambda: ICA.from_data(white[:, :1]), "shape (50, 1)")
    refuses(lambda: ICA.from_data(holed), "x[3, 1] = nan", "finite")
    refuses(lambda: ICA.from_data(2 * white), "identity by 3", "whiten")
    refuses(lambda: ICA.from_data([["a", "b"]]), "numbers")
    refuses(lambda: whiten(np.column_stack([white, white.sum(axis=1)])), "combination of the others")
    refuses(lambda: whiten(np.column_stack([white, np.ones(50)])), "constant")
    refuses(lambda: whiten(white).unmixing(np.eye(3)), "mixing has shape (3, 3)", "(2, 2)")
    refuses(lambda: whiten(white).unmixing(np.ones((2, 2))), "mixing", "invertible")
    refuses(lambda: amari(np.eye(3), np.eye(2)), "w has shape (3, 3)", "(4,)")
    refuses(lambda: amari(np.eye(2), np.zeros((2, 2))), "truth", "invertible")
    refuses(lambda: Mixture.from_data([]), "x has shape (0,)")
    refuses(lambda: Mixture.from_data([1.0, np.inf]), "x[1] = inf")
    refuses(lambda: Mixture.from_data([1.0], temperature=0.0), "temperature = 0")
    refuses(lambda: Mixture.from_data([1.0], variance=-1.0), "variance = -1")
    refuses(lambda: Mixture.from_data([1.0], prior_variances=(1.0, np.nan)), "prior_variances[1] = nan")
    refuses(lambda: Mixture.from_data([1.0], prior_variances=(1.0,)), "must be two")
    refuses(lambda: draw_mixture(np.random.default_rng(1), 0), "n_data = 0")
    refuses(lambda: Lasso.from_data([1.0, 2.0], [1.0]), "y has shape (1,)", "(2,)")
    refuses(lambda: Lasso.from_data([1.0, np.nan], [1.0, 1.0]), "x[1, 0] = nan")
    refuses(lambda: Lasso.from_data([1.0], [1.0], precision=0.0), "precision = 0")
    refuses(lambda: Lasso.from_data([1.0], [1.0], penalty=-1.0), "penalty = -1")
    refuses(lambda: Lasso.from_data(np.ones((2, 2)), [1.0, 2.0]).density(0.0), "one predictor", "2")
    refuses(lambda: Lasso.from_data([0.0, 0.0], [1.0, 2.0]).cumulative(0.0), "all predictors are 0")
    refuses(lambda: draw_line(np.random.default_rng(1), 0), "n_data = 0")


@pytest.mark.parametrize("case", [ica_case, mixture_case, lasso_case])
def test_a_theta_of_the_wrong_size_is_refused_before_a_kernel_reads_beyond_it(case, refuses):
    model, _, _, thetas = case(1.0)
    right, wrong, indices = thetas[0], thetas[0][:-1], np.arange(3)
    words = "theta has shape", f"must be ({right.size},)"
    refuses(lambda: model.terms(wrong, right, indices), *words)
    refuses(lambda: model.terms(right, wrong, indices), *words)
    refuses(lambda: model.log_likelihood(wrong, indices), *words)
    refuses(lambda: model.log_prior(wrong), *words)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_sounds_of_any_loudness_are_whitened(size):
    x = np.random.default_rng(4).laplace(size=(500, 2)) @ np.array([[1.0, 0.5], [0.2, 1.0]])
    plain, white = whiten(x), whiten(x * size)
    np.testing.assert_allclose(white.rows, plain.rows, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(white.matrix * size, plain.matrix, rtol=1e-9)
    np.testing.assert_allclose(white.mean / size, plain.mean, rtol=1e-9)


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_lassos_bound_takes_a_block_at_a_time(monkeypatch, blocks):
    x, y = draw_line(np.random.default_rng(1), 60)
    model = Lasso.from_data(x, y)
    monkeypatch.setattr("samplers.models.arrays.BLOCK", 60 // blocks)
    sizes = []
    norm = np.linalg.norm
    monkeypatch.setattr(np.linalg, "norm", lambda rows, axis: sizes.append(len(rows)) or norm(rows, axis=axis))
    assert model._largest == pytest.approx((np.abs(x * y).max(), (x * x).max()))
    assert sizes == [60 // blocks] * blocks
