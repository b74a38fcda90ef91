"""NumPyro's HMCECS: Hamiltonian dynamics on a subsample with second-order proxies, with NUTS inside."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpyro
from densities import flat, log_prior, responses
from jax import lax, random
from job import read_job, run_blocks, write_result
from numpyro.contrib.ecs_proxies import taylor_proxy
from numpyro.infer import HMCECS, NUTS

SUBSAMPLE, BLOCKS, BLOCK, WARMUP = 100, 10, 50, 200


def main() -> None:
    job = read_job()
    begin = time.perf_counter()
    mode, prior_sd = jnp.asarray(job.mode), jnp.asarray(job.prior_sd)
    data = jnp.asarray(job.x), jnp.asarray(job.y), None if job.group is None else jnp.asarray(job.group)

    def model(x, y, group):
        theta = numpyro.sample("theta", flat(mode.size))
        numpyro.factor("prior", log_prior(theta, prior_sd, job.family))
        with numpyro.plate("data", x.shape[0], subsample_size=SUBSAMPLE):
            rows, response = numpyro.subsample(x, event_dim=1), numpyro.subsample(y, event_dim=0)
            groups = None if group is None else numpyro.subsample(group, event_dim=0)
            numpyro.sample("y", responses(theta, rows, groups, job.family), obs=response)

    inner = NUTS(model, inverse_mass_matrix=jnp.asarray(job.covariance), dense_mass=True, adapt_mass_matrix=False)
    kernel = HMCECS(inner, num_blocks=BLOCKS, proxy=taylor_proxy({"theta": mode}, degree=2))
    state = kernel.init(random.key(1), WARMUP, {"theta": mode}, data, {})

    @jax.jit
    def block(state, data):
        def step(state, _):
            state = kernel.sample(state, data, {})
            return state, (state.z["theta"], state.hmc_state.accept_prob, state.hmc_state.num_steps)

        return lax.scan(step, state, None, length=BLOCK)

    result = run_blocks(lambda state: block(state, data), state, job, begin, BLOCK, WARMUP)
    draws, acceptance, gradients = result.pop("trace")
    rows_read = float(gradients.mean()) * SUBSAMPLE
    write_result("numpyro", draws, rows=rows_read, acceptance=float(acceptance.mean()), **result)


if __name__ == "__main__":
    main()
