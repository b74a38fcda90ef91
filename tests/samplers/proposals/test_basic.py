"""The Stiefel walk and Langevin proposals: where they go, that ratios are right, and the posteriors they lead to."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import ks_2samp, kstest, multivariate_normal, norm

from designer import Design
from samplers.chains.chain import Chain
from samplers.decide.exact import ExactTest
from samplers.decide.sequential import SequentialTest
from samplers.models import _kernels
from samplers.models.lasso import Lasso, draw_line
from samplers.proposals import Langevin, Proposed, StiefelWalk
from tests.samplers.models.test_models import away

# --- Stiefel walk -----------------------------------------------------------------------------------------------------


def orthonormal(rng: np.random.Generator, d: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def skew(xi: np.ndarray, d: int) -> np.ndarray:
    a = np.zeros((d, d))
    a[np.triu_indices(d, 1)] = xi
    return a - a.T


@pytest.mark.parametrize("d", [2, 3, 4, 7])
@pytest.mark.parametrize("scale", [1e-9, 0.01, 0.3, 3.0, 10.0])
def test_a_step_is_the_matrix_exponential_and_minus_xi_takes_it_back(d, scale):
    rng = np.random.default_rng(d)
    for _ in range(5):
        w, state = orthonormal(rng, d), rng.bit_generator.state
        new, log_q = StiefelWalk(scale, d).propose(rng, w.ravel())
        rng.bit_generator.state = state
        xi = rng.standard_normal(d * (d - 1) // 2)
        np.testing.assert_allclose(new.reshape(d, d), w @ expm(scale * skew(xi, d)), atol=1e-13 * (1 + scale))
        assert log_q == 0.0
        back = np.empty((d, d))
        _kernels.rotate(-xi, scale, new.reshape(d, d), back)
        np.testing.assert_allclose(back, w, atol=1e-13 * (1 + scale))


def test_a_million_steps_stay_orthonormal():
    walk, rng = StiefelWalk(0.1, 4), np.random.default_rng(1)
    theta = orthonormal(rng, 4).ravel()
    sign, worst = np.linalg.det(theta.reshape(4, 4)), 0.0
    for step in range(1_000_000):
        theta = walk.propose(rng, theta).theta
        if step % 1000 == 0:
            worst = max(worst, _kernels.departure(theta, 4))
    w = theta.reshape(4, 4)
    assert max(worst, np.abs(w @ w.T - np.eye(4)).max()) < 3e-15
    assert np.linalg.det(w) == pytest.approx(sign)


def moves(walk: StiefelWalk, starts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """R with W' = W R of one step from each start."""
    d = walk.size
    ends = np.array([walk.propose(rng, w.ravel()).theta.reshape(d, d) for w in starts])
    return np.einsum("nji,njk->nik", starts, ends)


def asymmetry(r: np.ndarray) -> float:
    """Least p-value of: R and its inverse R' have the same law, in the planes of the axes and in E R = E R'."""
    half, d = len(r) // 2, r.shape[1]
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    p = [ks_2samp(r[:half, i, j], r[half:, j, i]).pvalue for i, j in pairs]
    for i, j in pairs:
        difference = r[:, i, j] - r[:, j, i]
        p.append(2 * norm.sf(abs(difference.mean()) * math.sqrt(len(r)) / difference.std()))
    return float(min(p))


@pytest.mark.parametrize("scale", [0.2, 1.5])
def test_the_walk_is_symmetric(scale):
    rng, d, n = np.random.default_rng(2), 3, 20_000
    starts = np.array([orthonormal(rng, d) for _ in range(n)])
    r = moves(StiefelWalk(scale, d), starts, rng)
    assert asymmetry(r) > 1e-3
    drift = expm(0.25 * scale * skew(np.array([1.0, 0.0, 0.0]), d))
    assert asymmetry(r @ drift) < 1e-6  # a drift of a quarter of a step would be seen


def test_the_law_of_a_move_does_not_depend_on_where_it_starts_nor_on_the_axes():
    rng, d, n = np.random.default_rng(3), 3, 20_000
    walk = StiefelWalk(0.3, d)
    here, there = (moves(walk, np.broadcast_to(orthonormal(rng, d), (n, d, d)), rng) for _ in range(2))
    assert ks_2samp(np.trace(here, axis1=1, axis2=2), np.trace(there, axis1=1, axis2=2)).pvalue > 1e-3
    q = orthonormal(rng, d)
    turned = q @ there @ q.T
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert ks_2samp(here[:, i, j], turned[:, i, j]).pvalue > 1e-3
    # to first order the angles in the planes are scale * N(0, 1)
    small = moves(StiefelWalk(1e-4, d), np.broadcast_to(np.eye(d), (n, d, d)), rng)
    assert kstest(small[:, 0, 2] / 1e-4, "norm").pvalue > 1e-3


