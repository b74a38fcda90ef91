"""The exact mini-batch test: its table, its balance by enumeration, broken bounds, refusals."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from samplers.decide import AliasTable, BrokenBound, Comparison, Decision, ExactMinibatchTest, NonFiniteTerm, TermBounds
from samplers.decide._minibatch_kernels import ALIAS, CUT

RULES = {"metropolis": lambda ratio: min(1.0, ratio), "barker": lambda ratio: ratio / (1.0 + ratio)}


# --- the alias table --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights",
    [
        [1.0],
        [0.0, 0.0, 5.0],
        [1.0, 1.0, 1.0, 1.0],
        [1e-300, 1.0, 1e300],
        np.random.default_rng(1).gamma(0.1, 1.0, 1000),
        np.random.default_rng(2).gamma(0.02, 1.0, 20_000),  # many orders of magnitude
        np.where(np.arange(500) % 7 == 0, 0.0, 1.0),
    ],
)
def test_the_table_gives_every_row_its_share(weights):
    """Added up over the places: cut of its own, and what others leave to it."""
    weights = np.asarray(weights, dtype=float)
    table = AliasTable.of(weights)
    cut, alias = table.table[:, CUT], table.table[:, ALIAS].astype(int)
    assert np.all((cut >= 0.0) & (cut <= 1.0))
    share = (cut + np.bincount(alias, 1.0 - cut, weights.size)) / weights.size
    assert share == pytest.approx(weights / weights.sum(), rel=1e-9, abs=1e-15)
    assert np.all(share[weights == 0.0] == 0.0)
    assert table.total == pytest.approx(weights.sum()) and table.weights == pytest.approx(weights)


def test_drawn_rows_have_their_weights_and_frequencies():
    weights = np.array([3.0, 0.0, 1.0, 6.0])
    drawn = AliasTable.of(weights).draw(np.random.default_rng(3), 40_000)
    assert drawn.weights == pytest.approx(weights[drawn.indices])
    expected, found = weights / 10.0, np.bincount(drawn.indices, minlength=4) / 40_000
    assert np.all(np.abs(found - expected) <= 4.0 * np.sqrt(expected * (1.0 - expected) / 40_000))
    corners = np.corrcoef(drawn.keeps, drawn.indices)[0, 1]
    assert abs(corners) < 4.0 / math.sqrt(40_000)  # the uniform number tells nothing about the row


def test_bad_weights_are_refused(refuses):
    refuses(lambda: AliasTable.of([1.0, -0.5]), "datum 1", "-0.5")
    refuses(lambda: AliasTable.of([1.0, math.nan]), "datum 1", "nan")
    refuses(lambda: AliasTable.of([math.inf, 1.0]), "datum 0", "inf")
    refuses(lambda: AliasTable.of([[1.0]]), "shape (1, 1)")
    refuses(lambda: AliasTable.of([]), "shape (0,)")


# --- detailed balance by enumeration ----------------------------------------------------------------------------------

TERMS = np.array([0.9, -0.4, 0.25])  # from state 0 to state 1; the target's ratio is e^sum
WEIGHTS, REACH = np.array([1.0, 0.5, 0.5]), 1.0
PRIOR = -0.3  # log prior(1) - log prior(0)


def acceptance(terms: np.ndarray, log_ratio: float, chi: float, rule: str, most: int = 40) -> float:
    """P(accept) by the definition: a Poisson count for every datum, all combinations added up."""
    extra = chi * (WEIGHTS.sum() * REACH) ** 2 * WEIGHTS / WEIGHTS.sum()
    down, up = (WEIGHTS * REACH - terms) / 2.0 + extra, (WEIGHTS * REACH + terms) / 2.0 + extra
    counts = np.arange(most)
    logs = np.array([math.lgamma(count + 1.0) for count in counts])
    laws = [np.exp(counts * math.log(rate) - rate - logs) for rate in down]
    probability = 0.0
    for i, p in enumerate(laws[0]):
        for j, q in enumerate(laws[1]):
            ratio = i * math.log(up[0] / down[0]) + j * math.log(up[1] / down[1]) - log_ratio
            ratios = np.exp(ratio + counts * math.log(up[2] / down[2]))
            probability += p * q * float(laws[2] @ [RULES[rule](value) for value in ratios])
    return probability


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("chi", [0.0, 0.7])
def test_two_states_are_in_balance(rule, chi):
    """π(0) P(0 -> 1) = π(1) P(1 -> 0), from the sums over all counts; and the test accepts as often as they say."""
    there, back = acceptance(TERMS, -PRIOR, chi, rule), acceptance(-TERMS, PRIOR, chi, rule)
    assert there == pytest.approx(math.exp(TERMS.sum() + PRIOR) * back, rel=1e-10)
    test, bounds = ExactMinibatchTest(chi, most=100), TermBounds(AliasTable.of(WEIGHTS), REACH)
    rng, repeats = np.random.default_rng(5), 20_000
    for terms, log_ratio, expected in ((TERMS, -PRIOR, there), (-TERMS, PRIOR, back)):
        question = Comparison(3, terms.take, log_ratio, rule, bounds=bounds)
        answers = [test.decide(rng, question) for _ in range(repeats)]
        share = np.mean([answer.accept for answer in answers])
        assert abs(share - expected) < 4.0 * math.sqrt(expected * (1.0 - expected) / repeats)
        rows = test.mean_rows(bounds)
        assert rows == pytest.approx(2.0 + 4.0 * chi)
        assert abs(np.mean([answer.n_used for answer in answers]) - rows) < 4.0 * math.sqrt(rows / repeats)


def test_a_limit_on_the_rows_drawn_would_not_be_in_balance():
    """Why all data are read by C M and never by how many rows came up: that would favour one direction."""

    def limited(terms: np.ndarray, log_ratio: float) -> float:
        down, up = (WEIGHTS * REACH - terms) / 2.0, (WEIGHTS * REACH + terms) / 2.0
        none = math.exp(-down.sum())  # at most 0 rows kept: decide by them; otherwise by all data
        exact = min(1.0, math.exp(terms.sum() - log_ratio))
        assert up.sum() > 0.0
        return none * min(1.0, math.exp(-log_ratio)) + (1.0 - none) * exact

    there, back = limited(TERMS, -PRIOR), limited(-TERMS, PRIOR)
    assert abs(there / (math.exp(TERMS.sum() + PRIOR) * back) - 1.0) > 0.05


# --- when all data decide ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reach", "most"), [(math.inf, None), (5.0, None), (1.0, 1.9)])
def test_all_data_decide_where_there_is_no_bound_or_too_many_rows(reach, most):
    """With the same u as the exact test: rows on average above `most`, by default N = 3."""
    test, bounds = ExactMinibatchTest(most=most), TermBounds(AliasTable.of(WEIGHTS), reach)
    for seed in range(50):
        u = 1.0 - np.random.default_rng(seed).random()
        decision = test.decide(np.random.default_rng(seed), Comparison(3, TERMS.take, 0.4, bounds=bounds))
        assert decision == Decision(bool(TERMS.sum() - 0.4 > math.log(u)), 3, 1)


def test_terms_that_are_all_zero_draw_nothing():
    bounds = TermBounds(AliasTable.of(np.zeros(3)), 1e9)
    u = 1.0 - np.random.default_rng(1).random()
    question = Comparison(3, TERMS.take, 0.4, bounds=bounds)
    decision = ExactMinibatchTest(most=0).decide(np.random.default_rng(1), question)
    assert decision == Decision(math.log(u) < -0.4, 0, 1)


def test_many_blocks_of_rows(monkeypatch):
    """What is decided does not depend on how many rows are drawn at a time."""
    rng = np.random.default_rng(6)
    terms = rng.normal(0.0, 0.01, 500)
    question = Comparison(500, terms.take, bounds=TermBounds(AliasTable.of(np.abs(terms) * 3.0), 50.0))
    test = ExactMinibatchTest(most=1e9)
    whole = [test.decide(np.random.default_rng(seed), question) for seed in range(30)]
    monkeypatch.setattr("samplers.decide.exact_minibatch.BLOCK", 7)
    assert [test.decide(np.random.default_rng(seed), question) for seed in range(30)] == whole
    assert np.mean([decision.n_used for decision in whole]) > 100


# --- wrong bounds, wrong input ----------------------------------------------------------------------------------------


def ask_often(question: Comparison) -> list[Decision]:
    return [ExactMinibatchTest().decide(np.random.default_rng(seed), question) for seed in range(40)]


def test_a_broken_bound_is_named():
    bounds = TermBounds(AliasTable.of(0.5 * np.abs(TERMS)), 1.0)
    with pytest.raises(BrokenBound, match="exceeds its bound") as caught:
        ask_often(Comparison(3, TERMS.take, bounds=bounds))
    assert TERMS[caught.value.index] == caught.value.value
    assert caught.value.bound == pytest.approx(0.5 * abs(caught.value.value))
    back = pickle.loads(pickle.dumps(caught.value))
    assert (back.index, str(back)) == (caught.value.index, str(caught.value))


@pytest.mark.parametrize(("excess", "broken"), [(1e-13, False), (1e-6, True)])
def test_an_excess_of_rounding_is_clipped(excess, broken):
    """All terms at their bounds: φ = 0 or φ' = 0, up to rounding."""
    terms = np.array([1.0, -1.0]) * (1.0 + excess)
    question = Comparison(2, terms.take, bounds=TermBounds(AliasTable.of([1.0, 1.0]), 1.0))
    if broken:
        with pytest.raises(BrokenBound):
            ask_often(question)
    else:
        assert 0 < sum(decision.accept for decision in ask_often(question)) < 40


