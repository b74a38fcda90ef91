"""Reversible jump: ratios against the prior by integration over nu, model probabilities against quadrature."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.integrate import quad

from designer import Design
from samplers.chains.draws import ChainStopped, Draws
from samplers.chains.jump_chain import JumpChain
from samplers.decide import ConcentrationTest, ExactTest, SequentialTest
from samplers.decide.comparison import AcceptTest
from samplers.models.rj_logistic import Jump, RJLogistic, RJState

D, N, FLOOR = 3, 200, 0.05
MODELS = [gamma for gamma in itertools.product((False, True), repeat=D) if any(gamma)]


def make(rate: float = 2.0, **options: float) -> RJLogistic:
    rng = np.random.default_rng(21)
    x = rng.standard_normal((N, D))
    y = rng.logistic(size=N) < x @ [0.35, -0.2, 0.05]
    return RJLogistic.from_data(x, y, rate=rate, sd_update=0.3, sd_birth=0.3, floor=FLOOR, **options)


@pytest.fixture(scope="module")
def model() -> RJLogistic:
    return make()


def run(rng: np.random.Generator, model: RJLogistic, test: AcceptTest, start: RJState, draws: int) -> Draws:
    return JumpChain(model, test, start.beta, rng).advance(draws)


def log_likelihood(model: RJLogistic, beta: np.ndarray) -> np.ndarray:
    return -np.logaddexp(0.0, -(model.rows @ beta)).sum(axis=0)


def log_prior_by_integration(model: RJLogistic, state: RJState) -> float:
    """K14 6.3 literally: Laplace densities with scale nu, p(nu) = 1/nu, and p(gamma) ~ rate^k / (binom(D, k) k!)."""
    k, norm = int(state.gamma.sum()), float(np.abs(state.beta).sum())

    def integrand(log_nu: float) -> float:  # d nu / nu = d log nu
        nu = norm * math.exp(log_nu)
        return (2.0 * nu) ** -k * math.exp(-norm / nu)

    density = quad(integrand, -6.0, 40.0, epsabs=0.0, epsrel=1e-11, limit=500)[0]
    size = model.rate**k / (math.comb(model.dimension, k) * math.factorial(k))
    return math.log(density) + math.log(size)


def log_proposal(model: RJLogistic, state: RJState, jump: Jump) -> float:
    """log density of proposing this move, from the description in supplement E."""
    k, d = int(state.gamma.sum()), model.dimension
    birth, death = (model.p_birth if k < d else 0.0), (model.p_death if k > 1 else 0.0)
    chance = {"birth": birth / max(d - k, 1), "death": death / k, "update": (1.0 - birth - death) / k}[jump.move]
    sd = {"birth": model.sd_birth, "update": model.sd_update}.get(jump.move)
    density = 1.0 if sd is None else math.exp(-0.5 * (jump.change / sd) ** 2) / (sd * math.sqrt(2.0 * math.pi))
    return math.log(chance * density)


def back(model: RJLogistic, jump: Jump) -> Jump:
    """The move that undoes a move."""
    reverse = {"update": "update", "birth": "death", "death": "birth"}[jump.move]
    return model.jump(jump.state, reverse, jump.component, -jump.change)


def enumerated(model: RJLogistic) -> tuple[np.ndarray, float]:
    """P(gamma | data) of MODELS and the posterior mean of |beta|_1, by Gauss-Legendre.

    beta = r s w with signs s and w on the simplex makes |beta|_1^-k d beta = dr/r dw: smooth, finite above the floor.
    """
    (t, dt), (u, du) = leggauss(60), leggauss(24)
    low, high = math.log(model.floor), math.log(20.0)
    r, dr = np.exp(low + 0.5 * (high - low) * (t + 1.0)), 0.5 * (high - low) * dt
    u, du = 0.5 * (u + 1.0), 0.5 * du
    a, b = np.repeat(u, u.size), np.tile(u, u.size)
    simplex = {
        1: (np.ones((1, 1)), np.ones(1)),
        2: (np.column_stack([u, 1.0 - u]), du),
        3: (np.column_stack([a, (1.0 - a) * b, (1.0 - a) * (1.0 - b)]), np.outer(du, du).ravel() * (1.0 - a)),
    }
    top = log_likelihood(model, np.zeros((D, 1)))[0]
    weight, moment = [], []
    for gamma in MODELS:
        k, shell = sum(gamma), np.zeros(r.size)
        points, dw = simplex[k]
        for signs in itertools.product((-1.0, 1.0), repeat=k):
            beta = np.zeros((D, dw.size))
            beta[list(gamma)] = (points * signs).T
            shell += [dw @ np.exp(log_likelihood(model, radius * beta) - top) for radius in r]
        size = (0.5 * model.rate) ** k * math.factorial(k - 1) * math.factorial(D - k)  # (rate/2)^k B(k, D - k + 1) D!
        weight.append(size * (dr @ shell))
        moment.append(size * ((dr * r) @ shell))
    return np.array(weight) / sum(weight), sum(moment) / sum(weight)


def summaries(draws: Draws, batches: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Shares of MODELS and the mean of |beta|_1, with standard errors by batch means."""
    code = ((draws.theta != 0.0) @ (4, 2, 1) - 1).reshape(batches, -1)
    shares = np.array([np.bincount(batch, minlength=len(MODELS)) / batch.size for batch in code])
    norm = np.abs(draws.theta).sum(axis=1).reshape(batches, -1).mean(axis=1)
    table = np.column_stack([shares, norm])
    return table.mean(axis=0), table.std(axis=0, ddof=1) / math.sqrt(batches)


