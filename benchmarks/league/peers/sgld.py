"""BlackJAX's SGLD with control variates at the mode, in whitened coordinates.

There a step of length h widens a normal posterior by h / 4 and makes an effective draw in 2 / h steps.
"""

from __future__ import annotations

import time

import blackjax
import jax
import jax.numpy as jnp
from blackjax.sgmcmc.gradients import control_variates, grad_estimator
from densities import log_likelihoods, log_prior
from jax import lax, random
from job import read_job, run_blocks, write_result

STEP, BATCH, BLOCK, WARMUP = 0.05, 100, 2000, 2000
THIN = 10  # steps


def main() -> None:
    job = read_job()
    begin = time.perf_counter()
    mode, prior_sd = jnp.asarray(job.mode), jnp.asarray(job.prior_sd)
    factor = jnp.linalg.cholesky(jnp.asarray(job.covariance))
    x, y = jnp.asarray(job.x), jnp.asarray(job.y)
    group = jnp.zeros(len(job.y), jnp.int32) if job.group is None else jnp.asarray(job.group)
    data, n = (x, y, group), len(job.y)

    def prior(z):
        return log_prior(mode + factor @ z, prior_sd, job.family)

    def likelihood(z, row):
        return log_likelihoods(mode + factor @ z, row[0][None], row[1][None], row[2][None], job.family)[0]

    centre = jnp.zeros(mode.size)
    sampler = blackjax.sgld(control_variates(grad_estimator(prior, likelihood, n), centre, data))

    @jax.jit
    def block(state, data):
        def step(state, _):
            def small(state, _):
                z, key = state
                key, draw, noise = random.split(key, 3)
                rows = random.randint(draw, (BATCH,), 0, n)
                return (sampler.step(noise, z, tuple(column[rows] for column in data), STEP), key), None

            state, _ = lax.scan(small, state, None, length=THIN)
            return state, (mode + factor @ state[0],)

        return lax.scan(step, state, None, length=BLOCK // THIN)

    state = sampler.init(centre), random.key(1)
    result = run_blocks(lambda state: block(state, data), state, job, begin, BLOCK // THIN, WARMUP // THIN)
    (draws,) = result.pop("trace")
    write_result("blackjax", draws, rows=float(2 * BATCH), details=f"step {STEP:g} in posterior sds", **result)


if __name__ == "__main__":
    main()
