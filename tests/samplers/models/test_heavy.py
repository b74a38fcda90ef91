"""Heavy rows: the same posterior, the same exact decisions, less for the test to miss; and how many are chosen."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer import Design, TrialRun
from designer.core.errors import BadInput
from samplers.adapt.recentre import Recentring
from samplers.chains.chain import Chain, compare
from samplers.chains.slice_chain import Slice, SliceChain
from samplers.decide import ExactMinibatchTest, ExactTest, SequentialTest
from samplers.models.control import Controlled, find_mode
from samplers.models.control import heavy as heavy_module
from samplers.models.control.heavy import RowSplit, heaviest, rest_moments
from samplers.models.control.term_bounds import ball_radius, factor_of, term_weights
from samplers.models.logistic import Logistic
from samplers.models.moments import moments
from samplers.models.tempered import tempered
from samplers.proposals import ProxyStep, RandomWalk
from samplers.study.audit import audit_chain
from samplers.study.observe import observe
from tests.cases import CASES

N, HEAVY = 1500, np.array([0, 3, 700, 701, 1200, 1490, 1495, 1499])


@st.composite
def splits(draw):
    n = draw(st.integers(3, 40))
    return n, sorted(draw(st.sets(st.integers(0, n - 1), max_size=n - 2)))


def logistic(mapped: bool = False) -> Logistic:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((N, 3))
    y = rng.random(N) < 1.0 / (1.0 + np.exp(-x @ np.array([0.5, -1.0, 0.2])))
    return (Logistic.mapped if mapped else Logistic.from_data)(x, y, prior_precision=2.0)


def log_posterior(model, theta):
    return model.log_prior(theta) + float(model.log_likelihood(theta, slice(None)).sum())


@given(splits())
def test_every_row_is_heavy_or_a_datum(case):
    n, heavy = case
    split = RowSplit(n, np.array(heavy, dtype=np.int64))
    rows = np.asarray(split.rows_of(np.arange(split.n_rest)))
    assert sorted([*rows, *heavy]) == list(range(n))
    stay = ~np.isin(np.arange(split.n_rest), heavy)
    assert np.array_equal(rows[stay], np.flatnonzero(stay))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("mapped", "stored"), [(False, True), (False, False), (True, False)])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_heavy_rows_change_the_split_and_not_the_posterior(order, mapped, stored, temperature):
    model = tempered(logistic(mapped), temperature)
    centre = find_mode(model)
    without = Controlled.around(model, centre, order, stored)
    having = Controlled.around(model, centre, order, stored, heavy=HEAVY)
    assert (having.n_data, having.n_heavy, having.n_rows) == (N - HEAVY.size, HEAVY.size, N)
    theta, new = centre + 0.3 * np.random.default_rng(3).standard_normal((2, 3))
    change = log_posterior(without, new) - log_posterior(without, theta)
    assert log_posterior(having, new) - log_posterior(having, theta) == pytest.approx(change, abs=1e-9)
    rest = np.setdiff1d(np.arange(N), HEAVY)
    terms = np.sort(having.terms(theta, new, np.arange(having.n_data)))
    assert terms == pytest.approx(np.sort(without.terms(theta, new, rest)), abs=1e-12)
    read = float(np.sum(model.terms(theta, new, HEAVY)))  # the whole lᵢ of heavy rows are in the prior
    proxies = float(np.sum(model.terms(theta, new, rest) - without.terms(theta, new, rest)))
    prior = model.log_prior(new) - model.log_prior(theta)
    assert having.log_prior(new) - having.log_prior(theta) == pytest.approx(prior + proxies + read, abs=1e-9)
    if order == 2:
        assert having.posterior_precision() == pytest.approx(without.posterior_precision(), rel=1e-9, abs=1e-9)
    assert having.posterior_gradient() == pytest.approx(without.posterior_gradient(), abs=1e-8)


def test_a_tempered_controlled_model_is_the_controlled_tempered_one():
    model = logistic()
    centre = find_mode(model)
    one = tempered(Controlled.around(model, centre, heavy=HEAVY), 4.0)
    other = Controlled.around(tempered(model, 4.0), centre, heavy=HEAVY)
    theta, every = centre + 0.2, np.arange(other.n_data)
    assert one.log_prior(theta) == pytest.approx(other.log_prior(theta), rel=1e-12)
    assert one.terms(centre, theta, every) == pytest.approx(other.terms(centre, theta, every), abs=1e-14)


@pytest.mark.parametrize("fuse", [True, False])
def test_exact_decisions_do_not_depend_on_heavy_rows(fuse):
    model = logistic()
    centre, draws = find_mode(model), []
    for heavy in (0, 30):
        controlled = Controlled.around(model, centre, heavy=heavy)
        parts = controlled, ProxyStep.of(controlled, 0.9), ExactTest(), centre, np.random.default_rng(1)
        draws.append(Chain(*parts, fuse=fuse).advance(150))
    np.testing.assert_array_equal(draws[0].accepted, draws[1].accepted)
    np.testing.assert_allclose(draws[0].theta, draws[1].theta, rtol=1e-9)
    assert draws[1].n_used.tolist() == [N] * 150


def test_the_heavy_rows_stay_when_the_centre_moves():
    model = logistic(mapped=True)
    controlled = Controlled.around(model, np.zeros(3), heavy=HEAVY)
    recentring, proposal = Recentring(controlled), ProxyStep.of(controlled, 0.5)
    chain = Chain(controlled, proposal, ExactTest(), np.zeros(3), np.random.default_rng(2))
    for _ in range(8):
        recentring.learn(chain.advance(128))
        chain.use(recentring.follow(chain.proposal), recentring.model)
    assert recentring.moves > 0
    assert np.array_equal(recentring.model.heavy, HEAVY)
    theta, centre = chain.theta, recentring.model.centre
    change = log_posterior(controlled, theta) - log_posterior(controlled, centre)
    found = log_posterior(recentring.model, theta) - log_posterior(recentring.model, centre)
    assert found == pytest.approx(change, abs=1e-9)


# --- what is read, and what is counted --------------------------------------------------------------------------------


@pytest.mark.parametrize("fuse", [True, False])
def test_every_step_counts_its_heavy_rows(fuse):
    controlled = Controlled.around(logistic(), np.zeros(3), heavy=HEAVY)
    test = SequentialTest.from_design(Design(controlled.n_data, 50, 0.5))
    parts = controlled, RandomWalk.isotropic(0.02, 3), test, np.zeros(3), np.random.default_rng(1)
    chain = Chain(*parts, fuse=fuse)
    assert (chain.n_always, chain.n_data, chain.data_per_step) == (HEAVY.size, N - HEAVY.size, N)
    assert set(chain.advance(40).n_used) == {50 + HEAVY.size}


def test_slice_updates_read_them_in_every_membership_test():
    draws = []
    for heavy in ((), HEAVY):
        model = Controlled.around(logistic(), np.zeros(3), heavy=np.array(heavy, dtype=np.int64))
        draws.append(
            SliceChain(model, Slice.isotropic(0.3, 3), ExactTest(), np.zeros(3), np.random.default_rng(1)).advance(30)
        )
    np.testing.assert_allclose(draws[0].theta, draws[1].theta, rtol=1e-9)
    assert np.array_equal(draws[0].n_used, draws[1].n_used)  # all N rows in every test, in both


def test_a_trial_run_and_an_audit_are_of_the_rest():
    model = logistic()
    controlled = Controlled.around(model, find_mode(model), heavy=40)
    design = Design(controlled.n_data, 50, 0.2)
    parts = controlled, ProxyStep.of(controlled), SequentialTest.from_design(design), controlled.centre
    seen = observe(Chain(*parts, np.random.default_rng(1)), steps=200, every=2)
    assert {pair.n_used % 50 for pair in seen.pairs} <= {0, controlled.n_data % 50}
    trial = seen.trial(controlled.n_data)
    assert trial.n_data == N - 40
    chain = Chain(*parts, np.random.default_rng(2))
    found = audit_chain(chain, design, tolerance=0.5, steps=60, every=2)
    assert found.usage.value == pytest.approx(found.usage.predicted, rel=0.4)  # heavy rows would add 40 / 50 to it
    exact = [controlled.n_data * pair.mu - pair.log_ratio for pair in seen.pairs]
    assert trial.log_acceptance == pytest.approx(exact)


def test_a_test_for_all_rows_is_refused_with_the_reason(refuses):
    controlled = Controlled.around(logistic(), np.zeros(3), heavy=HEAVY)
    parts = controlled, RandomWalk.isotropic(0.1, 3)
    all_rows = SequentialTest.from_design(Design(N, 50, 0.1))
    rng = np.random.default_rng(1)
    refuses(lambda: Chain(*parts, all_rows, np.zeros(3), rng), "n_data = 1,500", "1,492", "8 heavy rows", "repeat")


# --- how many ---------------------------------------------------------------------------------------------------------


def ranked(model, centre):
    factor = factor_of(Controlled.around(model, centre).posterior_precision())
    return factor, heaviest(model, centre, 2, factor, model.n_data // heavy_module.SHARE).rows


@pytest.mark.parametrize("name", ["plain", "rare-levels-wide", "census"])
def test_the_moments_of_the_rest_are_those_of_each_rest(name):
    """One pass for all numbers of heavy rows against one model for each."""
    data = CASES[name].data()
    model = Logistic.from_data(*data)
    centre = find_mode(model)
    factor, rows = ranked(model, centre)
    all_at_once = rest_moments(model, centre, 2, factor, rows)
    away = factor @ np.random.default_rng(heavy_module.SEED).standard_normal((centre.size, heavy_module.PAIRS))
    for k in (0, all_at_once.heavy.size // 2, all_at_once.heavy.size - 1):
        rest = Controlled.around(model, centre, heavy=np.sort(rows[: all_at_once.heavy[k]]))
        pairs = [
            moments(compare(rest, centre + away[:, j - 1], centre + away[:, j])) for j in range(heavy_module.PAIRS)
        ]
        mu, sigma, skew = np.array(pairs).T
        assert all_at_once.kappa[k] == pytest.approx(TrialRun(rest.n_data, mu, sigma).kappa.mean(), rel=1e-6)
        assert all_at_once.skew[k] == pytest.approx(np.abs(skew).max(), rel=1e-4)


@pytest.mark.parametrize("name", ["rare-levels", "rare-levels-wide", "rare-dummies", "near-separation", "census"])
def test_auto_tames_rare_levels_on_other_pairs(name):
    """κ and skewness of fresh pairs fall as the sentence says, at least fivefold."""
    model = Logistic.from_data(*CASES[name].data())
    centre = find_mode(model)
    having, without = (Controlled.around(model, centre, heavy=wish) for wish in ("auto", 0))
    assert 0 < having.n_heavy <= model.n_data // heavy_module.SHARE
    assert f"always reads the {having.n_heavy:,} heaviest of {model.n_data:,} rows: κ falls" in having.split.sentence
    factor, rng = np.linalg.cholesky(np.linalg.inv(without.posterior_precision())), np.random.default_rng(77)
    kappa, skew = np.zeros(2), np.zeros(2)
    for _ in range(20):
        theta, new = centre + rng.standard_normal((2, centre.size)) @ factor.T
        for k, one in enumerate((without, having)):
            mu, sigma, third = moments(compare(one, theta, new))
            kappa[k] += TrialRun(one.n_data, [mu], [sigma]).kappa[0] / 20
            skew[k] = max(skew[k], abs(third))
    assert kappa[1] < 0.2 * kappa[0]
    assert skew[1] < 0.5 * skew[0]


@pytest.mark.parametrize("rows", [2_000, 20_000])
def test_auto_leaves_ordinary_data_alone(rows):
    data = CASES["plain"].data(rows)
    model = Logistic.from_data(*data)
    controlled = Controlled.around(model, find_mode(model), heavy="auto")
    assert (controlled.n_heavy, controlled.split.sentence, controlled.n_data) == (0, "", rows)


@pytest.mark.parametrize("name", ["rare-dummies", "rare-levels-wide"])
def test_a_small_batch_then_finds_the_posterior(name):
    """One look at 50 rows: without heavy rows the means are .27 and .36 sd off (seen), with them right."""
    model, reference = Logistic.from_data(*CASES[name].data()), CASES[name].reference()
    centre, off = find_mode(model), []
    for wish in (0, "auto"):
        controlled = Controlled.around(model, centre, heavy=wish)
        test = SequentialTest.from_design(Design(controlled.n_data, 50, 0.5))
        chain = Chain(controlled, ProxyStep.of(controlled, 0.5), test, centre, np.random.default_rng(1))
        off.append(np.abs((chain.advance(60_000).theta.mean(axis=0) - reference.mean) / reference.sd).max())
    assert off[0] > 0.2
    assert off[1] < 0.12


def test_the_choice_is_a_matter_of_data_and_prior_alone():
    x, y, precision = CASES["rare-levels"].data()
    folded, mapped = Logistic.from_data(x, y, precision), Logistic.mapped(x, y, precision)
    chosen = [Controlled.around(one, find_mode(one), heavy="auto").heavy for one in (folded, folded, mapped)]
    assert np.array_equal(chosen[0], chosen[1]) and np.array_equal(chosen[0], chosen[2])


def test_the_heaviest_rows_are_those_of_the_largest_bounds(monkeypatch):
    model = logistic()
    centre = find_mode(model)
    factor = factor_of(Controlled.around(model, centre).posterior_precision())
    weights = term_weights(model, centre, factor, ball_radius(3))
    heavy = Controlled.around(model, centre, heavy=25).heavy
    assert np.all(np.diff(heavy) > 0) and heavy.size == 25
    assert weights[heavy].min() > 0.98 * np.delete(weights, heavy).max()  # ties up to a few digits
    whole = heaviest(model, centre, 2, factor, 400).rows
    monkeypatch.setattr("samplers.models.arrays.BLOCK", 97)
    assert heaviest(model, centre, 2, factor, 400).rows.tolist() == whole.tolist()
    equal = Logistic.from_data(np.ones((100, 1)), np.arange(100) % 3 == 0, 1.0)
    assert Controlled.around(equal, find_mode(equal), heavy=7).heavy.tolist() == list(range(7))


def test_bad_wishes(refuses):
    class Plain:
        def __init__(self, model):
            self.__dict__.update({name: getattr(model, name) for name in ("n_data", "rows", "log_prior", "terms")})
            for name in ("value", "slope", "curvature", "prior_gradient", "prior_curvature"):
                setattr(self, name, getattr(model, name))

    model, centre = logistic(), np.zeros(3)
    for wish, *words in (
        ("many", "heavy = 'many'", "'auto'"),
        (N - 1, "heavy = 1499", "1,498"),
        (-1, "heavy = -1"),
        (True, "heavy", "number of rows"),
        ([[1, 2]], "heavy", "numbers of the rows"),
        ([0.5], "heavy", "numbers of the rows"),
        ([3, N], "row 1500", "1,499"),
        ([-1, 3], "row -1"),
        (np.arange(N - 1), "1,499 of 1,500 rows"),
    ):
        refuses(lambda wish=wish: Controlled.around(model, centre, heavy=wish), *words)
    refuses(lambda: Controlled.around(Plain(model), centre, heavy="bounds"), "third_bound", "name the rows")
    assert Controlled.around(Plain(model), centre, heavy=5).n_heavy == 5  # ranked by residuals
    assert Controlled.around(Plain(model), centre, heavy=[5]).n_heavy == 1
    with pytest.raises(BadInput, match="already"):
        Controlled.around(model, centre, heavy=5).with_heavy(3)


def test_the_exact_minibatch_test_samples_the_rest():
    model = logistic()
    controlled = Controlled.around(model, find_mode(model), heavy=HEAVY)
    parts = controlled, ProxyStep.of(controlled, 0.9), ExactMinibatchTest(), controlled.centre
    fast, slow = (Chain(*parts, np.random.default_rng(1), fuse=fuse).advance(150) for fuse in (True, False))
    np.testing.assert_array_equal(fast.accepted, slow.accepted)
    np.testing.assert_array_equal(fast.n_used, slow.n_used)
    assert fast.n_used.min() >= HEAVY.size


def test_heavy_rows_for_the_exact_mini_batch_test_follow_its_cost():
    """Rows drawn, as the sentence says, and none heavy where reading them costs more than it saves."""
    model = Logistic.from_data(*CASES["rare-dummies"].data())
    centre = find_mode(model)
    chosen = {wish: Controlled.around(model, centre, heavy=wish) for wish in ("bounds", 0)}
    assert f"always reads the {chosen['bounds'].n_heavy:,} heaviest" in chosen["bounds"].split.sentence
    drawn = {}
    for wish, one in chosen.items():
        chain = Chain(one, ProxyStep.of(one), ExactMinibatchTest(), centre, np.random.default_rng(1))
        drawn[wish] = chain.advance(4_000).n_used.mean() - one.n_heavy
    sentence = chosen["bounds"].split.sentence
    for wish, pattern in (("bounds", r"about ([\d,]+) of"), (0, r"instead of ([\d,]+)")):
        said = float(re.search(pattern, sentence)[1].replace(",", ""))
        assert drawn[wish] == pytest.approx(said, rel=0.5)
    assert chosen["bounds"].n_heavy + 4.0 * drawn["bounds"] < 4.0 * drawn[0]
    plain = Logistic.from_data(*CASES["plain"].data())
    assert Controlled.around(plain, find_mode(plain), heavy="bounds").n_heavy == 0
