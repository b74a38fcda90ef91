"""The posteriors of the league: their data, and our model of them. `peers/densities.py` has the same for JAX.

Every posterior is a density of one vector θ of real numbers: coefficients, then group effects, then logarithms of
scales. Its prior is normal, with one standard deviation per coefficient, and half-normal(1) for the scale of effects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

import austerity as au

SIZES = (10**4, 10**5, 10**6)
GROUPS, CLASSES, WIDE = 200, 4, 200
LEVELS = (20, 100, 300)  # rows of the rare levels, at any N
POSITIVE = 1e-3  # share of ones where they are rare
SHAPE_SD = 5.0  # prior of the logarithm of a sampled shape

Data = dict[str, np.ndarray]


class Posterior(NamedTuple):
    """One posterior of the league.

    Attributes
    ----------
    name, words
        Short, and what it is.
    family
        Of the likelihood.
    draw
        Makes N data.
    prior_sd
        Prior standard deviation of each coefficient, for so many.
    sizes
        The N at which it is measured.
    extra
        A further family: outside the map of six posteriors.
    """

    name: str
    words: str
    family: str
    draw: Callable[[np.random.Generator, int], Data]
    prior_sd: Callable[[int], np.ndarray]
    sizes: tuple[int, ...] = SIZES
    extra: bool = False

    def data(self, n: int) -> Data:
        """The same data at every call."""
        return self.draw(np.random.default_rng([1, n]), n)

    def model(self, data: Data) -> Any:
        """Our model of these data."""
        precision = self.prior_sd(data["x"].shape[1]) ** -2.0
        if self.family == "logistic":
            return au.Logistic.from_data(data["x"], data["y"], precision)
        options: dict[str, Any] = {"degrees": 4.0} if self.family == "student-t" else {}
        if "group" in data:
            options["groups"] = [au.Groups(data["group"], name="group", scale=1.0, degrees=np.inf)]
        family = "bernoulli" if self.family == "hierarchical" else self.family
        return au.GLM.from_data(data["x"], data["y"], family, prior=float(precision[0]), **options)


def covariates(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    """A column of ones, then standard normal ones."""
    x = rng.standard_normal((n, dimension))
    x[:, 0] = 1.0
    return x


def coefficients(dimension: int, spread: float) -> np.ndarray:
    """The same for every N; the linear predictor has this standard deviation, about."""
    return np.random.default_rng(7).normal(0.0, spread / np.sqrt(dimension), dimension)


def labels(rng: np.random.Generator, eta: np.ndarray) -> np.ndarray:
    return (rng.random(eta.size) < expit(eta)).astype(np.float64)


def _easy(rng: np.random.Generator, n: int) -> Data:
    x = covariates(rng, n, 20)
    return {"x": x, "y": labels(rng, x @ coefficients(20, 1.0))}


def _rare(rng: np.random.Generator, n: int) -> Data:
    levels = np.zeros((n, len(LEVELS)))
    for j, (start, rows) in enumerate(zip(np.cumsum((0, *LEVELS[:-1])), LEVELS, strict=True)):
        levels[start : start + rows, j] = 1.0
    x = np.hstack([covariates(rng, n, 4), levels])
    odds = np.exp(x[:, 1:] @ np.array([1.0, -0.7, 0.4, 2.0, 0.0, -0.5]))
    y = np.zeros(n)
    y[rng.choice(n, round(POSITIVE * n), replace=False, p=odds / odds.sum())] = 1.0
    return {"x": x, "y": y}


def _heavy(rng: np.random.Generator, n: int) -> Data:
    x = np.column_stack([np.ones(n), rng.standard_t(2.0, (n, 4))])
    return {"x": x, "y": labels(rng, x @ np.array([-1.0, 0.5, -0.3, 0.2, 0.0]))}


def _wide(rng: np.random.Generator, n: int) -> Data:
    x = covariates(rng, n, WIDE)
    return {"x": x, "y": labels(rng, x @ coefficients(WIDE, 1.0))}


def _poisson(rng: np.random.Generator, n: int) -> Data:
    x = covariates(rng, n, 20)
    return {"x": x, "y": rng.poisson(np.exp(x @ coefficients(20, 0.5))).astype(np.float64)}


def _grouped(rng: np.random.Generator, n: int) -> Data:
    x, group = covariates(rng, n, 10), rng.integers(GROUPS, size=n)
    effects = np.random.default_rng(8).normal(0.0, 0.5, GROUPS)
    return {"x": x, "y": labels(rng, x @ coefficients(10, 1.0) + effects[group]), "group": group}


def _student(rng: np.random.Generator, n: int) -> Data:
    x = covariates(rng, n, 10)
    return {"x": x, "y": x @ coefficients(10, 1.0) + 0.7 * rng.standard_t(4.0, n)}


def _negative_binomial(rng: np.random.Generator, n: int) -> Data:
    x, size = covariates(rng, n, 10), 2.0
    mean = np.exp(x @ coefficients(10, 0.5))
    return {"x": x, "y": rng.negative_binomial(size, size / (size + mean)).astype(np.float64)}


def _softmax(rng: np.random.Generator, n: int) -> Data:
    x = covariates(rng, n, 6)
    eta = np.hstack([np.zeros((n, 1)), x @ coefficients(18, 2.0).reshape(3, 6).T])
    return {"x": x, "y": np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)}


def _same(sd: float) -> Callable[[int], np.ndarray]:
    return lambda columns: np.full(columns, sd)


def _wide_intercept(columns: int) -> np.ndarray:
    return np.concatenate([[10.0], np.ones(columns - 1)])


POSTERIORS = (
    Posterior("logistic", "logistic regression, 20 normal covariates", "logistic", _easy, _same(10.0)),
    Posterior("rare", "0.1% ones, and levels with 20, 100, 300 rows", "logistic", _rare, _wide_intercept),
    Posterior("heavy tails", "logistic, covariates from t with 2 degrees", "logistic", _heavy, _same(1.0)),
    Posterior("wide", f"logistic regression, {WIDE} coefficients", "logistic", _wide, _same(1.0)),
    Posterior("Poisson", "Poisson regression, 20 coefficients", "poisson", _poisson, _same(1.0)),
    Posterior("hierarchical", f"logistic, {GROUPS} group effects", "hierarchical", _grouped, _same(1.0)),
    Posterior(
        "Student-t",
        "robust regression, 10 coefficients, σ sampled",
        "student-t",
        _student,
        _same(1.0),
        (10**5, 10**6),
        True,
    ),
    Posterior(
        "negative binomial",
        "10 coefficients, dispersion sampled",
        "negative-binomial",
        _negative_binomial,
        _same(1.0),
        (10**5,),
        True,
    ),
    Posterior("softmax", "4 classes, 6 columns", "softmax", _softmax, _same(1.0), (10**5,), True),
)
BY_NAME = {posterior.name: posterior for posterior in POSTERIORS}
