"""Gibbs sampling of K-valued variables: exact conditionals, the binary case, predictions and bounds under a test."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from designer import BadInput, Design
from samplers.chains.draws import ChainStopped
from samplers.chains.gibbs_values import ValueGibbsChain, frequencies, run_values, update_value, value_error
from samplers.decide import BarkerTest, ExactTest, SequentialTest
from samplers.models.mrf import DenseMRF
from samplers.models.mrf_values import ValuedMRF

MRF = ValuedMRF.random(np.random.default_rng(1), dimension=40, n_values=3, sd=0.03)
STATE = np.random.default_rng(2).integers(0, 3, 40)


def log_weight(mrf: ValuedMRF, x) -> float:
    """log P(x) + constant, literally."""
    triples = sorted(combinations(range(mrf.dimension), 3), key=lambda t: t[::-1])
    return sum(float(mrf.log_psi[row, x[i], x[j], x[k]]) for row, (i, j, k) in enumerate(triples))


def test_terms_and_scores_are_the_fields():
    small = ValuedMRF.random(np.random.default_rng(3), dimension=6, n_values=3, sd=0.7)
    x = np.array([0, 2, 1, 1, 0, 2])
    for site in range(6):
        scores, weights = small.scores(x, site), []
        for value in range(3):
            y = x.copy()
            y[site] = value
            weights.append(log_weight(small, y))
        assert scores - scores[0] == pytest.approx(np.array(weights) - weights[0])
        assert small.terms(x, site, 2, 1, np.arange(10)).sum() == pytest.approx(weights[2] - weights[1])


def test_two_values_are_the_binary_field():
    rng = np.random.default_rng(4)
    table = 0.1 * rng.standard_normal((math.comb(12, 3), 8))
    binary, valued = DenseMRF(table), ValuedMRF(table.reshape(-1, 2, 2, 2))
    x = rng.integers(0, 2, 12)
    for site in range(12):
        assert valued.probabilities(x, site)[1] == pytest.approx(binary.probability(x.astype(np.int8), site))


def test_exact_updates_have_the_exact_conditional():
    seen = frequencies(np.random.default_rng(5), MRF, ExactTest(), STATE, 7, repeats=4000)
    assert np.all(np.abs(seen.probability - MRF.probabilities(STATE, 7)) < 4.0 * seen.se)
    assert seen.usage == 1.0


def test_sequential_updates_err_as_predicted():
    """Assigned probabilities and data use against the calculator; the total variation distance against its bound."""
    design = Design(MRF.n_data, 100, 0.05)
    want = value_error(design, MRF, STATE, 7)
    seen = frequencies(np.random.default_rng(6), MRF, SequentialTest.from_design(design), STATE, 7, repeats=3000)
    assert want.probability == pytest.approx(MRF.probabilities(STATE, 7))
    assert np.all(np.abs(seen.probability - want.assigned) < 4.0 * seen.se + 0.01)
    assert abs(seen.usage - want.usage) < 0.03
    distance = 0.5 * np.abs(seen.probability - want.probability).sum()
    assert distance <= want.bound + 2.0 * float(seen.se.sum())
    assert 0.5 * np.abs(want.assigned - want.probability).sum() <= want.bound


def test_wrong_winners_are_no_more_than_the_bound():
    """With the same Gumbel variables the exact update says what the sequential one should have assigned."""
    design = Design(MRF.n_data, 100, 0.05)
    test, wrong, repeats = SequentialTest.from_design(design), 0, 1500
    for seed in range(repeats):
        exact = update_value(np.random.default_rng(seed), MRF, ExactTest(), STATE, 7)
        wrong += exact.value != update_value(np.random.default_rng(seed), MRF, test, STATE, 7).value
    bound = value_error(design, MRF, STATE, 7).bound
    assert 0.3 * bound < wrong / repeats < bound + 4.0 * math.sqrt(bound / repeats)


def test_all_the_data_make_no_error():
    found = value_error(Design(MRF.n_data, MRF.n_data, 0.05), MRF, STATE, 3)
    assert found.bound == 0.0 and found.usage == pytest.approx(1.0)
    assert found.assigned == pytest.approx(found.probability)


def test_chains_have_the_joint_distribution():
    """Against enumeration: four variables of three values."""
    small = ValuedMRF.random(np.random.default_rng(7), dimension=4, n_values=3, sd=0.6)
    states = list(product(range(3), repeat=4))
    weights = np.exp([log_weight(small, x) for x in states])
    draws = run_values(np.random.default_rng(8), small, ExactTest(), start=np.zeros(4), sweeps=6000)
    assert np.all(draws.n_used == 4 * 2 * 3)
    for site, value in product(range(4), range(3)):
        want = weights[[x[site] == value for x in states]].sum() / weights.sum()
        batches = (draws.x[:, site] == value).reshape(30, -1).mean(axis=1)
        assert abs(batches.mean() - want) < 4.0 * batches.std(ddof=1) / math.sqrt(30)


def test_equal_terms_are_decided_at_the_first_look():
    class Plain:
        dimension, n_values, n_data = 5, 3, 100

        def terms(self, x, site, value, than, indices):
            return np.full(indices.size, 0.01 * (value - than))

    found = value_error(Design(100, 20, 0.05), Plain(), np.zeros(5), 0)
    assert found.bound == pytest.approx(0.0, abs=1e-12) and found.usage == pytest.approx(0.2)
    assert found.probability == pytest.approx(np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ValuedMRF(np.zeros((4, 2, 2, 3))), "log_psi has shape"),
        (lambda: ValuedMRF(np.zeros((5, 2, 2, 2))), "log_psi has shape"),
        (lambda: ValuedMRF(np.full((4, 2, 2, 2), np.nan)), "must be finite"),
        (lambda: ValuedMRF.random(np.random.default_rng(0), 500, 10), "more than"),
        (lambda: frequencies(np.random.default_rng(0), MRF, ExactTest(), np.full(40, 3), 0), "state: must be 40"),
        (lambda: frequencies(np.random.default_rng(0), MRF, ExactTest(), STATE, 40), "site = 40"),
        (
            lambda: run_values(
                np.random.default_rng(0),
                MRF,
                SequentialTest.from_design(Design(99, 9, 0.1)),
                start=STATE,
                sweeps=1,
            ),
            "n_data = 99",
        ),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_values_that_are_next_to_impossible_are_no_trouble():
    """e^S of the first value is below the smallest number when the last one's is 1."""
    plain, liked = ValuedMRF.random(np.random.default_rng(1), dimension=60, n_values=3), np.array([-1.0, -0.9, 1.0])
    mrf = ValuedMRF(plain.log_psi + liked[:, None, None] + liked[:, None] + liked)
    x = np.zeros(60, dtype=np.int64)
    assert np.ptp(mrf.scores(x, 7)) > 800.0
    found = value_error(Design(mrf.n_data, 200, 0.01), mrf, x, 7)
    np.testing.assert_allclose(found.probability, mrf.probabilities(x, 7), atol=1e-12)
    np.testing.assert_allclose(found.assigned, found.probability, atol=1e-9)
    assert 0.0 <= found.bound < 1e-9


