"""Time per row of each family's fused residuals beside the logistic kernel's, at equal D, in one run."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from designer.core.jit import kernel
from samplers.compiled.build import fused_model
from samplers.compiled.decisions import new_room
from samplers.compiled.logistic import ROOM
from samplers.compiled.models import fill_terms
from samplers.models.control import Controlled
from samplers.models.glm import glm_model
from samplers.models.logistic import Logistic

DIMENSIONS = (10, 20, 50)
SIZES = {"in cache": 2_000, "N = 10⁶": 1_000_000}
FAMILIES = ("bernoulli", "probit", "cloglog", "binomial", "poisson", "negative-binomial", "gaussian", "student-t")
SHAPES = {
    "negative-binomial": {"dispersion": 0.5},
    "gaussian": {"sigma": 1.0},
    "student-t": {"sigma": 1.0, "degrees": 4.0},
    "gamma": {"shape": 2.0},
}
SAMPLED = ("student-t, sampled sigma", "negative-binomial, sampled dispersion", "softmax, K = 4")
CALLS, ROUNDS = 400, 7  # of ROOM rows; the best of the rounds counts


def report() -> list[str]:
    """Markdown."""
    names = (*FAMILIES, "gamma", *SAMPLED)
    lines = [
        "## Families",
        "",
        "Residuals of control variates, 256 rows drawn at random at a time, by the compiled kernels.",
    ]
    lines += ["Nanoseconds per row for `Logistic`, then each family's time divided by it; rounds in turns, best of "]
    lines[-1] += f"{ROUNDS}. Softmax has three predictors of D coefficients each."
    heads = [f"D = {d}, {size}" for size in SIZES for d in DIMENSIONS]
    lines += ["", f"| family | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    columns = [measure(d, n, names) for n in SIZES.values() for d in DIMENSIONS]
    lines.append(f"| Logistic, ns | {' | '.join(f'{column[0]:.1f}' for column in columns)} |")
    for k, name in enumerate(names, 1):
        lines.append(f"| {name} | {' | '.join(f'{column[k]:.2f}' for column in columns)} |")
    return [*lines, ""]


def measure(d: int, n: int, names: tuple[str, ...]) -> list[float]:
    """Nanoseconds per row of the logistic regression, then each family's time divided by it.

    Each family takes turns with the logistic regression, and only these rounds are compared: the best of more rounds
    would be shorter.
    """
    rng = np.random.default_rng(d)
    x = rng.standard_normal((n, d)) / np.sqrt(d)
    draws = rng.integers(0, n, (64, ROOM))
    logistic = _fused(rng, Logistic.from_data(x, rng.random(n) < 0.5, 1.0))
    ratios, shortest = [], np.inf
    for name in names:  # one family at a time: ten copies of 10⁶ rows would not fit
        family = _fused(rng, made(name, x, responses(rng, name, x)))
        rounds = np.array([[timed(*one, draws) for one in (logistic, family)] for _ in range(ROUNDS + 1)][1:])
        ratios.append(rounds[:, 1].min() / rounds[:, 0].min())
        shortest = min(shortest, rounds[:, 0].min())
        del family
    return [shortest / (CALLS * ROOM) * 1e9, *ratios]


def _fused(rng: np.random.Generator, model: Any) -> tuple[Any, np.ndarray]:
    """The compiled model with control variates, and two states."""
    proxied = Controlled.around(model, np.zeros(model.dimension))
    return fused_model(proxied), 0.05 * rng.standard_normal((2, model.dimension))


def responses(rng: np.random.Generator, name: str, x: np.ndarray) -> np.ndarray:
    n = x.shape[0]
    if name.startswith(("gaussian", "student")):
        return rng.standard_normal(n)
    if name.startswith("gamma"):
        return rng.gamma(2.0, 0.5, n)
    if name.startswith("softmax"):
        return rng.integers(0, 4, n)
    if name.startswith(("poisson", "negative", "binomial")):
        return np.minimum(rng.poisson(1.0, n), 5)
    return rng.random(n) < 0.5


def made(name: str, x: np.ndarray, y: np.ndarray) -> Any:
    family, _, sampled = name.partition(", ")
    shapes: dict[str, Any] = {} if sampled else dict(SHAPES.get(family, {}))
    if family == "binomial":
        shapes["trials"] = np.full(x.shape[0], 5.0)
    return glm_model(x, y, family, prior=1.0, **shapes)


def timed(fused: Any, theta: np.ndarray, draws: np.ndarray) -> float:
    start = time.perf_counter()
    repeat(fused, theta[0], theta[1], draws, CALLS)
    return time.perf_counter() - start


@kernel
def repeat(model, theta, theta_new, draws, calls):
    """The residuals of so many batches."""
    room, total = new_room(), 0.0
    for k in range(calls):
        fill_terms(model, theta, theta_new, draws[k % draws.shape[0]], room, room[3])
        total += room[3, 0]
    return total
