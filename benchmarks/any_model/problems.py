"""Five posteriors on synthetic data: the data, and our model of them. `nuts.py` has NumPyro's models of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import austerity as au

PRIOR_SD = 1.0  # of every coefficient
GROUPS = 200
CLASSES = 4


class Problem(NamedTuple):
    """Data of one kind: how to draw them, at which sizes, and our model of them."""

    name: str
    draw: Callable[[np.random.Generator, int], dict[str, np.ndarray]]
    model: Callable[[dict[str, np.ndarray]], Any]
    sizes: tuple[int, ...]
    words: str


def covariates(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    """A column of ones, then standard normal ones."""
    x = rng.standard_normal((n, dimension))
    x[:, 0] = 1.0
    return x


def coefficients(dimension: int, spread: float) -> np.ndarray:
    """The same for every size of the data; the linear predictor has this standard deviation, about."""
    return np.random.default_rng(7).normal(0.0, spread / np.sqrt(dimension), dimension)


def _poisson(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    x = covariates(rng, n, 20)
    return {"x": x, "y": rng.poisson(np.exp(x @ coefficients(20, 0.5))).astype(np.float64)}


def _student(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    x = covariates(rng, n, 10)
    return {"x": x, "y": x @ coefficients(10, 1.0) + 0.7 * rng.standard_t(4.0, n)}


def _negative_binomial(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    x, size = covariates(rng, n, 10), 2.0
    mean = np.exp(x @ coefficients(10, 0.5))
    return {"x": x, "y": rng.negative_binomial(size, size / (size + mean)).astype(np.float64)}


def _softmax(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    x = covariates(rng, n, 6)
    eta = np.hstack([np.zeros((n, 1)), x @ coefficients(18, 2.0).reshape(3, 6).T])
    return {"x": x, "y": np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)}


def _grouped(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    x, group = covariates(rng, n, 10), rng.integers(GROUPS, size=n)
    effects = np.random.default_rng(8).normal(0.0, 0.5, GROUPS)
    eta = x @ coefficients(10, 1.0) + effects[group]
    return {"x": x, "y": (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(np.float64), "group": group}


def _glm(family: str, **shapes: float | None) -> Callable[[dict[str, np.ndarray]], Any]:
    """Our model of a family's data."""
    return lambda data: au.GLM.from_data(data["x"], data["y"], family, prior=PRIOR_SD**-2, **shapes)


def _grouped_model(data: dict[str, np.ndarray]) -> Any:
    groups = [au.Groups(data["group"], name="group", scale=1.0, degrees=np.inf)]
    return au.GLM.from_data(data["x"], data["y"], "bernoulli", prior=PRIOR_SD**-2, groups=groups)


PROBLEMS = (
    Problem("Poisson", _poisson, _glm("poisson"), (10**5, 10**6), "D = 20"),
    Problem("Student-t", _student, _glm("student-t", degrees=4.0), (10**5, 10**6), "D = 10, σ sampled"),
    Problem("negative binomial", _negative_binomial, _glm("negative-binomial"), (10**5,), "D = 10, dispersion sampled"),
    Problem("softmax", _softmax, _glm("softmax"), (10**5,), f"{CLASSES} classes, 6 columns"),
    Problem("hierarchical logistic", _grouped, _grouped_model, (10**5, 10**6), f"{GROUPS} groups, D = 10"),
)