def test_places_and_spreads_that_are_not_there_are_refused():
    mrf = ValuedMRF.random(np.random.default_rng(1), dimension=10, n_values=3)
    for site in (-1, 10):
        with pytest.raises(BadInput, match=f"site = {site}"):
            value_error(Design(mrf.n_data, 10, 0.1), mrf, np.zeros(10), site)
    for field_sd in (-1.0, float("nan")):
        with pytest.raises(BadInput, match="field_sd"):
            ValuedMRF.random(np.random.default_rng(1), dimension=10, field_sd=field_sd)


class Broken:
    """A field one of whose terms is not a number once a variable has its last value."""

    def __init__(self, field):
        self.field, self.dimension, self.n_values, self.n_data = field, field.dimension, field.n_values, field.n_data

    def terms(self, x, site, value, than, indices):
        values = self.field.terms(x, site, value, than, indices)
        bad = x[0] == self.n_values - 1 and site == 5
        return np.where(indices == 3, np.nan, values) if bad else values


def test_a_term_that_is_not_finite_stops_the_chain_and_names_the_datum():
    field = Broken(ValuedMRF.random(np.random.default_rng(1), dimension=8, n_values=3))
    chain = ValueGibbsChain(field, ExactTest(), np.zeros(8), np.random.default_rng(2))
    with pytest.raises(ChainStopped, match="datum 3") as stopped:
        chain.advance(1000)
    assert stopped.value.draws.theta.shape == (chain.steps, 8)
    assert 0 < chain.steps < 1000


def test_a_test_without_a_threshold_is_refused():
    field, x = ValuedMRF.random(np.random.default_rng(1), dimension=8, n_values=3), np.zeros(8)
    with pytest.raises(BadInput, match="needs the exact or the sequential test"):
        ValueGibbsChain(field, BarkerTest(10), x, np.random.default_rng(2))
    chain = ValueGibbsChain(field, ExactTest(), x, np.random.default_rng(2))
    with pytest.raises(BadInput, match="needs the exact or the sequential test"):
        chain.use_test(BarkerTest(10))
