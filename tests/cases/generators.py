"""The kinds of data."""

import numpy as np
from scipy.special import expit

from tests.cases.case import Case


def gaussian(rng, n, effects=(-0.5, 1.0, -0.5, 0.25)):
    """Intercept and independent normal covariates, with labels of a logistic model."""
    x = np.column_stack([np.ones(n), rng.standard_normal((n, len(effects) - 1))])
    return x, rng.random(n) < expit(x @ np.array(effects))


def with_levels(x, y, rows, labels):
    """One more column per level: 1 in `rows[j]` rows of its own, whose labels are `labels[j]` (an array, or None)."""
    ends = np.cumsum(rows)
    dummies, y = np.zeros((y.size, len(rows))), y.copy()
    for j, (end, size) in enumerate(zip(ends, rows, strict=True)):
        dummies[end - size : end, j] = 1.0
        if labels[j] is not None:
            y[end - size : end] = labels[j]
    return np.column_stack([x, dummies]), y


def rare_levels(rng, n):
    return with_levels(*gaussian(rng, n), [3, 105, 298], [1, 0, 1])


def near_separation(rng, n):
    contrary = [np.arange(size) < few for size, few in ((150, 1), (200, 2))]
    return with_levels(*gaussian(rng, n), [150, 200], [contrary[0], ~contrary[1]])


def rare_dummies(rng, n):
    positives = [np.arange(20) < few for few in (0, 1, 3, 10, 19)]
    return with_levels(*gaussian(rng, n), [20] * 5, positives)


def student(rng, n):
    """t with 2 degrees of freedom: infinite variance."""
    x = np.column_stack([np.ones(n), rng.standard_t(2.0, (n, 4))])
    return x, rng.random(n) < expit(x @ np.array([-1.0, 0.5, -0.3, 0.2, 0.0]))


def lognormal(rng, n):
    """exp(1.5 z), not logged by the user: amounts of money."""
    x = np.column_stack([np.ones(n), np.exp(1.5 * rng.standard_normal((n, 3)))])
    return x, rng.random(n) < expit(x @ np.array([-2.0, 0.3, -0.2, 0.05]))


def outliers(rng, n):
    """Ten rows 8 sds out whose labels say the opposite of all others."""
    x, y = gaussian(rng, n, (-0.5, 2.0, -1.0, 0.25))
    x[:10, 1] = 8.0 + 0.1 * np.arange(10)
    y[:10] = False
    return x, y


def rare_positives(rng, n):
    """0.1% ones, exactly; the intercept is near -8."""
    x = np.column_stack([np.ones(n), rng.standard_normal((n, 3))])
    odds = np.exp(x @ np.array([0.0, 1.0, -0.7, 0.4]))
    y = np.zeros(n, dtype=bool)
    y[rng.choice(n, max(n // 1000, 2), replace=False, p=odds / odds.sum())] = True
    return x, y


def census(rng, n):
    """Ages, amounts that are mostly 0, and categories whose frequencies fall to a few rows, as in census tables."""
    age = rng.gamma(6.0, 7.0, n)
    gain = np.where(rng.random(n) < 0.04, np.log1p(rng.lognormal(8.0, 1.2, n)), 0.0)
    shares = 1.0 / np.arange(1, 13) ** 2.5
    level = rng.choice(12, n, p=shares / shares.sum())
    level[:16] = np.repeat([12, 13], [5, 11])  # levels that hardly anybody has
    dummies = level[:, None] == np.arange(1, 14)
    z = (age - 42.0) / 17.0
    x = np.column_stack([np.ones(n), z, z**2, gain, dummies])
    effects = np.concatenate([[-2.2, 0.6, -0.5, 0.35], rng.normal(0.0, 0.7, 13)])
    return x, rng.random(n) < expit(x @ effects)


def separated(rng, n):
    return with_levels(*gaussian(rng, n), [40], [1])


def collinear(rng, n):
    x, y = gaussian(rng, n)
    return np.column_stack([x, x[:, 1] + x[:, 2]]), y


ALL = [
    Case("plain", "Normal covariates and many rows per coefficient.", 2_000, 1.0, gaussian),
    Case("rare-levels", "Levels with 3, 105 and 298 rows, all ones or all zeros.", 5_000, 1.0, rare_levels),
    Case("rare-levels-wide", "The same levels under a wide prior.", 5_000, 0.1, rare_levels),
    Case(
        "near-separation", "Levels with 150 and 200 rows, all but one or two of one label.", 5_000, 0.1, near_separation
    ),
    Case("rare-dummies", "Five dummies of 20 rows each, with 0 to 19 ones.", 5_000, 0.1, rare_dummies),
    Case("student", "Covariates from t with 2 degrees of freedom.", 5_000, 1.0, student),
    Case("lognormal", "Log-normal covariates with values hundreds of times their median.", 5_000, 1.0, lognormal),
    Case("outliers", "Ten extreme rows contradict all others.", 5_000, 1.0, outliers),
    Case("rare-positives", "0.1% ones.", 20_000, 0.1, rare_positives),
    Case("census", "Shaped like a census table: amounts, and categories down to 5 rows.", 10_000, 0.5, census),
    Case("separated-flat", "A level of 40 ones under a flat prior: improper.", 2_000, 0.0, separated, proper=False),
    Case(
        "collinear-flat",
        "A column that is the sum of two others, flat prior: improper.",
        2_000,
        0.0,
        collinear,
        proper=False,
    ),
]
