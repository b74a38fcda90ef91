"""E8 at a tiny size: biased towards one half as the calculator says, and a floor that rises with epsilon."""

import numpy as np
import pytest

from samplers.experiments.studies.e8 import Settings, _count, _errors


def test_finding(done):
    assert all(done.report.checks.values()), done.report.checks
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert rows["exact"][1] == 1.0
    assert rows["ε = 0.01"][2] < 0.01 < rows["ε = 0.25"][2]
    assert rows["ε = 0.25"][5] > 1.5 * rows["exact"][5]


def test_counts_and_errors_against_plain_counting():
    rng = np.random.default_rng(1)
    x, subsets = rng.integers(2, size=(300, 8), dtype=np.int8), np.array([[0, 1, 2, 3, 4], [7, 6, 5, 4, 3]])
    total = np.zeros((2, 32), dtype=np.uint32)
    _count(x, subsets, total)
    state = tuple(x[0, subsets[1]])
    same = sum(tuple(row[subsets[1]]) == state for row in x)
    assert total[1, sum(bit << k for k, bit in enumerate(state))] == same
    assert total.sum() == 600
    assert _errors(total[None], total[None]) == pytest.approx([0.0])
    assert _errors(np.eye(32)[None, :2], np.eye(32)[None, 2:4]) == pytest.approx([2.0])


def test_cliques_have_five_different_variables():
    for subset in Settings(1, 1, 50, 1, 1).subsets():
        assert len(set(subset.tolist())) == 5
