"""Moves of parameters that only the prior contains, such as the scales of a hierarchical model: they read no data.

Each such parameter is updated by slice sampling (Neal 2003) given all others: a level below the log prior at θ, an
interval found by stepping out, points drawn from it and the interval shrunk to those below the level. The width of a
step out follows the units of the parameter: it is the scale of the normal with the log prior's curvature at a fixed
value of the parameter, given the others, so it does not depend on where the parameter is, and the update stays exact.
All of it is one compiled call; its random numbers come from a seed that the chain's generator draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from designer.core.arrays import Floats, Ints

PriorMoves = Callable[[np.random.Generator, Floats], Floats]

WIDTH, WIDEST = 1.0, 1e12  # of the first interval, at least and at most: most parameters are on the log scale
MOST_OUT = 20  # steps on either side, in all; the interval is then at most this many widths long
MOST_IN = 100  # points; more mean that the interval has shrunk to θ itself


def slice_moves(jax: Any, log_prior: Callable[[Any], Any], which: Ints, start: Floats) -> PriorMoves:
    """One slice update of each of these parameters, one after the other, given all others.

    Their scales are taken at their values in `start`.
    """
    jnp, places = jax.numpy, np.asarray(which, dtype=np.int64)
    values = np.asarray(start, dtype=np.float64)[places]

    def one(k: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        theta, key = state
        place = jnp.asarray(places)[k]
        here = theta[place]

        def at(x: Any) -> Any:
            value = log_prior(theta.at[place].set(x))
            return jnp.where(jnp.isnan(value), -jnp.inf, value)

        curvature = -jax.grad(jax.grad(at))(jnp.asarray(values)[k])
        known = curvature > WIDEST**-2  # also not nan
        width = jnp.where(known, jnp.maximum(WIDTH, 1.0 / jnp.sqrt(jnp.where(known, curvature, 1.0))), WIDTH)
        key, *keys = jax.random.split(key, 5)
        level = at(here) - jax.random.exponential(keys[0], dtype=theta.dtype)
        low = here - width * jax.random.uniform(keys[1], dtype=theta.dtype)
        left = jnp.floor(MOST_OUT * jax.random.uniform(keys[2], dtype=theta.dtype))

        def out(end: Any, step: Any, most: Any) -> Any:
            def goes_on(state: Any) -> Any:
                return (state[1] < most) & (at(state[0]) > level)

            return jax.lax.while_loop(goes_on, lambda state: (state[0] + step, state[1] + 1.0), (end, 0.0))[0]

        low, high = out(low, -width, left), out(low + width, width, MOST_OUT - 1 - left)

        def outside(state: Any) -> Any:
            return ~state[4] & (state[5] < MOST_IN)

        def shrink(state: Any) -> Any:
            low, high, _, key, _, count = state
            key, drawn = jax.random.split(key)
            x = low + (high - low) * jax.random.uniform(drawn, dtype=theta.dtype)
            found = at(x) > level
            return jnp.where(x < here, x, low), jnp.where(x < here, high, x), x, key, found, count + 1

        _, _, x, _, found, _ = jax.lax.while_loop(outside, shrink, (low, high, here, keys[3], False, 0))
        return theta.at[place].set(jnp.where(found, x, here)), key

    @jax.jit  # type: ignore[untyped-decorator]
    def moved(theta: Any, seed: Any) -> Any:
        return jax.lax.fori_loop(0, places.size, one, (theta, jax.random.key(seed)))[0]

    def move(rng: np.random.Generator, theta: Floats) -> Floats:
        return np.array(moved(theta, int(rng.integers(2**32))))

    return move
