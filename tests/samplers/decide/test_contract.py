"""What every acceptance test owes: exact decisions at the end, the same u, honest counts, one clear error."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from designer import Boundary, Design, Plan, Schedule
from samplers.decide import (
    BarkerTest,
    Comparison,
    ConcentrationTest,
    Decision,
    ExactTest,
    NonFiniteTerm,
    SequentialTest,
    draw_threshold,
    reading,
)
from samplers.decide.comparison import BLOCK, total

N = 240
NEVER = Plan(Schedule.equal(N, 50), Boundary.explicit([-np.inf] * 4, [np.inf] * 4))

# tests that cannot stop early on the populations below, and the rules they answer
THOROUGH = {
    "exact": ExactTest(),
    "sequential, bounds infinite": SequentialTest.from_plan(NEVER),
    "sequential, m = N": SequentialTest.from_design(Design(N, N, 0.05)),
    "sequential, k0 = J": SequentialTest.from_design(Design(N, 50, 0.4), first_batches=5),
    "concentration": ConcentrationTest(m=20, delta=1e-9),
    "concentration, replace": ConcentrationTest(m=20, delta=1e-9, replace=True),
    "barker": BarkerTest(m=70, sigma=0.3),
    "barker, S17's δ": BarkerTest(m=70, delta=0.1),
}
QUICK = {
    "sequential": SequentialTest.from_design(Design(N, 50, 0.2)),
    "concentration": ConcentrationTest(m=50),
    "concentration, replace": ConcentrationTest(m=50, replace=True),
    "barker": BarkerTest(m=50),
    "barker, skew": BarkerTest(m=50, skew_corrected=True),
    "barker, S17's δ": BarkerTest(m=50, delta=0.9),
}
EVERY = {**THOROUGH, **{f"quick {name}": test for name, test in QUICK.items()}}


class Recorder:
    """lᵢ of a small population, remembering what was asked for."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.asked = np.asarray(values, dtype=float), []

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        self.asked.append(indices.copy())
        return self.values[indices]

    @property
    def indices(self) -> np.ndarray:
        return np.concatenate(self.asked)


def rules_of(test: object) -> list[str]:
    return ["barker"] if isinstance(test, BarkerTest) else ["metropolis", "barker"]


def ask(test, seed, values, rule="metropolis", c=0.0, **more) -> Decision:
    return test.decide(np.random.default_rng(seed), Comparison(len(values), values.take, c, rule, **more))


def population(rng: np.random.Generator, a: float, kappa: float, n: int = N) -> np.ndarray:
    """lᵢ with log acceptance exactly A and noise κ."""
    x = rng.standard_normal(n)
    x = (x - x.mean()) / x.std()
    return a / n + kappa * math.sqrt(n - 1) / n * x


@pytest.mark.parametrize("name", THOROUGH)
def test_thorough_tests_decide_exactly_with_the_same_u(name):
    """Against the definition: sum l - c > log u or logit u, u being the generator's first number."""
    test, rng, accepted = THOROUGH[name], np.random.default_rng(1), []
    for rule in rules_of(test):
        for seed in range(60):
            a, c = rng.normal(-0.5, 1.0), rng.normal()
            values = population(rng, a, 4.0)
            u = 1.0 - np.random.default_rng(seed).random()
            truth = values.sum() - c > (math.log(u) if rule == "metropolis" else math.log(u / (1 - u)))
            decision = ask(test, seed, values, rule, c, range_bound=float(np.abs(values).max()))
            assert decision.accept == truth
            assert decision.n_used >= N
            accepted.append(truth)
    assert 0.1 < np.mean(accepted) < 0.9  # or this shows nothing


@pytest.mark.parametrize("name", THOROUGH)
def test_all_data_are_visited_once_at_the_end(name):
    test, values = THOROUGH[name], Recorder(population(np.random.default_rng(2), -0.5, 4.0))
    rule, bound = rules_of(test)[0], float(np.abs(values.values).max())
    decision = test.decide(np.random.default_rng(3), Comparison(N, values, 0.0, rule, bound))
    last = values.indices[-N:]  # a test with replacement reads some before
    assert sorted(last) == list(range(N))
    assert decision.n_used == values.indices.size
    assert decision.n_used == N or getattr(test, "replace", False)


@pytest.mark.parametrize("name", EVERY)
def test_n_used_is_the_number_of_terms_asked_for(name):
    test, rng = EVERY[name], np.random.default_rng(4)
    for seed in range(20):
        values = Recorder(population(rng, rng.normal(0, 3), rng.uniform(0.1, 2)))
        comparison = Comparison(N, values, 0.0, rules_of(test)[-1], float(np.abs(values.values).max()))
        assert test.decide(np.random.default_rng(seed), comparison).n_used == values.indices.size


@pytest.mark.parametrize("name", EVERY)
def test_a_decision_depends_on_the_generator_alone(name):
    """Neither on decisions before nor on the process: the subsampler is put back, and tests travel by pickle."""
    test, values = EVERY[name], population(np.random.default_rng(5), -0.3, 1.0)
    more = {"rule": rules_of(test)[0], "range_bound": float(np.abs(values).max())}
    fresh = [ask(test, seed, values, **more) for seed in range(10)]
    for seed in range(100, 110):
        ask(test, seed, values, **more)
    again = [ask(pickle.loads(pickle.dumps(test)), seed, values, **more) for seed in range(10)]
    assert again == fresh
    reading._kept.free.clear()
    assert [ask(test, seed, values, **more) for seed in range(10)] == fresh


def test_terms_may_ask_another_test_of_the_same_size():
    values = population(np.random.default_rng(6), -0.3, 1.0)
    test = QUICK["sequential"]

    def nested(indices):
        ask(test, 99, values)
        return values[indices]

    plain = [ask(test, seed, values) for seed in range(20)]
    assert [test.decide(np.random.default_rng(seed), Comparison(N, nested)) for seed in range(20)] == plain