def test_a_long_walk_is_uniform():
    """Under the uniform measure E w_ij^2 = 1/D and E w_ij^4 = 3 / (D (D + 2))."""
    walk, rng, theta = StiefelWalk(2.0, 3), np.random.default_rng(4), np.eye(3).ravel()
    draws = np.empty((40_000, 9))
    for draw in draws:
        theta = walk.propose(rng, theta).theta
        draw[:] = theta
    np.testing.assert_allclose((draws**2).mean(axis=0), 1 / 3, atol=0.01)
    np.testing.assert_allclose((draws**4).mean(axis=0), 1 / 5, atol=0.01)
    np.testing.assert_allclose(draws.mean(axis=0), 0.0, atol=0.02)


def test_bad_walks_are_refused(refuses):
    rng = np.random.default_rng(1)
    refuses(lambda: StiefelWalk(0.0, 3), "scale = 0")
    refuses(lambda: StiefelWalk(math.nan, 3), "scale = nan")
    refuses(lambda: StiefelWalk(0.1, 1), "size = 1")
    refuses(lambda: StiefelWalk(0.1, 3).propose(rng, np.eye(2).ravel()), "theta has shape (4,)", "(9,)")
    refuses(lambda: StiefelWalk(0.1, 2).propose(rng, np.eye(2)), "theta has shape (2, 2)", "(4,)")
    refuses(lambda: StiefelWalk(0.1, 2).propose(rng, np.array([1.0, 0.5, 0.0, 1.0])), "orthonormal", "off by 0.")
    refuses(lambda: StiefelWalk(0.1, 2).propose(rng, np.array([1.0, math.nan, 0.0, 1.0])), "orthonormal")


# --- Langevin ---------------------------------------------------------------------------------------------------------


class Recording:
    """Passes everything on and remembers which data gradients were taken of."""

    def __init__(self, model: Lasso) -> None:
        self.model, self.n_data, self.asked = model, model.n_data, []

    def gradient(self, theta: np.ndarray, indices: np.ndarray) -> np.ndarray:
        self.asked.append((theta.copy(), indices.copy()))
        return self.model.gradient(theta, indices)

    def prior_gradient(self, theta: np.ndarray) -> np.ndarray:
        return self.model.prior_gradient(theta)


@pytest.fixture(scope="module")
def plane() -> Lasso:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((200, 3))
    return Lasso.from_data(x, x @ np.array([0.5, 0.0, -0.2]) + 0.6 * rng.standard_normal(200), penalty=20.0)


def test_the_ratio_is_that_of_the_printed_densities_with_one_mini_batch(plane):
    """K16 Eqns 21 and 22, with numpy's gradient of the same mini-batch."""
    rng, model, step = np.random.default_rng(6), Recording(plane), 2e-3
    proposal = Langevin(model, step, 20)
    x, y = plane.rows[:, :3], plane.rows[:, 3]
    for _ in range(20):
        theta = rng.normal(0.0, 0.3, 3)
        model.asked.clear()
        new, log_q = proposal.propose(rng, theta)
        (first, batch), (second, again) = model.asked
        np.testing.assert_array_equal(batch, again)
        np.testing.assert_array_equal([first, second], [theta, new])
        assert len(set(batch.tolist())) == 20

        def density(to: np.ndarray, at: np.ndarray, batch: np.ndarray = batch) -> float:
            gradient = 10.0 * 3.0 * x[batch].T @ (y[batch] - x[batch] @ at) - 20.0 * np.sign(at)
            return multivariate_normal(at + 0.5 * step * gradient, step * np.eye(3)).logpdf(to)

        assert log_q == pytest.approx(density(new, theta) - density(theta, new), abs=1e-8)


def test_mini_batches_are_without_replacement_and_favour_nobody(plane):
    model, rng = Recording(plane), np.random.default_rng(7)
    proposal = Langevin(model, 1e-3, 150)
    for _ in range(4000):
        proposal.propose(rng, np.zeros(3))
    batches = np.array([batch for _, batch in model.asked[::2]])
    assert all(len(set(batch)) == 150 for batch in batches[:100].tolist())
    counts = np.bincount(batches.ravel(), minlength=200)
    assert np.abs(counts - 3000).max() < 4.5 * math.sqrt(4000 * 0.75 * 0.25)
    assert np.sum((counts - 3000) ** 2) / 750 == pytest.approx(200, abs=4 * 20)


