"""A model that remembers makes the same decisions from fewer evaluations."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from designer import Design
from samplers import ICA, BarkerTest, Chain, ExactTest, Logistic, Mixture, RandomWalk, Remembering, SequentialTest
from samplers.models.ica import whiten
from samplers.proposals import StiefelWalk

N = 2_000


class Counted(Logistic):
    """Logistic regression that counts its evaluations."""

    def log_likelihood(self, theta, indices):
        self.__dict__.setdefault("asked", []).append(np.size(indices))
        return super().log_likelihood(theta, indices)


def logistic(kind=Logistic):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, 2))
    return kind.from_data(x, rng.random(N) < 1.0 / (1.0 + np.exp(-x[:, 0])), prior_precision=1.0)


PROBLEMS = {
    "logistic": lambda: (logistic(), RandomWalk.isotropic(0.08, 2), np.array([1.0, 0.0])),
    "ica": lambda: (
        ICA.from_data(whiten(np.random.default_rng(2).laplace(size=(N, 2))).rows),
        StiefelWalk(0.05, 2),
        np.eye(2).ravel(),
    ),
    "mixture": lambda: (
        Mixture(np.random.default_rng(3).normal(0.0, 1.5, N)),
        RandomWalk.isotropic(0.1, 2),
        np.array([0.0, 1.0]),
    ),
}
TESTS = {"sequential": SequentialTest.from_design(Design(N, 100, 0.05)), "barker": BarkerTest(100)}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("test", TESTS)
def test_decisions_are_the_same(problem, test):
    model, proposal, start = PROBLEMS[problem]()
    rule = "barker" if test == "barker" else "metropolis"
    plain = Chain(model, proposal, TESTS[test], start, np.random.default_rng(4), rule)
    lazy = Chain(Remembering(model), proposal, TESTS[test], start, np.random.default_rng(4), rule)
    for one, other in zip(plain.advance(300), lazy.advance(300), strict=True):
        np.testing.assert_array_equal(one, other)
    assert plain.evaluations_per_datum == 2.0
    assert 1.0 < lazy.evaluations_per_datum < 2.0


def test_evaluations_are_those_of_the_model():
    model = Remembering(logistic(Counted))
    chain = Chain(model, RandomWalk.isotropic(0.08, 2), TESTS["sequential"], np.ones(2), np.random.default_rng(1))
    read = chain.advance(200).n_used.sum()
    checks = model.model.asked[:2]  # the first two compare log_likelihood with terms
    assert sum(model.model.asked) - sum(checks) == round(chain.evaluations_per_datum * read)
    chain.use_test(ExactTest())
    assert chain.evaluations_per_datum == 1.0


def test_terms_are_right_whatever_the_states():
    """Stays, moves to the last proposed state, moves elsewhere, and returns."""
    plain, rng = logistic(), np.random.default_rng(5)
    lazy, states = Remembering(plain), rng.normal(0.0, 0.5, (4, 2))
    here = 0
    for _ in range(300):
        there = int(rng.integers(4))
        for _ in range(int(rng.integers(1, 3))):
            rows = rng.choice(N, 50, replace=False)
            wanted = plain.terms(states[here], states[there], rows)
            np.testing.assert_allclose(lazy.terms(states[here], states[there], rows), wanted, atol=1e-12)
        here = there if rng.random() < 0.4 else int(rng.integers(4)) if rng.random() < 0.2 else here
    assert lazy.evaluations_per_datum < 2.0


def test_threads_do_not_disturb_each_other():
    model = logistic()

    def made(shared):
        chain = Chain(shared, RandomWalk.isotropic(0.08, 2), TESTS["sequential"], np.ones(2), np.random.default_rng(1))
        return chain.advance(100).theta

    shared = Remembering(model)
    with ThreadPoolExecutor(4) as pool:
        draws = list(pool.map(made, [shared] * 4))
    for each in draws:
        np.testing.assert_array_equal(each, made(model))


def test_what_cannot_be_remembered_is_refused(refuses):
    class Terms:
        n_data = 3

        def log_prior(self, theta):
            return 0.0

        def terms(self, theta, theta_new, indices):
            return np.zeros(indices.size)

    refuses(lambda: Remembering(Terms()), "no log_likelihood")

    class Other(Logistic):
        def log_likelihood(self, theta, indices):
            return 2.0 * super().log_likelihood(theta, indices)

    lazy = Remembering(logistic(Other))
    refuses(lambda: lazy.terms(np.zeros(2), np.ones(2), np.arange(10)), "not what terms returns")


def test_too_many_data_are_not_remembered(monkeypatch):
    monkeypatch.setattr("samplers.chains.remembering.MOST_CACHED", N - 1)
    model = Remembering(logistic())
    rows = np.arange(10)
    np.testing.assert_array_equal(
        model.terms(np.zeros(2), np.ones(2), rows), model.model.terms(np.zeros(2), np.ones(2), rows)
    )
    assert model.evaluations_per_datum == 2.0
