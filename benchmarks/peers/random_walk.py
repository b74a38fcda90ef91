"""BlackJAX's random walk Metropolis on all data, with the product's own proposal covariance."""

from __future__ import annotations

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from job import read_job, run_blocks, write_result


def main() -> None:
    job = read_job()
    jax.config.update("jax_enable_x64", job.options["x64"])
    rows, mode = jnp.asarray(job.rows), jnp.asarray(job.mode)
    factor = jnp.asarray(np.linalg.cholesky(job.covariance) * 2.38 / np.sqrt(job.mode.size))

    def walk(rows):
        def log_posterior(theta):
            return -jax.nn.softplus(-rows @ theta).sum() - 0.5 * job.prior_precision * theta @ theta

        return blackjax.normal_random_walk(log_posterior, factor)

    @jax.jit
    def block(state, rows):
        def step(carried, _):
            key, state = carried
            key, now = random.split(key)
            state, info = walk(rows).step(now, state)
            return (key, state), (state.position, info.is_accepted)

        return lax.scan(step, state, None, length=job.options["block"])

    state = random.key(job.options["seed"]), walk(rows).init(mode)
    result = run_blocks(lambda state: block(state, rows), state, job.options)
    draws, accepted = result.pop("trace")
    write_result("blackjax", draws, acceptance=float(accepted.mean()), **result)


if __name__ == "__main__":
    main()
