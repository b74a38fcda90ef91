"""The sequential test against the calculator, and its numerical edges."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from designer import Boundary, Design, Plan, Schedule, TrialRun, acceptance, characteristics
from designer.check import _t_test_kernels
from designer.check.simulate import _Tests
from designer.rule.plan import as_plan
from designer.rule.t_test import student_bounds
from samplers.decide import Comparison, ExactTest, SequentialTest, draw_threshold

N = 2000
REPEATS = 2500


@pytest.fixture(scope="module")
def z() -> np.ndarray:
    x = np.random.default_rng(3).standard_normal(N)
    return (x - x.mean()) / x.std()


def frozen(test, rng, values, mu_0):
    """A decision at a fixed μ₀: log_ratio cancels the u that the test is about to draw."""
    c = values.size * mu_0 - draw_threshold(copy.deepcopy(rng), "metropolis")
    return test.decide(rng, Comparison(values.size, values.take, c))


def binomial_se(p: float, n: int) -> float:
    return math.sqrt((p * n + 1) * ((1 - p) * n + 1) / (n + 2)) / n


@pytest.mark.parametrize(
    ("plan", "first"),
    [
        (Design(N, 100, 0.05), 1),
        (Design(N, 100, 0.1), 4),
        (Design(N, 150, 0.05, 0.75), 1),
        (Design(N, 100, 0.05, 0.5, 1.5), 1),
        (Plan(Schedule.explicit(N, [100, 450, 1250]), Boundary.explicit([-1, -2, -1], [2.5, np.inf, 0.7])), 1),
    ],
    ids=["pocock", "k0 = 4", "alpha", "growth", "asymmetric"],
)
@pytest.mark.parametrize("mu_std", [-1.0, 0.6])
def test_error_and_usage_are_those_of_the_calculator(z, plan, first, mu_std):
    test = SequentialTest.from_plan(plan, first) if isinstance(plan, Plan) else SequentialTest.from_design(plan, first)
    theory = characteristics(test.effective_plan, mu_std)
    rng, mu_0 = np.random.default_rng(11), -mu_std / math.sqrt(N - 1)
    seen = [frozen(test, rng, z, mu_0) for _ in range(REPEATS)]
    wrong = np.mean([decision.accept != (mu_std > 0) for decision in seen])
    used = np.array([decision.n_used for decision in seen]) / N
    assert abs(wrong - theory.error) < 4 * binomial_se(float(theory.error), REPEATS)
    assert abs(used.mean() - theory.usage) < 4 * used.std() / math.sqrt(REPEATS)


@pytest.mark.parametrize("rule", ["metropolis", "barker"])
def test_change_of_the_acceptance_probability_is_that_of_the_calculator(z, rule):
    a, kappa, c = -0.7, 1.3, 0.4
    values = (a + c) / N + kappa * math.sqrt(N - 1) / N * z
    design = Design(N, 100, 0.1)
    theory = acceptance(design, TrialRun(N, [values.mean()], [values.std()], [c]), rule)
    test, comparison = SequentialTest.from_design(design), Comparison(N, values.take, c, rule)
    change, used = [], []
    for seed in range(2 * REPEATS):
        decision = test.decide(np.random.default_rng(seed), comparison)
        exact = a > draw_threshold(np.random.default_rng(seed), rule)
        change.append(float(decision.accept) - exact)
        used.append(decision.n_used / N)
    root = math.sqrt(len(change))
    assert abs(np.mean(change) - theory.delta[0]) < 4 * np.std(change) / root
    assert abs(np.mean(used) - theory.usage[0]) < 4 * np.std(used) / root


def test_small_epsilon_gives_the_exact_decisions_with_the_same_u(z):
    """As ε falls, disagreements with the exact test vanish, and data use rises."""
    values = -0.7 / N + 1.3 / math.sqrt(N) * z
    comparison = Comparison(N, values.take)
    exact = [ExactTest().decide(np.random.default_rng(seed), comparison).accept for seed in range(400)]
    differing, used = [], []
    for epsilon in (0.2, 0.01, 1e-6):
        test = SequentialTest.from_design(Design(N, 100, epsilon))
        seen = [test.decide(np.random.default_rng(seed), comparison) for seed in range(400)]
        differing.append(sum(d.accept != truth for d, truth in zip(seen, exact, strict=True)))
        used.append(np.mean([d.n_used for d in seen]))
    assert differing[0] > differing[1] > differing[2] == 0
    assert used[0] < used[1] < used[2] < N


def test_against_the_algorithm_in_plain_words(z):
    """K14 Alg. 1 written out: the same data, Student tails instead of bounds, no kernel."""
    from scipy.special import stdtr

    values, epsilon, m = -0.4 / N + 1.3 / math.sqrt(N) * z, 0.1, 75
    test, order = SequentialTest.from_design(Design(N, m, epsilon)), []
    stops = set()
    for seed in range(200):
        order.clear()
        comparison = Comparison(N, lambda indices: (order.extend(indices), values[indices])[1])
        decision = test.decide(np.random.default_rng(seed), comparison)
        mu_0 = draw_threshold(np.random.default_rng(seed), "metropolis") / N
        for n in [*range(m, N, m), N]:
            seen = values[order[:n]]
            s = seen.std(ddof=1) / math.sqrt(n) * math.sqrt(1 - (n - 1) / (N - 1))
            if n == N or stdtr(n - 1, -abs(seen.mean() - mu_0) / s) < epsilon:
                break
        assert decision == (bool(seen.mean() > mu_0), n, -(-n // m))
        stops.add(n)
    assert len(stops) > 10


def test_a_huge_common_offset_changes_nothing():
    """The spread is 1e-9 of the mean: sums of squares of lᵢ itself would have lost it."""
    rng, n = np.random.default_rng(5), 2000
    x = np.ldexp(np.round(rng.standard_normal(n) * 2**10), -10)  # so that adding the offset is exact
    design = SequentialTest.from_design(Design(n, 100, 0.05))
    plain, offset = Comparison(n, x.take, 10.0), Comparison(n, (x + 2.0**30).take, 10.0 + n * 2.0**30)
    pairs = [[design.decide(np.random.default_rng(seed), c) for c in (plain, offset)] for seed in range(100)]
    assert all(a == b for a, b in pairs)
    assert len({a.n_used for a, _ in pairs}) > 1


def test_without_spread_the_mean_decides_unless_it_is_mu_0():
    test, values = SequentialTest.from_design(Design(100, 10, 0.05)), np.full(100, 0.25)
    assert frozen(test, np.random.default_rng(1), values, 0.24) == (True, 10, 1)
    assert frozen(test, np.random.default_rng(1), values, 0.26) == (False, 10, 1)


def test_the_first_look_waits_for_k0_batches(z, refuses):
    design = Design(N, 100, 0.05)
    comparison = Comparison(N, (1.0 + z).take)  # obvious at once
    for k0 in (1, 3, 20):
        test = SequentialTest.from_design(design, first_batches=k0)
        assert test.decide(np.random.default_rng(1), comparison) == (True, 100 * k0, 1)
    for k0 in (0, 21, 1.5):
        refuses(lambda k0=k0: SequentialTest.from_design(design, first_batches=k0), "first_batches")


def test_another_number_of_data_is_refused(refuses):
    test = SequentialTest.from_design(Design(1000, 100, 0.05))
    ask = Comparison(999, np.zeros(999).take)
    refuses(lambda: test.decide(np.random.default_rng(1), ask), "999", "1,000")


def test_bounds_grow_in_blocks_and_are_right():
    """Two million looks: made in no time, and bounds are known only as far as they are needed."""
    test = SequentialTest.from_design(Design(10**9, 500, 0.05, 0.7))
    assert test.bounds(3)[0].tolist() == [500, 1000, 1500]
    assert test._looks._known[0].size < 1000
    n, lower, upper = test.bounds(5000)
    assert n.size == 5000
    expected = student_bounds(test.plan.boundary.at(np.arange(5000), n / 1e9)[1], n)
    assert upper == pytest.approx(expected, rel=1e-14)
    assert lower == pytest.approx(-expected, rel=1e-14)
    small = SequentialTest.from_design(Design(1200, 500, 0.05), first_batches=2)
    n, lower, upper = small.bounds()
    assert (n.tolist(), upper[-1], lower[-1]) == ([1000, 1200], 0.0, 0.0)
    assert upper[0] == pytest.approx(1.646380345427535, rel=1e-9)  # Student, 999 degrees of freedom


def test_the_simulated_test_decides_alike_on_the_same_data(z):
    """`designer.check` has its own loop over the looks: on the same samples it makes the same decisions."""
    plan, decided = as_plan(Design(N, 50, 0.05, 0.7)), []
    test = SequentialTest.from_plan(plan)
    for seed, mu_0 in enumerate(np.linspace(-0.08, 0.08, 40)):
        accepted, used = _Tests(np.random.default_rng(seed), plan, z).run(np.array([mu_0]))
        rng, order = np.random.default_rng(seed), np.arange(N)
        sample = z[[_t_test_kernels.pick.py_func(rng, order, k) for k in range(N)]]
        blocks = np.split(sample, plan.schedule.n[:-1])
        read = {int(n): block for n, block in zip(plan.schedule.n, blocks, strict=True)}
        decided.append(test._look_by_look(lambda n, read=read: iter([read[n]]), Comparison(N, z.take), N * mu_0))
        assert decided[-1][:2] == (accepted[0], round(N * used[0]))
    assert len({decision.n_used for decision in decided}) > 3
    assert {decision.accept for decision in decided} == {True, False}


def test_more_looks_than_one_block():
    """The loop crosses block borders without skipping a look."""
    n = 3000
    values, asked = np.zeros(n), []
    comparison = Comparison(n, lambda indices: (asked.extend(indices), values[indices])[1], -1.0)
    test = SequentialTest.from_plan(Plan(Schedule.equal(n, 2), Boundary.explicit([-np.inf] * 1499, [np.inf] * 1499)))
    assert test.decide(np.random.default_rng(1), comparison) == (True, n, 1500)
    assert sorted(asked) == list(range(n))