def random_state(rng: np.random.Generator, d: int, k: int) -> RJState:
    gamma = np.zeros(d, dtype=np.bool_)
    gamma[rng.permutation(d)[:k]] = True
    return RJState(gamma, np.where(gamma, rng.standard_normal(d), 0.0))


# --- the moves ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("move", ["update", "birth", "death"])
def test_log_ratio_is_prior_times_proposal(k, move):
    """c = log[prior(s) q(s'|s) / (prior(s') q(s|s'))], with the prior integrated over nu and q from its description."""
    rng = np.random.default_rng(k)
    wide = RJLogistic(rng.standard_normal((20, 5)), rate=0.7, sd_birth=0.4, sd_update=0.2, p_birth=0.2, p_death=0.5)
    state = random_state(rng, 5, k)
    allowed = {"update": state.gamma, "birth": ~state.gamma, "death": state.gamma if k > 1 else np.zeros(5, np.bool_)}
    for j in np.flatnonzero(allowed[move]).tolist():
        change = -state.beta[j] if move == "death" else 0.3 * rng.standard_normal()
        jump = wide.jump(state, move, j, float(change))
        reverse = back(wide, jump)
        expected = log_prior_by_integration(wide, state) - log_prior_by_integration(wide, jump.state)
        expected += log_proposal(wide, state, jump) - log_proposal(wide, jump.state, reverse)
        assert jump.log_ratio == pytest.approx(expected, abs=1e-8)
        assert reverse.log_ratio == pytest.approx(-jump.log_ratio, abs=1e-10)
        np.testing.assert_array_equal(reverse.state.gamma, state.gamma)
        np.testing.assert_allclose(reverse.state.beta, state.beta, atol=1e-12)
        terms, again = (wide.comparison(s, m).terms(np.arange(20)) for s, m in ((state, jump), (jump.state, reverse)))
        np.testing.assert_allclose(terms, -again, atol=1e-12)


def test_equations_37_and_38_in_the_corrected_reading():
    """The printed formulas, with p(gamma -> gamma') containing the choice of component and lambda halved."""
    wide = RJLogistic(np.ones((2, 7)), rate=1e-10)  # the paper's numbers
    state = wide.start([1, 4, 6], [0.5, -1.0, 0.25])
    k, norm, born = 3, 1.75, 0.08
    normal = math.exp(-0.5 * (born / 0.1) ** 2) / (0.1 * math.sqrt(2.0 * math.pi))
    forth, home, lam = (1 / 3) / (7 - k), (1 / 3) / (k + 1), 0.5e-10
    birth = norm**-k * forth * normal * (7 - k) / ((norm + born) ** -(k + 1) * home * lam * k)
    jump = wide.jump(state, "birth", 0, born)
    assert jump.log_ratio == pytest.approx(math.log(birth), abs=1e-10)
    k += 1
    death = (norm + born) ** -k * home / (norm ** -(k - 1) * forth) * lam * (k - 1) / (normal * (7 - k + 1))
    assert wide.jump(jump.state, "death", 0, -born).log_ratio == pytest.approx(math.log(death), abs=1e-10)


