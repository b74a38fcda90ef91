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
        "hand-written kernel inside a compiled chain. One thread calls. The floor gathers the same rows and calls a",
        "compiled function of the same arguments that computes next to nothing: no model in JAX can be faster.",
        "",
        "| D | rows | JAX, µs | floor, µs | kernel, µs | JAX per row, ns | ratio | floor's ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for d in DIMENSIONS:
        lines += _of_dimension(d)
    return [*lines, ""]


def _of_dimension(d: int) -> list[str]:
    from jax import jit
    from jax import numpy as jnp

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
    nothing = jit(lambda theta, new, centre, rows: rows["y"] + theta[0] + new[0] + centre[0])
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

        def empty(sets: Any = sets) -> None:
            for indices in sets:
                model._each(nothing, (theta, new, centre), indices)

        ours, jax, floor = (1e3 * best_ms(task, 30) / SETS for task in (kernel, by_jax, empty))
        figures = (
            f"{jax:.0f} | {floor:.0f} | {ours:.1f} | {1e3 * jax / size:.0f} | {jax / ours:.1f} | {floor / ours:.1f}"
        )
        lines.append(f"| {d} | {size:,} | {figures} |")
    return lines


if __name__ == "__main__":
    print("\n".join(report()))
