"""The dense MRF and its Gibbs sampler against enumeration, the calculator and Theorem 4."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from designer import Design, TrialRun, acceptance
from designer.engine.bounds import sweep_bound
from samplers.chains import gibbs
from samplers.decide import BarkerTest, Comparison, ConcentrationTest, ExactTest, SequentialTest
from samplers.models.mrf import DenseMRF

D = 6
STATES = np.array(list(itertools.product((0, 1), repeat=D)), dtype=np.int8)
PLACES = 2 ** np.arange(D)[::-1]


def log_weight(mrf: DenseMRF, x: np.ndarray) -> float:
    """log of the product of all potentials, literally."""
    triples = itertools.combinations(range(mrf.dimension), 3)
    return sum(mrf.potential(i, j, k)[x[i], x[j], x[k]] for i, j, k in triples)


def enumerated(mrf: DenseMRF) -> np.ndarray:
    weight = np.exp([log_weight(mrf, x) for x in STATES])
    return weight / weight.sum()


def kernel_of_sweep(p_one) -> np.ndarray:
    """Transition matrix of a sweep, from p_one(x, site) = P(X_site is assigned 1 | the others)."""
    whole = np.eye(len(STATES))
    for site in range(D):
        single = np.zeros_like(whole)
        for s, x in enumerate(STATES):
            one, zero = x.copy(), x.copy()
            one[site], zero[site] = 1, 0
            single[s, one @ PLACES] = p_one(x, site)
            single[s, zero @ PLACES] = 1.0 - p_one(x, site)
        whole = whole @ single
    return whole


def stationary(kernel: np.ndarray) -> np.ndarray:
    system = np.vstack([kernel.T - np.eye(len(kernel)), np.ones(len(kernel))])
    return np.linalg.lstsq(system, np.append(np.zeros(len(kernel)), 1.0), rcond=None)[0]


def shares_and_errors(draws: gibbs.GibbsDraws, batches: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """How often each state was visited, with standard errors by batch means."""
    visits = (draws.x @ PLACES).reshape(batches, -1)
    shares = np.array([np.bincount(batch, minlength=len(STATES)) / batch.size for batch in visits])
    return shares.mean(axis=0), shares.std(axis=0, ddof=1) / math.sqrt(batches)


@pytest.fixture(scope="module")
def small() -> DenseMRF:
    return DenseMRF.random(np.random.default_rng(4), dimension=D, sd=0.4)


@pytest.fixture(scope="module")
def large() -> tuple[DenseMRF, np.ndarray]:
    """The paper's field, and a state of it."""
    rng = np.random.default_rng(5)
    mrf = DenseMRF.random(rng)
    return mrf, gibbs.run(rng, mrf, ExactTest(), start=rng.integers(2, size=100), draws=20).x[-1]


def trial_of(mrf: DenseMRF, x: np.ndarray) -> TrialRun:
    terms = np.array([mrf.terms(x, site, np.arange(mrf.n_data)) for site in range(mrf.dimension)])
    return TrialRun(mrf.n_data, terms.mean(axis=1), terms.std(axis=1))


# --- the model ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [3, 4, 7])
def test_conditionals_are_those_of_the_joint_distribution(dimension):
    rng = np.random.default_rng(dimension)
    mrf = DenseMRF.random(rng, dimension, sd=1.0)
    assert mrf.n_data == (dimension - 1) * (dimension - 2) // 2
    for x in rng.integers(2, size=(5, dimension)).astype(np.int8):
        for site in range(dimension):
            one, zero = x.copy(), x.copy()
            one[site], zero[site] = 1, 0
            odds = log_weight(mrf, one) - log_weight(mrf, zero)
            terms = mrf.terms(x, site, np.arange(mrf.n_data))
            assert mrf.log_odds(x, site) == pytest.approx(odds, abs=1e-12)
            assert terms.sum() == pytest.approx(odds, abs=1e-12)
            assert mrf.probability(x, site) == pytest.approx(1.0 / (1.0 + math.exp(-odds)), rel=1e-12)


