"""Risk, standard errors and effective sizes against what is known of independent and autoregressive draws."""

import numpy as np
import pytest

from samplers.study.risk import block_error, effective_size, risk_of_means


def autoregression(rng, n, rho=0.8):
    """With variance 1 / (1 - rho²)."""
    noise, x = rng.standard_normal(n), np.empty(n)
    x[0] = noise[0] / np.sqrt(1.0 - rho**2)
    for t in range(1, n):
        x[t] = rho * x[t - 1] + noise[t]
    return x


def running_means(draws, at):
    return np.cumsum(draws, axis=0)[at - 1] / at[:, None]


def test_effective_size_of_an_autoregression():
    """rho = 0.8: n (1 - rho) / (1 + rho)."""
    rng, n = np.random.default_rng(3), 50_000
    noise, x = rng.standard_normal(n), autoregression(rng, n)
    assert effective_size(x) == pytest.approx(n / 9.0, rel=0.15)
    assert effective_size(np.column_stack([noise, x])) == effective_size(x)


def test_error_of_the_mean_of_an_autoregression():
    """rho = 0.8: 1 / (1 - rho) / sqrt(n), three times what independent draws of that variance would have."""
    n = 40_000
    found = [block_error(autoregression(np.random.default_rng(seed), n)) for seed in range(30)]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(5.0 / np.sqrt(n), rel=0.15)
    assert np.isnan(block_error(np.ones(1)))


def test_risk_of_independent_draws_is_one_over_n():
    rng, at = np.random.default_rng(4), np.array([10, 100, 500, 2000])
    found = risk_of_means([running_means(rng.standard_normal((2000, 30)), at) for _ in range(8)], np.zeros(30))
    assert np.all(np.abs(found.risk * at - 1.0) < 4.0 * np.sqrt(2.0 / 240))
    assert np.all((found.low < found.risk) & (found.risk < found.high))


def test_bias_is_what_remains():
    rng, at = np.random.default_rng(5), np.array([20_000])
    found = risk_of_means([running_means(0.3 + rng.standard_normal((20_000, 5)), at)], np.zeros(5))
    assert found.risk[-1] == pytest.approx(0.09, abs=0.02)
    assert found.low[-1] == found.high[-1] == found.risk[-1]
