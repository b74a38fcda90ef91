"""The band of a mean covers it, also when values are skewed and autocorrelated."""

import numpy as np
import pytest
from scipy.special import ndtr

from designer.engine.mean_band import autocorrelation_time, mean_band

SKEWED = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.5, 5.0, n),
    "heavy": lambda rng, n: np.minimum(0.02 * rng.lognormal(0.0, 1.2, n), 1.0),
}


@pytest.mark.parametrize("name", SKEWED)
def test_misses_are_as_rare_as_asked(name):
    """At 5% on either side a t interval misses skewed means from below in 10 to 20% of samples of 40."""
    rng = np.random.default_rng(1)
    true, missed = SKEWED[name](rng, 10**6).mean(), np.zeros(2)
    for _ in range(1_500):
        low, high = mean_band(SKEWED[name](rng, 40), tail=0.05)
        missed += (true < low, true > high)
    assert np.all(missed / 1_500 < 0.08) and missed.sum() / 1_500 > 0.04


def test_autocorrelation_widens_the_band():
    values = np.random.default_rng(2).random(100)
    alone, repeated = mean_band(values), mean_band(np.repeat(values, 8))
    assert repeated[1] - repeated[0] == pytest.approx(alone[1] - alone[0], rel=0.5)
    assert autocorrelation_time(values) < 1.6
    noise = np.random.default_rng(3).standard_normal(40_000)
    ar = np.empty_like(noise)
    ar[0] = noise[0]
    for i in range(1, noise.size):
        ar[i] = 0.8 * ar[i - 1] + 0.6 * noise[i]
    assert autocorrelation_time(ar) == pytest.approx(9.0, rel=0.15)  # (1 + .8) / (1 - .8)
    assert autocorrelation_time(ndtr(ar)) == pytest.approx(9.0, rel=0.2)


def test_few_values_say_nothing_and_equal_ones_everything():
    assert mean_band(np.array([0.2, 0.3, 0.4])) == (0.0, 1.0)
    assert mean_band(np.full(50, 0.25)) == (0.25, 0.25)