def test_a_term_is_the_pair_it_says(small):
    """Change one potential: only the pairs of its triple feel it."""
    table = small.log_psi.copy()
    changed = DenseMRF(table)
    changed.potential(1, 2, 4)[1, 1, 0] += 3.0
    changed = DenseMRF(changed.log_psi)
    x = np.array([0, 1, 1, 0, 0, 1], dtype=np.int8)
    for site, sign in ((1, 3.0), (2, 3.0), (4, -3.0), (0, 0.0), (3, 0.0), (5, 0.0)):
        difference = changed.terms(x, site, np.arange(10)) - small.terms(x, site, np.arange(10))
        others = [i for i in range(D) if i != site]
        pairs = [(others[j], others[k]) for j, k in changed.pairs]
        expected = [sign if sorted((site, *pair)) == [1, 2, 4] else 0.0 for pair in pairs]
        np.testing.assert_allclose(difference, expected, atol=1e-12)


def test_the_spread_of_the_generator_and_the_range_bound(large):
    mrf, x = large
    assert mrf.log_psi.std() == pytest.approx(0.02, rel=0.01)
    odds = [mrf.log_odds(x, site) for site in range(100)]
    assert 1.0 < np.std(odds) < 3.5  # sd .02 sqrt(2) sqrt(4851) = 1.97; variance .02 would make it 14
    largest = max(np.abs(mrf.terms(x, site, np.arange(4851))).max() for site in range(100))
    assert 0.8 * mrf.range_bound < largest <= mrf.range_bound


# --- the sampler --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", [ExactTest(), SequentialTest.from_design(Design(10, 5, 0.005))], ids=["exact", "t"])
def test_gibbs_visits_every_state_as_often_as_it_should(small, test):
    truth = enumerated(small)
    draws = gibbs.run(np.random.default_rng(7), small, test, start=np.zeros(D), draws=200_000)
    shares, se = shares_and_errors(draws)
    np.testing.assert_array_less(np.abs(shares - truth), 4.0 * se)
    assert se.max() < 0.02 * truth.max()  # the test could have failed
    assert isinstance(test, ExactTest) or draws.n_used.mean() < 0.98 * D * small.n_data


def test_any_test_of_the_protocol_may_decide(small):
    """Barker minibatches and concentration bounds on a field: the same distribution of single sites."""
    rng, truth = np.random.default_rng(7), enumerated(small) @ STATES
    for test in (BarkerTest(m=5), ConcentrationTest(m=5)):
        draws = gibbs.run(rng, small, test, start=np.zeros(D), draws=3000)
        batches = draws.x.reshape(30, 100, D).mean(axis=1)
        assert np.all(np.abs(batches.mean(axis=0) - truth) < 4.0 * batches.std(axis=0, ddof=1) / math.sqrt(30))


