"""The posteriors of the league for JAX: log prior of θ, and the distribution of the responses given θ."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

CLASSES, SHAPE_SD = 4, 5.0  # of the softmax; prior of the logarithm of a sampled shape
SHAPES = {"student-t": 1, "negative-binomial": 1}


def flat(size: int) -> Any:
    """No density at all: the prior is given as a factor."""
    return dist.ImproperUniform(dist.constraints.real_vector, (), (size,))


def log_prior(theta: Any, prior_sd: Any, family: str) -> Any:
    """Normal coefficients; effects N(0, s²) with s half-normal, its logarithm the last of θ."""
    if family == "hierarchical":
        columns = prior_sd.shape[0]
        beta, effects, log_s = theta[:columns], theta[columns:-1], theta[-1]
        s = jnp.exp(log_s)
        prior = dist.Normal(0.0, prior_sd).log_prob(beta).sum() + dist.HalfNormal(1.0).log_prob(s) + log_s
        return prior + dist.Normal(0.0, s).log_prob(effects).sum()
    return dist.Normal(0.0, scales(prior_sd, family)).log_prob(theta).sum()


def scales(prior_sd: Any, family: str) -> Any:
    """Prior standard deviations of all of θ where they are fixed."""
    if family == "softmax":
        return jnp.tile(prior_sd, CLASSES - 1)
    return jnp.concatenate([prior_sd, jnp.full(SHAPES.get(family, 0), SHAPE_SD)])


def responses(theta: Any, x: Any, group: Any, family: str) -> Any:
    """The distribution of the responses of these rows."""
    if family == "hierarchical":
        columns = x.shape[-1]
        return dist.Bernoulli(logits=x @ theta[:columns] + theta[columns:-1][group])
    if family == "logistic":
        return dist.Bernoulli(logits=x @ theta)
    if family == "poisson":
        return dist.Poisson(jnp.exp(x @ theta))
    if family == "student-t":
        return dist.StudentT(4.0, x @ theta[:-1], jnp.exp(theta[-1]))
    if family == "negative-binomial":
        return dist.NegativeBinomial2(jnp.exp(x @ theta[:-1]), jnp.exp(-theta[-1]))
    eta = x @ theta.reshape(CLASSES - 1, -1).T
    zero = jnp.zeros((*eta.shape[:-1], 1))
    return dist.Categorical(logits=jnp.concatenate([zero, eta], axis=-1))


def log_likelihoods(theta: Any, x: Any, y: Any, group: Any, family: str) -> Any:
    """log p of each of these rows."""
    if family in ("logistic", "hierarchical"):  # numerically safe, and faster than the distribution's
        logits = responses(theta, x, group, family).logits
        return y * logits - jax.nn.softplus(logits)
    return responses(theta, x, group, family).log_prob(y)