def test_terms_that_are_not_finite_are_named():
    bounds = TermBounds(AliasTable.of([1.0, 1.0]), 1.0)
    with pytest.raises(NonFiniteTerm, match="datum 1"):
        ask_often(Comparison(2, np.array([0.0, math.nan]).take, bounds=bounds))


def test_refusals(refuses):
    test, bounds = ExactMinibatchTest(), TermBounds(AliasTable.of([1.0, 1.0]), 1.0)

    def ask(**more):
        return test.decide(np.random.default_rng(1), Comparison(2, np.zeros(2).take, **more))

    refuses(ask, "exact mini-batch test needs bounds", "control variates")
    refuses(lambda: ask(bounds=lambda: None), "needs bounds")
    refuses(lambda: ask(bounds=bounds._replace(reach=math.nan)), "reach = nan")
    refuses(lambda: ask(bounds=bounds._replace(reach=-1.0)), "reach = -1")
    refuses(lambda: ask(bounds=TermBounds(AliasTable.of([1.0]), 1.0)), "of 1 data", "has 2")
    refuses(lambda: ask(bounds=bounds, log_ratio=math.nan), "log_ratio")
    refuses(lambda: ask(bounds=bounds, rule="hastings"), "rule")
    refuses(lambda: ExactMinibatchTest(chi=-1.0), "chi = -1")
    refuses(lambda: ExactMinibatchTest(most=-1.0), "most = -1")
    assert ask(bounds=bounds, log_ratio=math.inf) == (False, 0, 0)
    assert ask(bounds=bounds, log_ratio=-math.inf) == (True, 0, 0)


