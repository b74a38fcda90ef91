"""NumPyro's NUTS from the mode, with the Laplace covariance as its mass matrix: warm-up tunes the step size alone."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpyro
from densities import flat, log_likelihoods, log_prior
from jax import lax, random
from job import read_job, run_blocks, write_result
from numpyro.infer import NUTS


def main() -> None:
    job = read_job()
    begin = time.perf_counter()
    mode, prior_sd = jnp.asarray(job.mode), jnp.asarray(job.prior_sd)
    rows = jnp.asarray(job.x), jnp.asarray(job.y), None if job.group is None else jnp.asarray(job.group)
    at_mode = log_likelihoods(mode, *rows, job.family)
    data = rows, at_mode  # a sum near 0: single precision would lose digits of one near N

    def model(rows, at_mode):
        theta = numpyro.sample("theta", flat(mode.size))
        terms = log_likelihoods(theta, *rows, job.family) - at_mode
        numpyro.factor("posterior", terms.sum() + log_prior(theta, prior_sd, job.family))

    tuned = {"inverse_mass_matrix": jnp.asarray(job.covariance), "dense_mass": True, "adapt_mass_matrix": False}
    kernel = NUTS(model, **tuned)
    state = kernel.init(random.key(1), job.warmup, {"theta": mode}, data, {})

    @jax.jit
    def block(state, data):
        def step(state, _):
            state = kernel.sample(state, data, {})
            return state, (state.z["theta"], state.num_steps, state.accept_prob)

        return lax.scan(step, state, None, length=job.block)

    result = run_blocks(lambda state: block(state, data), state, job, begin, job.block, job.warmup)
    draws, gradients, acceptance = result.pop("trace")
    rows_read = float(gradients.mean()) * len(job.y)
    write_result("numpyro", draws, rows=rows_read, acceptance=float(acceptance.mean()), **result)


if __name__ == "__main__":
    main()
