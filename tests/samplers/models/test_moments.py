"""The moments of all terms of a comparison: exact, a block at a time, and in little memory."""

import tracemalloc

import numpy as np
import pytest

from samplers.decide.comparison import Comparison
from samplers.models.arrays import BLOCK
from samplers.models.moments import moments


@pytest.mark.parametrize("size", [1.0, 1e150, 1e-150])
def test_moments_are_found_a_block_at_a_time(size):
    values = np.random.default_rng(9).gamma(2.0, size=3 * BLOCK + 7) + np.repeat([0.0, 1.0], [2 * BLOCK, BLOCK + 7])
    asked = []
    question = Comparison(values.size, lambda indices: asked.append(indices.size) or size * values[indices])
    mean, sd, skew = moments(question)
    assert asked == [BLOCK, BLOCK, BLOCK, 7]
    assert (mean, sd) == pytest.approx((size * values.mean(), size * values.std()), rel=1e-12)
    assert skew == pytest.approx((((values - values.mean()) / values.std()) ** 3).mean(), rel=1e-10)
    assert moments(Comparison(3, np.zeros(3).take)) == (0.0, 0.0, 0.0)


def test_moments_of_many_data_need_little_memory():
    n = 20 * BLOCK
    tracemalloc.start()
    try:
        moments(Comparison(n, np.sin))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * n  # not even one number for each
