"""Residuals of control variates per row: a model in JAX beside the hand-written logistic kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from benchmarks.timing import best_ms
from samplers import Controlled, Logistic, from_jax
from samplers.compiled.build import fused_model
from samplers.compiled.logistic import ROOM
from samplers.compiled.models import fill_terms

N, DIMENSIONS = 200_000, (10, 50)
BATCHES = (50, 200, 1000, 5000)
SETS = 20  # of rows, read one after the other, so that they do not stay in the nearest cache


@njit
def fill_all(model, theta, theta_new, indices, room, out):  # type: ignore[no-untyped-def]
    """The kernel, as many rows at a time as it takes."""
    for first in range(0, out.size, ROOM):
        some = indices[first : first + ROOM]
        fill_terms(model, theta, theta_new, some, room, out[first : first + some.size])


def report() -> list[str]:
    """Microseconds for a batch of random rows, both states and the proxies."""
    lines = [
        "## Rows of a model in JAX",
        "",
        f"Residuals of second-order control variates of a logistic regression, N = {N:,}, random rows, both states:",
        "`au.from_jax` as a chain calls it (NumPy gathers the rows, one call of a compiled function), beside the",
        "hand-written kernel inside a compiled chain. One thread calls.",
        "",
        "| D | rows | JAX, µs | kernel, µs | JAX per row, ns | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for d in DIMENSIONS:
        lines += _of_dimension(d)
    return [*lines, ""]


def _of_dimension(d: int) -> list[str]:
    import jax.numpy as jnp

    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, d))
    y = rng.random(N) < 0.5
    centre = np.zeros(d)
    built_in = Controlled.around(Logistic.from_data(x, y, 1.0), centre)

    def row(theta: Any, data: Any) -> Any:
        eta = data["x"] @ theta
        return data["y"] * eta - jnp.logaddexp(0.0, eta)

    model = from_jax(row, lambda theta: -0.5 * jnp.sum(theta**2), {"x": x, "y": y.astype(float)}, centre)
    theirs = Controlled.around(model, centre)
    fused, room, lines = fused_model(built_in), np.empty((3, ROOM)), []
    theta, new = 0.02 * rng.standard_normal((2, d))
    for size in BATCHES:
        sets = [rng.choice(N, size, replace=False) for _ in range(SETS)]
        out = np.empty(size)

        def kernel(sets: Any = sets, out: Any = out) -> None:
            for indices in sets:
                fill_all(fused, theta, new, indices, room, out)

        def by_jax(sets: Any = sets) -> None:
            for indices in sets:
                theirs.terms(theta, new, indices)

        ours, jax = (1e3 * best_ms(task, 30) / SETS for task in (kernel, by_jax))
        lines.append(f"| {d} | {size:,} | {jax:.0f} | {ours:.1f} | {1e3 * jax / size:.0f} | {jax / ours:.1f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(report()))