def test_log_prior_is_the_integral_over_nu():
    rng, wide = np.random.default_rng(1), RJLogistic(np.ones((2, 5)), rate=0.3)
    states = [random_state(rng, 5, k) for k in (1, 2, 3, 4, 5)]
    gap = [wide.log_prior(state) - log_prior_by_integration(wide, state) for state in states]
    np.testing.assert_allclose(gap, gap[0], atol=1e-8)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_moves_are_proposed_as_often_as_the_ratios_assume(k):
    rng, few = np.random.default_rng(k), make(p_birth=0.2, p_death=0.5)
    state, repeats = random_state(rng, D, k), 6000
    jumps = [few.propose(rng, state) for _ in range(repeats)]
    kinds = [(jump.move, jump.component) for jump in jumps]
    chance = {}
    for move, component in set(kinds):
        fixed = Jump(move, component, 0.0, state, 0.0)
        sd = {"birth": few.sd_birth, "update": few.sd_update}.get(move)
        peak = 0.0 if sd is None else math.log(sd * math.sqrt(2.0 * math.pi))
        chance[(move, component)] = math.exp(log_proposal(few, state, fixed) + peak)
    assert sum(chance.values()) == pytest.approx(1.0)
    for kind, p in chance.items():
        assert abs(kinds.count(kind) / repeats - p) < 4.0 * math.sqrt(p * (1.0 - p) / repeats)
    for move, sd in (("update", few.sd_update), ("birth", few.sd_birth)):
        change = np.array([jump.change for jump in jumps if jump.move == move])
        if change.size:
            assert abs(change.mean()) < 4.0 * sd / math.sqrt(change.size)
            assert abs(change.std() / sd - 1.0) < 4.0 / math.sqrt(2.0 * change.size)


def test_terms_read_only_the_columns_that_matter(model):
    state = model.start([0], [0.4])
    jump = model.jump(state, "birth", 2, -0.3)
    rows = model.rows.copy()
    rows[:, 1] = np.nan
    asked = model.comparison(state, jump)
    blind = RJLogistic(rows, sd_update=0.3, sd_birth=0.3, floor=FLOOR).comparison(state, jump)
    each = np.log1p(np.exp(-model.rows @ state.beta)) - np.log1p(np.exp(-model.rows @ jump.state.beta))
    indices = np.array([7, 0, 199])
    np.testing.assert_allclose(asked.terms(indices), each[indices], atol=1e-13)
    np.testing.assert_array_equal(blind.terms(indices), asked.terms(indices))
    assert asked.full() == pytest.approx(each.sum(), abs=1e-11)
    assert 0.5 * asked.range_bound < np.abs(each).max() <= asked.range_bound


def test_the_floor_is_never_crossed(model):
    state = model.start([0, 1], [0.04, 0.03])
    assert model.jump(state, "death", 0, -0.04).log_ratio == math.inf
    assert model.jump(state, "update", 0, -0.03).log_ratio == math.inf
    assert model.log_prior(model.jump(state, "death", 0, -0.04).state) == -math.inf
    draws = run(np.random.default_rng(2), model, ExactTest(), state, 3000)
    assert FLOOR < np.abs(draws.theta).sum(axis=1).min() < 0.1


# --- the chain ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "draws"),
    [(ExactTest(), 80_000), (SequentialTest.from_design(Design(N, 50, 1e-3)), 50_000)],
    ids=["exact", "sequential"],
)
def test_models_are_visited_as_often_as_they_are_probable(model, test, draws):
    probability, norm = enumerated(model)
    draws = run(np.random.default_rng(22), model, test, model.start([0]), draws)
    mean, se = summaries(draws)
    np.testing.assert_array_less(np.abs(mean - [*probability, norm]), 4.0 * se)
    assert isinstance(test, ExactTest) or draws.n_used.mean() < 0.8 * N
    assert se.max() < 0.02  # the test could have failed: a factor of 2 in the rate moves probabilities by 0.1
    assert probability.min() > 0.01


