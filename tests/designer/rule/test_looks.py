"""Looks: integers only, the last one at all the data."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer.rule.looks import MAX_LISTED, MAX_N_DATA, Schedule
from tests import naive


@pytest.mark.parametrize(
    ("n_data", "m"), [(1000, 100), (1001, 100), (1099, 100), (2, 2), (3, 2), (12_214, 500), (7, 7)]
)
def test_equal_batches(n_data, m):
    schedule = Schedule.equal(n_data, m)
    assert schedule.n.tolist() == naive.looks(n_data, m)
    assert schedule.size == len(naive.looks(n_data, m))
    assert schedule.pi.tolist() == [n / n_data for n in naive.looks(n_data, m)]


def test_the_number_of_looks_is_not_computed_in_floating_point():
    """ceil(1 / pi_1) is off by one for 691 of the first 10^4 values of J, first at J = 49 (docs/equations.md)."""
    sizes = range(1, 10_001)
    assert [Schedule.equal(2 * j, 2).size for j in sizes] == list(sizes)
    wrong = [j for j in sizes if math.ceil(1 / (2 / (2 * j))) != j]
    assert (len(wrong), wrong[0]) == (691, 49)


def test_growth_of_a_tenth_from_100_looks_at_110():
    assert Schedule.geometric(1000, 100, 1.1).n[:3].tolist() == [100, 110, 121]


@given(st.integers(2, 10**9), st.data())
def test_geometric_growth(n_data, data):
    m = data.draw(st.integers(2, n_data))
    growth = data.draw(st.floats(1.05, 10.0))
    schedule = Schedule.geometric(n_data, m, growth)
    assert schedule.n.tolist() == naive.looks(n_data, m, growth)


def test_growth_one_means_equal_batches():
    assert Schedule.geometric(1234, 100, 1).n.tolist() == naive.looks(1234, 100)


def test_explicit_looks_end_with_all_the_data():
    assert Schedule.explicit(100, [10, 30, 35]).n.tolist() == [10, 30, 35, 100]
    assert Schedule.explicit(100, np.array([10, 100])).n.tolist() == [10, 100]
    assert Schedule.explicit(100, [100]).size == 1


def test_single_looks_of_a_schedule_too_long_to_list(refuses):
    schedule = Schedule.equal(MAX_N_DATA, 2)
    assert schedule.size == MAX_N_DATA // 2
    last = schedule.size - 1
    assert schedule.at(np.array([0, 1, last - 1, last])).tolist() == [2, 4, MAX_N_DATA - 2, MAX_N_DATA]
    refuses(lambda: schedule.n, f"{schedule.size:,}", f"{MAX_LISTED:,}")


def test_at_is_the_list():
    for schedule in (Schedule.equal(1234, 100), Schedule.geometric(1234, 10, 1.3), Schedule.explicit(1234, [5, 77])):
        assert schedule.at(np.arange(schedule.size)).tolist() == schedule.n.tolist()


@pytest.mark.parametrize("m", [1, 0, -5, 101, 2.5, math.nan, math.inf, True, None, "ten"])
def test_bad_batch_sizes(m, refuses):
    refuses(lambda: Schedule.equal(100, m), f"m = {m!r}", "from 2 to 100")


@pytest.mark.parametrize("n_data", [1, 0, -1, 10.5, MAX_N_DATA + 1, math.nan, math.inf])
def test_bad_numbers_of_data(n_data, refuses):
    refuses(lambda: Schedule.equal(n_data, 2), f"n_data = {n_data!r}", "from 2 to 1,000,000,000,000,000")


@pytest.mark.parametrize("growth", [1.04, 0.5, -1.0, 1e7, math.nan, math.inf, "2", None])
def test_bad_growth(growth, refuses):
    refuses(lambda: Schedule.geometric(1000, 10, growth), f"growth = {growth!r}", "must be 1", "[1.05, 1e+06]")


@pytest.mark.parametrize(
    ("looks", "word"),
    [
        ([], "whole"),
        ([10.5], "whole"),
        ([[1, 2]], "whole"),
        ([1, 5], "from 2"),
        ([5, 5], "increase"),
        ([9, 5], "increase"),
    ],
)
def test_bad_looks(looks, word, refuses):
    refuses(lambda: Schedule.explicit(100, looks), "looks", word)


def test_looks_beyond_the_data(refuses):
    refuses(lambda: Schedule.explicit(100, [10, 101]), "looks", "n_data = 100")
