"""Risk and effective sizes against what is known of independent and autoregressive draws."""

import numpy as np
import pytest

from samplers.risk import effective_size, running_risk


def test_effective_size_of_an_autoregression():
    """rho = 0.8: n (1 - rho) / (1 + rho)."""
    rng, n = np.random.default_rng(3), 50_000
    noise, x = rng.standard_normal(n), np.empty(n)
    x[0] = noise[0] / 0.6
    for t in range(1, n):
        x[t] = 0.8 * x[t - 1] + noise[t]
    assert effective_size(x) == pytest.approx(n / 9.0, rel=0.15)
    assert effective_size(np.column_stack([noise, x])) == effective_size(x)


def test_risk_of_independent_draws_is_one_over_n():
    rng = np.random.default_rng(4)
    chains = [rng.standard_normal((2000, 30)) for _ in range(8)]
    found = running_risk(chains, np.zeros(30))
    assert found.step[-1] == 2000
    ratio = found.risk * found.step
    assert np.all(np.abs(ratio - 1.0) < 4.0 * np.sqrt(2.0 / 240))
    assert np.all((found.low <= found.risk) & (found.risk <= found.high))


def test_bias_is_what_remains():
    rng = np.random.default_rng(5)
    found = running_risk([0.3 + rng.standard_normal((20_000, 5))], np.zeros(5))
    assert found.risk[-1] == pytest.approx(0.09, abs=0.02)
