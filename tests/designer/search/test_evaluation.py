"""A search whose work is done elsewhere: what travels can be pickled, and the result is the same to the last bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from designer import Grid, Space, TrialRun, search

TRIAL = TrialRun.at_stationarity(50_000, 0.5, 30, np.random.default_rng(1), 0.3)


class Elsewhere:
    """Every call of the function is of a copy that has travelled."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, function, items):
        self.calls += len(items)
        return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))(item))) for item in items]


@pytest.mark.parametrize(
    "options", [{}, {"criterion": "worst-case"}, {"grid": Grid(m=(500, 2000), epsilon=(0.01, 0.1), alpha=(0.5, 1.0))}]
)
def test_a_search_elsewhere_is_the_same(options):
    elsewhere, told = Elsewhere(), []
    here = search(TRIAL, 0.03, **options)
    there = search(TRIAL, 0.03, **options, mapper=elsewhere, progress=lambda *numbers: told.append(numbers))
    assert here.best is not None and elsewhere.calls > 3
    assert here._replace(evaluated=None, acceptance=None) == there._replace(evaluated=None, acceptance=None)
    assert [column.tobytes() for column in here.evaluated] == [column.tobytes() for column in there.evaluated]
    assert told[-1][0] == told[-1][1]


def test_what_cannot_be_done_is_the_same():
    space = Space(epsilon=(0.1, 0.5))
    here, there = (search(TRIAL, 1e-4, space=space, mapper=mapper) for mapper in (None, Elsewhere()))
    assert here.best is None and here.reason == there.reason
