"""The frontier: every criterion at every tolerance, on seen and unseen pairs."""

from __future__ import annotations

import pytest

from designer import acceptance, frontier
from tests.designer.search.test_search import pairs


def test_every_point_is_measured_on_both_sets_of_pairs():
    train, test = pairs(40, 1), pairs(40, 2)
    points = frontier(train, [0.1, 0.01], test)
    assert [(p.criterion, p.tolerance) for p in points] == [
        (criterion, tolerance) for criterion in ("average", "fixed-m", "worst-case") for tolerance in (0.1, 0.01)
    ]
    for point in points:
        seen, unseen = acceptance(point.design, train), acceptance(point.design, test)
        assert point.train_error == pytest.approx(seen.mean_abs_delta, abs=1e-6)
        assert point.test_usage == pytest.approx(unseen.mean_usage, abs=1e-6)
        assert point.train_error <= point.tolerance + 1e-6
    by_criterion = {(p.criterion, p.tolerance): p for p in points}
    for tolerance in (0.1, 0.01):
        assert by_criterion["average", tolerance].train_usage <= by_criterion["fixed-m", tolerance].train_usage
        assert by_criterion["fixed-m", tolerance].design.m == 600


def test_without_test_pairs_there_are_no_test_numbers_and_progress_reaches_the_end():
    seen = []
    points = frontier(pairs(20), [0.05], criteria=["average", "worst-case"], progress=lambda *step: seen.append(step))
    assert all(point.test_error is None and point.train_error is not None for point in points)
    assert seen[-1][0] == seen[-1][1]
