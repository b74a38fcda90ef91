"""Designs by kappa: files, memberships, predictions, and the search."""

from __future__ import annotations

import numpy as np
import pytest

from designer import BadInput, Design, Space, TrialRun, acceptance, search
from designer.further.strata import stratified
from designer.further.strata_records import Stratified
from designer.search import Cancelled

N = 20_000
LOW, HIGH = Design(N, 200, 0.15, 0.8), Design(N, 400, 0.03, 0.6)
TWO = Stratified(200, (1.2,), (LOW, HIGH))


def pairs(kappa, a):
    kappa, a = np.broadcast_arrays(np.asarray(kappa, dtype=float), a)
    return TrialRun(N, np.atleast_1d(a) / N, np.atleast_1d(kappa) * (N - 1) ** 0.5 / N)


def spread_pairs(count, low=0.1, high=5.0, seed=1):
    """Pairs as at stationarity, kappa over more than a decade."""
    rng = np.random.default_rng(seed)
    kappa = np.exp(rng.uniform(np.log(low), np.log(high), count))
    return pairs(kappa, rng.normal(-(kappa**2) / 2.0, kappa))


def test_files_give_back_the_very_same_test():
    single = search(spread_pairs(30), 0.05, space=Space(500, 1000, (0.5, 0.5))).best
    whole = Stratified(200, (0.1 + 0.2,), (LOW, HIGH), 1 / 3, 0.1, single)
    for test in (TWO, whole, Stratified(50, (), (LOW,)), Stratified(50, (), (LOW,), error=0.1)):
        assert Stratified.from_toml(test.to_toml()) == test
        assert Stratified.from_json(test.to_json()) == test


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"first": 201}, "first = 201: must be a whole number from 2 to 200"),
        ({"edges": ()}, "edges: must be 1 increasing"),
        ({"edges": (2.0, 1.0), "designs": (LOW, LOW, HIGH)}, "edges: must be 2 increasing"),
        ({"edges": (-1.0,)}, "edges = -1.0"),
        ({"designs": (LOW, Design(N + 1, 400, 0.1))}, "the same n_data"),
        ({"designs": (), "edges": ()}, "strata = 0"),
    ],
)
def test_what_is_no_test_in_strata_is_refused(change, problem):
    given = {"first": 200, "edges": (1.2,), "designs": (LOW, HIGH)} | change
    with pytest.raises(BadInput, match=problem):
        Stratified(**given)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("edges = [1.2]", "edges = 1.2", "test.edges: must be a list"),
        ("first = 200\n", "", "test.first: missing"),
        ("first = 200", "first = 200\nlast = 3", "test.'last': unknown"),
        ("epsilon = 0.03", "epsilon = 3", r"test.strata\[1\].epsilon = 3"),
        ("epsilon = 0.03\n", "", r"test.strata\[1\].epsilon: missing"),
        ('kind = "stratified"', 'kind = "magic"', "test.kind = 'magic'"),
        ("format = 1", "format = 99", "newer version"),
        ("format = 1", "format = 1\npredicted = 3", "predicted = 3: must be a table"),
        ("format = 1", 'format = 1\n[predicted]\nmean_usage = "all"', "predicted.mean_usage = 'all'"),
        ("format = 1", "format = 1\n[single]\nm = 3", "single.test: missing"),
        ("epsilon = 0.03", "epsilon = 0.03\nn_data = 5", r"test.strata\[1\].n_data: stands in \[test\]"),
        ("epsilon = 0.03", "epsilon = 2024-01-01", r"test.strata\[1\].epsilon = 2024-01-01"),
    ],
)
def test_a_broken_file_is_told_with_its_place(old, new, problem):
    with pytest.raises(BadInput, match=problem):
        Stratified.from_toml(TWO.to_toml().replace(old, new))


def test_memberships_are_those_of_sample_variances():
    """Against the spread of real samples without replacement, at and beside an edge."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal(N)
    values = (values - values.mean()) / values.std()
    samples = np.array([rng.choice(values, 200, replace=False, shuffle=False).std(ddof=1) for _ in range(4000)])
    for kappa in (1.1, 1.2, 1.3):
        seen = kappa * samples * ((N - 1) / N) ** 0.5 < 1.2
        expected = TWO.memberships(np.array([kappa]))[0, 0]
        assert abs(seen.mean() - expected) < 4.0 * (0.25 / 4000) ** 0.5
    assert np.allclose(TWO.memberships(np.array([0.1, 1.2, 50.0])).sum(axis=1), 1.0)


def test_far_from_the_edges_the_prediction_is_that_of_the_stratum():
    trial = pairs([0.5, 3.0], [-0.4, -0.4])
    step = TWO.acceptance(trial)
    for k, design in enumerate((LOW, HIGH)):
        alone = acceptance(design, trial)
        assert step.delta[k] == pytest.approx(alone.delta[k], abs=1e-12)
        assert step.usage[k] == pytest.approx(alone.usage[k], abs=1e-12)
    rows = TWO.rows(trial)
    assert [row.share for row in rows] == pytest.approx([0.5, 0.5])
    assert rows[0].usage == pytest.approx(step.usage[0])
    assert rows[1].error == pytest.approx(abs(step.delta[1]))


@pytest.fixture(scope="module")
def found():
    return stratified(spread_pairs(120), 0.02, 3, space=Space(300, 3000, (0.5, 0.75)))


def test_strata_save_data_within_the_tolerance(found):
    assert len(found.designs) > 1
    assert found.first == min(design.m for design in found.designs)
    step = found.acceptance(spread_pairs(120))
    assert found.error == pytest.approx(step.mean_abs_delta, abs=1e-6)
    assert found.usage == pytest.approx(step.mean_usage, abs=1e-6)
    assert step.mean_abs_delta <= 0.02 + 1e-6
    single = search(spread_pairs(120), 0.02, space=Space(300, 3000, (0.5, 0.75)))
    assert found.single == single.best
    assert found.gain == pytest.approx(1.0 - step.mean_usage / single.usage, abs=1e-5)
    assert 0.005 < found.gain < 0.2


def test_no_random_move_of_error_between_the_strata_is_much_better(found):
    """One Lagrange multiplier: other bounds with the same error do not read much less."""
    trial, rng, compared = spread_pairs(120), np.random.default_rng(5), 0
    for _ in range(10):
        factors = np.exp(0.4 * rng.standard_normal(len(found.designs)))
        designs = tuple(
            d.model_copy(update={"epsilon": min(0.5, d.epsilon * f)})
            for d, f in zip(found.designs, factors, strict=True)
        )
        other = Stratified(found.first, found.edges, designs).acceptance(trial, tolerance=1e-7)
        if other.mean_abs_delta <= found.error:
            compared += 1
            assert other.mean_usage > found.usage * 0.995
    assert compared >= 3


def test_pairs_of_one_kappa_need_one_design():
    trial = pairs(1.3, np.random.default_rng(2).normal(-0.8, 1.3, 60))
    found = stratified(trial, 0.05, 4, space=Space(300, 1000, (0.5, 0.5)))
    assert found.edges == ()
    assert found.gain == 0.0
    assert found.designs == (found.single.bare,)


def test_infeasible_bad_and_cancelled():
    trial = spread_pairs(40)
    with pytest.raises(BadInput, match="no design with m from"):
        stratified(trial, 1e-5, space=Space(20, 30, epsilon=(0.1, 0.5)))
    with pytest.raises(BadInput, match="strata = 0"):
        stratified(trial, 0.01, 0)
    with pytest.raises(Cancelled):
        stratified(trial, 0.01, cancelled=lambda: True)