def test_a_wrong_rate_would_be_noticed(model):
    """The enumeration tells lambda from lambda / 2, so the test above checks the corrected reading."""
    right, wrong = enumerated(model)[0], enumerated(make(rate=2.0 * model.rate))[0]
    assert np.abs(right - wrong).max() > 0.05


def test_data_read_are_counted_and_fewer_with_the_test():
    rng = np.random.default_rng(23)
    x = rng.standard_normal((20_000, 10))
    big = RJLogistic.from_data(x, rng.logistic(size=20_000) < 2.0 * x[:, 0] - x[:, 3])
    test = SequentialTest.from_design(Design(20_000, 500, 0.05))
    draws = run(rng, big, test, big.start([0, 3], [1.9, -0.9]), 400)
    assert np.all(draws.n_used == np.minimum(500 * draws.n_looks, 20_000))
    assert draws.n_used.min() >= 500 and draws.n_used.mean() < 14_000
    assert np.all(draws.theta[:, [0, 3]] != 0.0)
    exact = run(rng, big, ExactTest(), big.start([0, 3], [1.9, -0.9]), 20)
    assert np.all(exact.n_used == 20_000)


def test_the_concentration_test_needs_no_pass_for_its_range(model):
    draws = run(np.random.default_rng(3), model, ConcentrationTest(m=50), model.start([0]), 300)
    assert draws.n_used.max() <= N
    assert draws.accepted.any()


def test_an_overflow_stops_the_chain_and_names_the_datum():
    rows = np.ones((10, 2))
    rows[6] = -1e308
    wild = RJLogistic(rows)
    with pytest.raises(ChainStopped, match="of datum 6") as caught:
        run(np.random.default_rng(1), wild, ExactTest(), wild.start([0], [10.0]), 5)
    assert caught.value.step == 0 and caught.value.draws.accepted.size == 0


def test_bad_input_is_refused(model, refuses):
    x, y = np.ones((4, 2)), [0, 1, 0, 1]
    refuses(lambda: RJLogistic.from_data(x, [0, 1, 2, 1]), "y[2]")
    refuses(lambda: RJLogistic.from_data(x, y, rate=0.0), "rate")
    refuses(lambda: RJLogistic.from_data(x, y, sd_birth=-1.0), "sd_birth")
    refuses(lambda: RJLogistic.from_data(x, y, p_birth=0.5, p_death=0.5), "p_birth + p_death")
    refuses(lambda: model.start([]), "active")
    refuses(lambda: model.start([3]), "active", "2")
    refuses(lambda: model.start([1, 1]), "active")
    refuses(lambda: model.start([1], [0.1, 0.2]), "beta", "(1,)")
    refuses(lambda: model.start([1], [0.01]), "floor", "0.01")
    refuses(lambda: model.checked(RJState(np.zeros(D, np.bool_), np.ones(D))), "active")
    refuses(lambda: model.checked(RJState(np.ones(2, np.bool_), np.ones(2))), "3")
    test = SequentialTest.from_design(Design(100, 50, 0.1))
    refuses(lambda: run(np.random.default_rng(1), model, test, model.start([0]), 5), "100", "200")


def test_an_error_takes_the_chain_back_to_the_begin_of_the_block():
    class Exhausted(ExactTest):
        left = 40

        def decide(self, rng, comparison):
            Exhausted.left -= 1
            if not Exhausted.left:
                raise MemoryError("no room")
            return super().decide(rng, comparison)

    x = np.random.default_rng(0).standard_normal((300, 3))
    model = RJLogistic.from_data(x, x[:, 0] > 0)
    chains = [
        JumpChain(model, test, np.array([1.0, 0.0, 0.0]), np.random.default_rng(1))
        for test in (Exhausted(), ExactTest())
    ]
    chains[0].advance(30)
    with pytest.raises(MemoryError, match="no room"):
        chains[0].advance(30)
    assert chains[0].steps == 30
    np.testing.assert_array_equal(chains[0].advance(30).theta, chains[1].advance(60).theta[30:])
