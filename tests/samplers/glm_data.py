"""Data of every family, with an offset and weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

N_DATA = 2000
FAMILIES = (
    "bernoulli",
    "probit",
    "cloglog",
    "binomial",
    "poisson",
    "negative-binomial",
    "gaussian",
    "student-t",
    "gamma",
)


@cache
def data(name: str, n: int = N_DATA) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Rows, responses and options; after a comma, which shape parameters are sampled."""
    rng = np.random.default_rng(7)
    x = np.ascontiguousarray(np.c_[np.ones(n), rng.standard_normal((n, 2))])
    offset = 0.2 * rng.standard_normal(n)
    eta = x @ [0.4, -0.5, 0.3] + offset
    p = 1.0 / (1.0 + np.exp(-eta))
    family, _, sampled = name.partition(", ")
    gumbel = rng.gumbel(size=(n, 4)) + np.outer(eta, [0.0, 1.0, -1.0, 0.3])
    trials = rng.integers(1, 9, n).astype(float)
    y = {
        "bernoulli": lambda: rng.random(n) < p,
        "probit": lambda: rng.standard_normal(n) < eta,
        "cloglog": lambda: rng.random(n) < -np.expm1(-np.exp(eta)),
        "binomial": lambda: rng.binomial(trials.astype(int), p),
        "poisson": lambda: rng.poisson(np.exp(eta)),
        "negative-binomial": lambda: rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, n)),
        "gaussian": lambda: eta + rng.normal(0.0, 1.5, n),
        "student-t": lambda: eta + rng.standard_t(4.0, n),
        "gamma": lambda: rng.gamma(2.0, np.exp(eta) / 2.0),
        "softmax": lambda: gumbel.argmax(axis=1),
    }[family]()
    shapes = {
        "negative-binomial": {"dispersion": 0.5},
        "gaussian": {"sigma": 1.5},
        "student-t": {"sigma": 1.0, "degrees": 4.0},
        "gamma": {"shape": 2.0},
    }.get(family, {})
    fixed = {} if sampled in shapes or sampled == "both" else shapes
    if sampled == "both":
        fixed = dict.fromkeys(shapes)
    options: dict[str, Any] = {"offset": offset, "weights": rng.uniform(0.5, 1.5, n), **fixed}
    if family == "binomial":
        options["trials"] = trials
    return x, y, options
