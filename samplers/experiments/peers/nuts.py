"""NumPyro's NUTS from the mode: with default adaptation, or with the Laplace covariance and only the step tuned."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro
from jax import lax, random
from job import read_job, run_blocks, write_result
from numpyro import distributions
from numpyro.infer import NUTS


def main() -> None:
    job = read_job()
    jax.config.update("jax_enable_x64", job.options["x64"])
    rows, mode = jnp.asarray(job.rows), jnp.asarray(job.mode)
    scale = job.prior_precision**-0.5

    def model(rows, at_mode):
        theta = numpyro.sample("theta", distributions.Normal(jnp.zeros(mode.size), scale).to_event(1))
        numpyro.factor("likelihood", (at_mode - jax.nn.softplus(-rows @ theta)).sum())

    data = rows, jax.nn.softplus(-rows @ mode)  # a sum near 0: single precision would lose digits of one near N
    tuned = {"inverse_mass_matrix": jnp.asarray(job.covariance), "dense_mass": True, "adapt_mass_matrix": False}
    kernel = NUTS(model, **(tuned if job.options["laplace"] else {}))
    state = kernel.init(random.key(job.options["seed"]), job.options["warmup"], {"theta": mode}, data, {})

    @jax.jit
    def block(state, data):
        def step(state, _):
            state = kernel.sample(state, data, {})
            return state, (state.z["theta"], state.num_steps, state.accept_prob)

        return lax.scan(step, state, None, length=job.options["block"])

    result = run_blocks(lambda state: block(state, data), state, job.options)
    draws, gradients, acceptance = result.pop("trace")
    write_result("numpyro", draws, gradients=float(gradients.mean()), acceptance=float(acceptance.mean()), **result)


if __name__ == "__main__":
    main()