def test_the_mean_of_proposals_is_the_drift_and_their_spread_the_step(plane):
    """The mini-batch's gradient has the full one as its mean; with all the data the rest is N(0, step)."""
    rng, theta, step = np.random.default_rng(8), np.array([0.3, 0.1, -0.4]), 1e-3
    whole = plane.gradient(theta, np.arange(200)) + plane.prior_gradient(theta)
    noise = np.array([Langevin(plane, step, 200).propose(rng, theta).theta for _ in range(4000)])
    noise = (noise - theta - 0.5 * step * whole) / math.sqrt(step)
    assert kstest(noise.ravel(), "norm").pvalue > 1e-3
    few = np.array([Langevin(plane, step, 10).propose(rng, theta).theta for _ in range(10_000)])
    error = few.std(axis=0) / 100
    assert np.all(np.abs(few.mean(axis=0) - theta - 0.5 * step * whole) < 4 * error)
    assert np.all(few.std(axis=0) > 1.2 * math.sqrt(step))  # and has noise of its own


def test_a_proposal_depends_on_the_generator_alone(plane):
    other = Lasso.from_data(*draw_line(np.random.default_rng(1), 321), penalty=1.0)
    mine = Langevin(plane, 1e-3, 50)

    def draw(_: int = 0) -> np.ndarray:
        rng = np.random.default_rng(9)
        return np.array([mine.propose(rng, np.zeros(3)).theta for _ in range(50)])

    first = draw()
    Langevin(other, 1e-3, 100).propose(np.random.default_rng(2), np.zeros(1))
    np.testing.assert_array_equal(draw(), first)
    with ThreadPoolExecutor(4) as pool:
        for each in pool.map(draw, range(8)):
            np.testing.assert_array_equal(each, first)
    copy = pickle.loads(pickle.dumps(mine))
    np.testing.assert_array_equal(copy.propose(np.random.default_rng(9), np.zeros(3)).theta, first[0])


class Unratioed(Langevin):
    """Forgets the proposal's part of the ratio."""

    def propose(self, rng: np.random.Generator, theta: np.ndarray) -> Proposed:
        return Proposed(super().propose(rng, theta).theta, 0.0)


@pytest.fixture(scope="module")
def line() -> Lasso:
    """The toy of K14 6.4, made so that the chain does get into the valley left of the kink, and out again."""
    return Lasso.from_data(*draw_line(np.random.default_rng(8), 1000, slope=0.15), penalty=150.0)


@pytest.mark.parametrize("batch", [50, 1000])
@pytest.mark.parametrize("exact", [True, False])
def test_the_corrected_chain_has_the_true_posterior(line, batch, exact):
    test = ExactTest() if exact else SequentialTest.from_design(Design(1000, 250, 0.005))
    chain = Chain(line, Langevin(line, 2e-4, batch), test, [0.0], np.random.default_rng(10))
    made = chain.advance(200 + 18_000)
    draws = made.theta[200:, 0]
    assert 0.4 < made.accepted.mean() < 0.95
    assert np.mean(draws < 0) > 0.05
    assert away(draws, line.cumulative) < 2.0


def test_without_the_test_or_the_ratio_the_posterior_is_wrong(line):
    rng, theta = np.random.default_rng(11), np.zeros(1)
    proposal = Langevin(line, 2e-4, 50)
    plain = np.empty(18_000)
    for k in range(plain.size):
        theta = proposal.propose(rng, theta).theta
        plain[k] = theta[0]
    assert away(plain, line.cumulative) > 3
    chain = Chain(line, Unratioed(line, 2e-4, 50), ExactTest(), [0.0], rng)
    assert away(chain.advance(18_000).theta[:, 0], line.cumulative) > 3


def test_bad_langevin_is_refused(line, refuses):
    refuses(lambda: Langevin(line, 0.0, 10), "step = 0")
    refuses(lambda: Langevin(line, math.inf, 10), "step = inf")
    refuses(lambda: Langevin(line, 1e-3, 0), "batch = 0")
    refuses(lambda: Langevin(line, 1e-3, 1001), "batch = 1001", "1,000")
    refuses(lambda: Langevin(line, 1e-3, 10).propose(np.random.default_rng(1), np.zeros(2)), "theta has shape (2,)")