def test_n_used_is_the_number_of_terms_asked_for_and_decisions_depend_on_the_generator_alone():
    rng = np.random.default_rng(7)
    terms, asked = rng.normal(0.0, 0.05, 200), []
    bounds = TermBounds(AliasTable.of(np.abs(terms) + 0.01), 2.0)

    def recorded(indices: np.ndarray) -> np.ndarray:
        asked.append(indices.size)
        return terms[indices]

    def answers() -> list[Decision]:
        test = pickle.loads(pickle.dumps(ExactMinibatchTest()))
        return [
            test.decide(np.random.default_rng(seed), Comparison(200, recorded, bounds=bounds)) for seed in range(50)
        ]

    first = answers()
    assert sum(asked) == sum(decision.n_used for decision in first) > 0
    assert answers() == first
    assert 0 < sum(decision.accept for decision in first) < 50


def test_temperature_scales_the_bounds():
    question = Comparison(3, TERMS.take, bounds=TermBounds(AliasTable.of(WEIGHTS), 2.0, 1e-10)).at_temperature(4.0)
    assert (question.known_bounds().reach, question.known_bounds().rounding) == (0.5, 2.5e-11)
    assert Comparison(3, TERMS.take, bounds=lambda: None).at_temperature(4.0).known_bounds() is None
