"""Chains with group effects have the posterior that NumPyro's NUTS finds for the same model, written by hand.

`python -m tests.samplers.chains.test_group_posterior` runs NUTS again and stores its moments.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.special import expit

from samplers.chains.chain import Chain
from samplers.decide import ExactMinibatchTest
from samplers.models.control import Controlled, find_mode
from samplers.models.glm import glm_model
from samplers.models.groups import Groups
from samplers.proposals import ArrowStep

N, D, G = 400, 2, 6
STEPS, BATCHES = 10_000, 40
STORED = Path(__file__).parents[2] / "data" / "group_posterior.json"


def data():
    rng = np.random.default_rng(1)
    x, index = rng.standard_normal((N, D)), rng.permutation(N) % G
    x[:, 0] = 1.0
    eta = x @ [0.5, -1.0] + 0.8 * rng.standard_normal(G)[index] + 0.4 * rng.standard_normal(G)[index] * x[:, 1]
    return x, (rng.random(N) < expit(eta)).astype(float), index


def nuts():
    """Draws of the coefficients, the effects and the log scales; not centred, for NUTS' sake."""
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    x, y, index = data()

    def model():
        beta = numpyro.sample("beta", dist.Normal(0.0, 1.0).expand([D]))
        scale = numpyro.sample("scale", dist.HalfNormal(1.0).expand([2]))
        raw = numpyro.sample("raw", dist.Normal(0.0, 1.0).expand([G, 2]))
        effects = raw * scale
        eta = x @ beta + effects[index, 0] + effects[index, 1] * x[:, 1]
        numpyro.sample("y", dist.Bernoulli(logits=eta), obs=y)

    mcmc = MCMC(NUTS(model), num_warmup=500, num_samples=8000, num_chains=1, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(1))
    drawn = {name: np.asarray(value, dtype=float) for name, value in mcmc.get_samples().items()}
    effects = (drawn["raw"] * drawn["scale"][:, None, :]).reshape(-1, 2 * G)
    return np.hstack([drawn["beta"], effects, np.log(drawn["scale"])])


def moments(draws):
    """Means and squares about a fixed place, with standard errors by batch means."""
    values = np.hstack([draws, (draws - PLACE) ** 2])
    batches = values[: values.shape[0] // BATCHES * BATCHES].reshape(BATCHES, -1, values.shape[1]).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(BATCHES)


PLACE = np.concatenate([[0.3, -1.0], np.zeros(2 * G), [-0.5, -1.0]])


def test_the_posterior_is_that_of_nuts():
    x, y, index = data()
    towns = Groups(index, np.column_stack([np.ones(N), x[:, 1]]), "town", scale=1.0, degrees=np.inf)
    model = glm_model(x, y, prior=1.0, groups=[towns])
    proxied = Controlled.around(model, find_mode(model))
    stored = json.loads(STORED.read_text())
    assert stored["outcomes"] == int(y.sum())  # NUTS had the same data
    expected, error = np.array(stored["moments"]), np.array(stored["errors"])
    chain = Chain(proxied, ArrowStep.of(proxied), ExactMinibatchTest(), proxied.centre, np.random.default_rng(2))
    chain.advance(500)
    found, own_error = moments(chain.advance(STEPS).theta)
    assert np.abs((found - expected) / np.hypot(error, own_error)).max() < 4.0
    assert own_error[: D + 2 * G].max() < 0.03


if __name__ == "__main__":
    means, errors = (values.round(6).tolist() for values in moments(nuts()))
    content = {"outcomes": int(data()[1].sum()), "moments": means, "errors": errors}
    STORED.write_text(json.dumps(content, indent=1) + "\n")