def test_permutations_kept_are_few():
    for n in range(50, 70):
        ask(BarkerTest(m=10), 1, np.zeros(n), "barker")
    assert len(reading._kept.free) <= reading.MOST_KEPT


@pytest.mark.parametrize("name", EVERY)
def test_constant_populations(name):
    """No spread: Metropolis and Barker decide by A = N l - c against v; a partial sample says all there is to say."""
    test = EVERY[name]
    for rule in rules_of(test):
        answers = []
        for seed in range(40):
            v = draw_threshold(np.random.default_rng(seed), rule)
            for a in (-1.0, -0.1, 0.7):
                decision = ask(test, seed, np.full(N, 0.1), rule, N * 0.1 - a, range_bound=0.1)
                answers.append((decision.accept, a > v))
        agreement = np.mean([given == truth for given, truth in answers])
        assert agreement == 1.0 or (isinstance(test, BarkerTest) and agreement > 0.7)  # that one adds noise


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_terms_are_named(name, bad):
    test, values = EVERY[name], population(np.random.default_rng(7), 0.0, 4.0)
    values[:] = bad if "quick" in name else values  # a quick test might not read the bad one
    values[17] = bad
    with pytest.raises(NonFiniteTerm, match="datum ") as caught:
        ask(test, 1, values, rules_of(test)[0], range_bound=1.0)
    assert caught.value.index == 17 or "quick" in name
    assert str(caught.value.index) in str(caught.value) and "\n" not in str(caught.value)
    back = pickle.loads(pickle.dumps(caught.value))
    assert (back.index, str(back)) == (caught.value.index, str(caught.value))
    good = population(np.random.default_rng(7), 0.0, 4.0)  # and the sample was put back
    assert ask(test, 1, good, rules_of(test)[0], range_bound=1.0).n_used > 0


@pytest.mark.parametrize("name", EVERY)
def test_prior_or_proposal_alone_decide(name):
    test, values = EVERY[name], np.zeros(N)
    rule = rules_of(test)[0]
    assert ask(test, 1, values, rule, math.inf, range_bound=1.0) == (False, 0, 0)
    assert ask(test, 1, values, rule, -math.inf, range_bound=1.0) == (True, 0, 0)


@pytest.mark.parametrize("name", EVERY)
def test_refusals(name, refuses):
    test, values = EVERY[name], np.zeros(N)
    rule = rules_of(test)[0]
    refuses(lambda: ask(test, 1, values, rule, math.nan, range_bound=1.0), "log_ratio")
    refuses(lambda: ask(test, 1, values, "hastings", range_bound=1.0), "rule")
    wrong = Comparison(N, lambda indices: np.zeros((indices.size, 1)), 0.0, rule, 1.0)
    refuses(lambda: test.decide(np.random.default_rng(1), wrong), "terms", "shape")
    if not isinstance(test, ExactTest):
        refuses(lambda: ask(test, 1, np.zeros(15), rule, range_bound=1.0), "15")  # N < m, or not the design's
    refuses(lambda: ask(test, 1, np.zeros(0), rule, range_bound=1.0), "")


def test_exact_uses_the_shortcut_and_finds_the_datum_behind_a_bad_sum():
    values = np.array([0.2, 0.1, -0.1])
    none = Comparison(3, lambda indices: np.empty(0), full=lambda: 5.0)
    assert ExactTest().decide(np.random.default_rng(1), none) == (True, 3, 1)
    bad = np.array([0.2, math.nan, -0.1])
    with pytest.raises(NonFiniteTerm, match="datum 1"):
        ExactTest().decide(np.random.default_rng(1), Comparison(3, bad.take, full=lambda: float(bad.sum())))
    overflown = Comparison(3, values.take, full=lambda: math.inf)  # the terms themselves are finite
    assert total(overflown) == pytest.approx(0.2)


def test_models_are_asked_for_blocks():
    """A model gathers a row for each index; N rows at once need not fit into memory."""
    n, sizes = 3 * BLOCK + 5, []

    def terms(indices):
        sizes.append(indices.size)
        return indices * 1e-6

    assert total(Comparison(n, terms)) == pytest.approx(n * (n - 1) / 2 * 1e-6, rel=1e-13)
    ask_all = SequentialTest.from_design(Design(n, n, 0.05))
    ask_all.decide(np.random.default_rng(1), Comparison(n, terms))
    assert max(sizes) == BLOCK and sum(sizes) == 2 * n


def test_temperature_divides_the_likelihood_only():
    values = population(np.random.default_rng(8), -2.0, 0.5)
    hot = Comparison(N, values.take, 0.3, "barker", 2.0, lambda: -2.0).at_temperature(4.0)
    assert hot.terms(np.arange(N)) == pytest.approx(values / 4)
    assert (hot.log_ratio, hot.rule, hot.range_bound, hot.full()) == (0.3, "barker", 0.5, -0.5)
    with pytest.raises(ValueError, match="temperature"):
        hot.at_temperature(0.0)


def test_a_bound_may_be_found_when_it_is_asked_for():
    asked = []
    question = Comparison(N, np.zeros(N).take, range_bound=lambda: asked.append(1) or 2.0)
    SequentialTest.from_design(Design(N, 100, 0.05)).decide(np.random.default_rng(1), question)
    ExactTest().decide(np.random.default_rng(1), question)
    assert asked == []
    assert question.at_temperature(4.0).known_bound() == 0.5
    assert Comparison(N, np.zeros(N).take, range_bound=lambda: None).at_temperature(4.0).known_bound() is None
