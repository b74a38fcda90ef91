"""NumPyro's HMCECS: Hamiltonian dynamics on a subsample with second-order proxies, with NUTS inside."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro
from jax import lax, random
from job import read_job, run_blocks, write_result
from numpyro import distributions
from numpyro.contrib.ecs_proxies import taylor_proxy
from numpyro.infer import HMCECS, NUTS


def main() -> None:
    job = read_job()
    jax.config.update("jax_enable_x64", job.options["x64"])
    rows, mode = jnp.asarray(job.rows), jnp.asarray(job.mode)
    scale = job.prior_precision**-0.5

    def model(rows):
        theta = numpyro.sample("theta", distributions.Normal(jnp.zeros(mode.size), scale).to_event(1))
        with numpyro.plate("data", rows.shape[0], subsample_size=job.options["subsample"]):
            drawn = numpyro.subsample(rows, event_dim=1)
            likelihood = distributions.Bernoulli(logits=drawn @ theta)
            numpyro.sample("label", likelihood, obs=jnp.ones(drawn.shape[0]))

    inner = NUTS(model, inverse_mass_matrix=jnp.asarray(job.covariance), dense_mass=True, adapt_mass_matrix=False)
    kernel = HMCECS(inner, num_blocks=job.options["blocks"], proxy=taylor_proxy({"theta": mode}, degree=2))
    state = kernel.init(random.key(job.options["seed"]), job.options["warmup"], {"theta": mode}, (rows,), {})

    @jax.jit
    def block(state, rows):
        def step(state, _):
            state = kernel.sample(state, (rows,), {})
            return state, (state.z["theta"], state.hmc_state.accept_prob)

        return lax.scan(step, state, None, length=job.options["block"])

    result = run_blocks(lambda state: block(state, rows), state, job.options)
    draws, acceptance = result.pop("trace")
    write_result("numpyro", draws, acceptance=float(acceptance.mean()), **result)


if __name__ == "__main__":
    main()
