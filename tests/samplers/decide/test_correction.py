"""The correction tables of the Barker mini-batch test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import solve
from scipy.special import expit, ndtr

from samplers.decide import correction, ridge_correction
from samplers.decide.correction import _ridge


def distribution(table, x: np.ndarray) -> np.ndarray:
    """P(X_norm + X_corr < x), summed over the table; cells are averaged exactly over their width."""
    z = (x[:, None] - table.x) / table.sigma
    if table.width > 0:
        half = 0.5 * table.width / table.sigma

        def integral(y):
            return y * ndtr(y) + np.exp(-0.5 * y * y) / math.sqrt(2 * math.pi)

        return (integral(z + half) - integral(z - half)) / (2 * half) @ table.mass
    edge = table.skewness / 6 * (z * z - 1) * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return (ndtr(z) - edge) @ table.mass


X = np.linspace(-30, 30, 4001)


@pytest.mark.parametrize(
    ("sigma", "n", "penalty", "published", "measured"),
    [
        (0.9, 4000, 1.0, 1.0e-4, 6.76e-5),
        (0.8, 4000, 0.03, 5.0e-6, 3.13e-6),
        (1.0, 4000, 10.0, 8.9e-4, 5.58e-4),
        (0.8, 2000, 0.01, 5.0e-6, 3.31e-6),
    ],
)
def test_ridge_errors_of_s17_table_1(sigma, n, penalty, published, measured):
    table = ridge_correction(sigma, n, penalty)
    assert table.mass.sum() == pytest.approx(1.0, abs=1e-12) and table.mass.min() > 0
    # what is sampled, cells and all, and not only what the table says of itself
    error = np.abs(distribution(table, X[::8]) - expit(X[::8])).max()
    assert error < published
    assert table.error == pytest.approx(measured, rel=0.02)
    assert error == pytest.approx(table.error, rel=0.1)


def test_ridge_solver_against_the_normal_equations():
    """S17 Eqn 15 solved densely on a small grid."""
    n, reach, sigma, penalty = 150, 20.0, 0.9, 0.1
    x, y = np.arange(-2 * n, 2 * n + 1) * reach / n, np.arange(-n, n + 1) * reach / n
    matrix, v = ndtr((x[:, None] - y) / sigma), expit(x)
    dense = solve(matrix.T @ matrix + penalty * np.eye(y.size), matrix.T @ v, assume_a="pos")
    assert _ridge(matrix.__matmul__, matrix.T.__matmul__, v, penalty) == pytest.approx(dense, abs=1e-9)
    mass = np.maximum(dense, 0) / np.maximum(dense, 0).sum()
    table = ridge_correction(sigma, n, penalty)  # the same through Fourier transforms
    assert table.mass == pytest.approx(mass[mass > 0], abs=1e-9)
    assert table.x == pytest.approx(y[mass > 0])


@pytest.mark.parametrize(
    ("sigma", "limit"), [(0.3, 1e-8), (0.8, 1e-9), (0.9, 5e-9), (1.0, 1e-7), (1.1, 3e-6), (1.2, 3e-5), (1.4, 1e-3)]
)
def test_fitted_tables_are_far_better_than_ridge(sigma, limit):
    table = correction(sigma)
    error = np.abs(distribution(table, X) - expit(X)).max()
    assert error < limit
    assert error <= table.error * 1.01
    assert table.mass.min() > 0 and table.mass.sum() == pytest.approx(1.0, abs=1e-12)
    # moments of the logistic: mean 0, variance pi² / 3
    assert table.mass @ table.x == pytest.approx(0.0, abs=1e-6)
    assert table.mass @ table.x**2 + sigma**2 == pytest.approx(math.pi**2 / 3, abs=5e-4)


@pytest.mark.parametrize("skewness", [-0.3, 0.1, 0.6])
def test_skewed_tables(skewness):
    table = correction(1.0, skewness)
    assert np.abs(distribution(table, X) - expit(X)).max() < 1e-7
    # third cumulants add up to the logistic's 0
    assert table.mass @ (table.x - table.mass @ table.x) ** 3 == pytest.approx(-skewness, abs=1e-3)
    plain = correction(1.0)
    wrong = np.abs(distribution(table, X) - distribution(plain, X)).max()
    skewed = (X[:, None] - plain.x) / 1.0
    edge = skewness / 6 * (skewed**2 - 1) * np.exp(-0.5 * skewed**2) / math.sqrt(2 * math.pi)
    assert np.abs((ndtr(skewed) - edge) @ plain.mass - expit(X)).max() > 100 * wrong  # uncorrected: S''' k / 6


@pytest.mark.parametrize("make", [lambda: correction(1.0), lambda: ridge_correction(0.9, 400)], ids=["atoms", "cells"])
def test_quantiles_invert_the_distribution_function(make):
    table = make()
    p = np.concatenate([[0.0, 1e-12], np.linspace(0.001, 0.999, 997), [1 - 2**-53, 1.0]])
    x = np.array([table.quantile(float(q)) for q in p])
    assert np.all(np.diff(x) >= 0)
    low, high = np.array(
        [(table.mass[table.x + table.width / 2 < q].sum(), table.mass[table.x - table.width / 2 <= q].sum()) for q in x]
    ).T
    assert np.all(low <= p + 1e-12) and np.all(p <= high + 1e-12)
    if table.width > 0:  # linear within a cell
        k = table.x.size // 2
        for share in (0.1, 0.5, 0.75):
            p = float(table.mass[:k].sum() + share * table.mass[k])
            assert table.quantile(p) == pytest.approx(table.x[k] + (share - 0.5) * table.width, abs=1e-9)


@pytest.mark.parametrize("make", [lambda: correction(1.0), lambda: ridge_correction(1.0)], ids=["fitted", "ridge"])
def test_samples_plus_noise_are_logistic(make):
    """Kolmogorov-Smirnov at 20,000 draws: 1.95 / sqrt(n) has level 0.001."""
    table, rng, n = make(), np.random.default_rng(1), 20_000
    sums = np.sort([table.sample(rng) for _ in range(n)] + table.sigma * rng.standard_normal(n))
    distance = np.abs(expit(sums) - (np.arange(n) + 0.5) / n).max()
    assert distance < 1.95 / math.sqrt(n)
    assert np.abs(expit(1.15 * sums) - (np.arange(n) + 0.5) / n).max() > 1.95 / math.sqrt(n)  # it can fail


def test_tables_are_made_once():
    assert correction(1.0) is correction(1.0)
    assert ridge_correction(0.9, 400, 1.0) is ridge_correction(0.9, 400, 1.0)


@pytest.mark.parametrize("sigma", [0.0, 0.2, 1.5, math.nan, "1"])
def test_sigma_must_be_possible(sigma, refuses):
    refuses(lambda: correction(sigma), "sigma")
    refuses(lambda: ridge_correction(sigma), "sigma")


def test_options_are_checked(refuses):
    refuses(lambda: ridge_correction(1.0, 10), "n")
    refuses(lambda: ridge_correction(1.0, 400, 0.0), "penalty")
    refuses(lambda: ridge_correction(1.0, 400, 1.0, 1.0), "reach")
    refuses(lambda: correction(1.0, 3.0), "skewness")