@pytest.mark.parametrize(
    "test",
    [
        ExactTest(),
        SequentialTest.from_design(Design(171, 20, 0.05)),
        SequentialTest.from_design(Design(171, 20, 0.1), 3),
    ],
    ids=["exact", "sequential", "k0 = 3"],
)
def test_compiled_and_protocol_sweeps_are_the_same_draw_for_draw(test):
    mrf = DenseMRF.random(np.random.default_rng(8), dimension=20, sd=0.1)
    one, other = (
        gibbs.run(np.random.default_rng(9), mrf, test, start=np.ones(20), draws=40, thin=2, fuse=fuse)
        for fuse in (True, False)
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(np.unique(one.x, axis=0)) > 20


def test_thinning_keeps_every_third_state(small):
    one, third = (
        gibbs.run(np.random.default_rng(9), small, ExactTest(), start=np.zeros(D), draws=2400 // thin, thin=thin)
        for thin in (1, 3)
    )
    np.testing.assert_array_equal(third.x, one.x[2::3])
    assert third.n_used.tolist() == [3 * D * small.n_data] * 800


def test_what_is_read_is_counted(large):
    mrf, x = large
    rng = np.random.default_rng(10)
    assert gibbs.sweep(rng, mrf, ExactTest(), x)[1:] == (100 * 4851, 100)
    test = SequentialTest.from_design(Design(4851, 500, 0.05))
    done = gibbs.updates(rng, mrf, test, x, np.arange(100))
    assert np.all(done.n_used == np.minimum(500 * done.n_looks, 4851))
    assert 500 < done.n_used.mean() < 4851
    asked = []
    field = Watched(mrf, asked)
    seen = gibbs.sweep(rng, field, test, x)
    assert seen.n_used == sum(asked)


class Watched:
    """A field that notes how many terms were asked of it, or fails at one of them."""

    def __init__(self, mrf: DenseMRF, asked: list[int], bad_site: int | None = None, good: int = 0) -> None:
        self.mrf, self.asked, self.bad_site, self.good = mrf, asked, bad_site, good
        self.dimension, self.n_data = mrf.dimension, mrf.n_data

    def comparison(self, x: np.ndarray, site: int) -> Comparison:
        self.good -= site == self.bad_site
        bad = site == self.bad_site and self.good < 0

        def terms(indices: np.ndarray) -> np.ndarray:
            self.asked.append(indices.size)
            values = self.mrf.terms(x, site, indices)
            return np.where(indices == 3, np.nan, values) if bad else values

        return Comparison(self.n_data, terms, rule="barker")


# --- the error of the sequential test -----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 0.25])
def test_conditionals_are_biased_as_the_calculator_says(large, epsilon):
    """K14 Fig. 14: towards 1/2, and by less than 0.01 at epsilon = 0.01."""
    mrf, x = large
    design, rng = Design(4851, 500, epsilon), np.random.default_rng(11)
    theory = acceptance(design, trial_of(mrf, x), rule="barker")
    exact = np.array([mrf.probability(x, site) for site in range(100)])
    np.testing.assert_allclose(theory.probability, exact, atol=1e-9)
    test, sites = SequentialTest.from_design(design), range(0, 100, 4)
    seen = [gibbs.conditional(rng, mrf, test, x, site, repeats=2500) for site in sites]
    bias = np.array([c.probability for c in seen]) - exact[::4]
    se = np.array([c.se for c in seen])
    assert np.all(np.abs(bias - theory.delta[::4]) < 4.0 * se + 0.002)  # the theory is of infinitely many terms
    assert abs(np.mean([c.usage for c in seen]) - theory.usage[::4].mean()) < 0.02
    if epsilon == 0.01:
        assert np.abs(theory.delta).max() < 0.01
    else:
        clear = (np.abs(exact[::4] - 0.5) > 0.1) & (np.abs(exact[::4] - 0.5) < 0.4)
        assert np.all(np.sign(bias[clear]) == np.sign(0.5 - exact[::4][clear]))
        assert np.abs(bias[clear]).max() > 0.1


def test_a_large_epsilon_flattens_the_distribution(small):
    """The stationary distribution itself is off, and a small epsilon mends it."""
    truth = enumerated(small)
    off = {}
    for epsilon in (0.3, 0.005):
        test = SequentialTest.from_design(Design(10, 5, epsilon))
        draws = gibbs.run(np.random.default_rng(12), small, test, start=np.zeros(D), draws=100_000)
        off[epsilon] = 0.5 * np.abs(shares_and_errors(draws)[0] - truth).sum()
        marginal = draws.x.mean(axis=0)
        if epsilon == 0.3:
            exact = truth @ STATES
            far = np.abs(exact - 0.5) > 0.15
            assert far.any()
            assert np.all(np.abs(marginal[far] - 0.5) < np.abs(exact[far] - 0.5))
    assert off[0.005] < 0.015
    assert off[0.3] > 0.05


def test_sweep_bound_holds():
    """Theorem 4, corrected: every conditional of the real test measured, then both sweeps solved exactly."""
    small = DenseMRF.random(np.random.default_rng(4), dimension=D, sd=0.15)
    test, rng = SequentialTest.from_design(Design(10, 5, 0.1)), np.random.default_rng(13)
    truth = np.array([[small.probability(x, site) for site in range(D)] for x in STATES])
    measured = np.array(
        [[gibbs.conditional(rng, small, test, x, site, 10_000).probability for site in range(D)] for x in STATES]
    )
    other = np.arange(len(STATES))[:, None] ^ PLACES
    measured = 0.5 * (measured + np.take_along_axis(measured, other, axis=0))  # x[site] itself does not matter
    exact, rough = (kernel_of_sweep(lambda x, site, p=p: p[x @ PLACES, site]) for p in (truth, measured))
    np.testing.assert_allclose(stationary(exact), enumerated(small), atol=1e-9)
    delta = np.abs(measured - truth).max()
    eta = max(0.5 * np.abs(a - b).sum() for a, b in itertools.combinations(exact, 2))
    distance = 0.5 * np.abs(stationary(exact) - stationary(rough)).sum()
    assert 0.005 < distance <= sweep_bound(delta, eta, D) < 0.8


def test_theorem_4_needs_its_factor():
    """Independent bits, eta = 0: the printed bound Delta_max is exceeded by the real test, D Delta_max is not."""
    rng = np.random.default_rng(14)
    bits = np.array(list(itertools.product((0, 1), repeat=3)))
    lean = rng.normal(0.12, 0.3, (math.comb(D, 3), 3))
    mrf = DenseMRF(lean @ bits.T)  # log psi = sum of lean * x: every term of X_i is a constant
    test, x = SequentialTest.from_design(Design(10, 5, 0.2)), np.zeros(D, dtype=np.int8)
    exact = np.array([mrf.probability(x, site) for site in range(D)])
    assert [mrf.probability(1 - x, site) for site in range(D)] == pytest.approx(exact, abs=1e-12)
    rough = np.array([gibbs.conditional(rng, mrf, test, x, site, 40_000).probability for site in range(D)])
    joint = [np.prod(np.where(STATES == 1, p, 1.0 - p), axis=1) for p in (exact, rough)]
    distance, delta = 0.5 * np.abs(joint[0] - joint[1]).sum(), np.abs(rough - exact).max()
    assert sweep_bound(delta, 0.0, 1) < 0.9 * distance < sweep_bound(delta, 0.0, D)


# --- edges --------------------------------------------------------------------------------------------------------


def test_a_term_that_is_not_finite_stops_the_run_and_keeps_what_there_is(small):
    start, exact = np.zeros(D), ExactTest()
    with pytest.raises(gibbs.GibbsStopped, match="sweep 0, site 2: term 3"):
        gibbs.updates(np.random.default_rng(1), Watched(small, [], bad_site=2), exact, start, [0, 2])
    late = Watched(small, [], bad_site=2, good=17)  # the 18th time that the site is updated
    with pytest.raises(gibbs.GibbsStopped, match="sweep 17, site 2: term 3") as caught:
        gibbs.run(np.random.default_rng(1), late, exact, start=start, draws=20, thin=2)
    assert (caught.value.sweep, caught.value.site, caught.value.index) == (17, 2, 3)
    whole = gibbs.run(np.random.default_rng(1), small, exact, start=start, draws=8, thin=2)
    for seen, expected in zip(caught.value.draws, whole, strict=True):
        np.testing.assert_array_equal(seen, expected)


def test_a_run_can_be_cancelled(small, monkeypatch):
    monkeypatch.setattr(gibbs, "BLOCK", 4 * D)
    told: list[int] = []
    run = {"start": np.zeros(D), "draws": 50, "progress": told.append, "cancelled": lambda: len(told) == 3}
    draws = gibbs.run(np.random.default_rng(1), small, ExactTest(), **run)
    assert told == [4, 8, 12]
    assert draws.x.shape == (12, D) and draws.n_used.tolist() == [10 * D] * 12


def test_bad_input_is_refused(small, refuses):
    rng, exact, x = np.random.default_rng(1), ExactTest(), np.zeros(D)
    refuses(lambda: DenseMRF(np.zeros((21, 8))), "(21, 8)", "log_psi")
    refuses(lambda: DenseMRF(np.full((20, 8), np.inf)), "log_psi[0, 0]", "finite")
    refuses(lambda: DenseMRF.random(rng, dimension=2), "dimension", "2")
    refuses(lambda: DenseMRF.random(rng, dimension=5, sd=-1.0), "sd")
    refuses(lambda: small.potential(2, 1, 3), "(2, 1, 3)")
    refuses(lambda: gibbs.sweep(rng, small, exact, np.zeros(5)), "state", "6")
    refuses(lambda: gibbs.sweep(rng, small, exact, x + 0.5), "state")
    refuses(lambda: gibbs.updates(rng, small, exact, x, [6]), "sites", "5")
    refuses(lambda: gibbs.updates(rng, small, exact, x, [0.5]), "sites")
    refuses(lambda: gibbs.conditional(rng, small, exact, x, 7), "site")
    refuses(lambda: gibbs.run(rng, small, exact, start=x, draws=0), "draws")
    other = SequentialTest.from_design(Design(11, 5, 0.1))
    refuses(lambda: gibbs.run(rng, small, other, start=x, draws=5), "11", "10")
