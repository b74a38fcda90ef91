"""Models after NumPyro's examples and tutorials; the data are simulated."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist


def covtype(data: Any, labels: Any) -> None:
    """Logistic regression: numpyro/examples/covtype.py."""
    dim = data.shape[1]
    coefs = numpyro.sample("coefs", dist.Normal(jnp.zeros(dim), jnp.ones(dim)))
    logits = jnp.dot(data, coefs)
    numpyro.sample("obs", dist.Bernoulli(logits=logits), obs=labels)


def covtype_data(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    x = np.column_stack([np.ones(n), rng.standard_normal((n, 9))])
    return x, (rng.random(n) < 1.0 / (1.0 + np.exp(-x @ (0.4 * rng.standard_normal(10))))).astype(int)


def zero_inflated_poisson(X: Any, Y: Any) -> None:
    """Zero-inflated Poisson regression: numpyro/examples/zero_inflated_poisson.py."""
    D_X = X.shape[1]
    b1 = numpyro.sample("b1", dist.Normal(0.0, 1.0).expand([D_X]).to_event(1))
    b2 = numpyro.sample("b2", dist.Normal(0.0, 1.0).expand([D_X]).to_event(1))
    with numpyro.plate("obs", X.shape[0]):
        numpyro.sample("Y", dist.ZeroInflatedPoisson(gate=1 / (1 + jnp.exp(-X @ b1)), rate=jnp.exp(X @ b2)), obs=Y)


def zero_inflated_poisson_data(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    x = np.column_stack([np.ones(n), rng.standard_normal((n, 3))])
    gate = 1.0 / (1.0 + np.exp(-x @ [-0.5, 0.5, 0.0, 0.3]))
    return x, np.where(rng.random(n) < gate, 0, rng.poisson(np.exp(x @ [0.6, 0.2, -0.3, 0.0])))


def ordinal(X: Any, Y: Any, K: int) -> None:
    """Ordinal regression: NumPyro's tutorial "Ordinal regression", its second model."""
    b_X_eta = numpyro.sample("b_X_eta", dist.Normal(0, 5))
    c_y = numpyro.sample(
        "c_y",
        dist.TransformedDistribution(dist.Normal(0, 1).expand([K - 1]).to_event(1), dist.transforms.OrderedTransform()),
    )
    with numpyro.plate("obs", X.shape[0]):
        eta = X * b_X_eta
        numpyro.sample("Y", dist.OrderedLogistic(eta, c_y), obs=Y)


def ordinal_data(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    x = rng.standard_normal(n)
    latent = 0.8 * x + rng.logistic(size=n)
    return x, np.digitize(latent, [-1.0, 0.0, 1.2]), 4


def ucbadmit(dept: Any, male: Any, applications: Any, admit: Any) -> None:
    """Admissions with varying, correlated effects, not centred: numpyro/examples/ucbadmit.py."""
    v_mu = numpyro.sample("v_mu", dist.Normal(0, jnp.array([4.0, 1.0])))
    sigma = numpyro.sample("sigma", dist.HalfNormal(jnp.ones(2)))
    L_Rho = numpyro.sample("L_Rho", dist.LKJCholesky(2, concentration=2))
    scale_tril = sigma[..., jnp.newaxis] * L_Rho
    num_dept = len(np.unique(dept))
    z = numpyro.sample("z", dist.Normal(jnp.zeros((num_dept, 2)), 1))
    v = jnp.dot(scale_tril, z.T).T
    logits = v_mu[0] + v[dept, 0] + (v_mu[1] + v[dept, 1]) * male
    numpyro.sample("admit", dist.Binomial(applications, logits=logits), obs=admit)


def ucbadmit_data(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    dept, male, applications = np.arange(n) % 12, rng.integers(0, 2, n), rng.integers(1, 6, n)
    effect = np.column_stack([rng.normal(-0.5, 0.9, 12), rng.normal(0.2, 0.4, 12)])
    p = 1.0 / (1.0 + np.exp(-effect[dept, 0] - effect[dept, 1] * male))
    return dept, male, applications, rng.binomial(applications, p)


def osic(patient_code: Any, Weeks: Any, FVC_obs: Any) -> None:
    """Hierarchical linear regression, centred: NumPyro's tutorial "Bayesian Hierarchical Linear Regression"."""
    μ_α = numpyro.sample("μ_α", dist.Normal(0.0, 500.0))
    σ_α = numpyro.sample("σ_α", dist.HalfNormal(100.0))
    μ_β = numpyro.sample("μ_β", dist.Normal(0.0, 3.0))
    σ_β = numpyro.sample("σ_β", dist.HalfNormal(3.0))
    n_patients = len(np.unique(patient_code))
    with numpyro.plate("plate_i", n_patients):
        α = numpyro.sample("α", dist.Normal(μ_α, σ_α))
        β = numpyro.sample("β", dist.Normal(μ_β, σ_β))
    σ = numpyro.sample("σ", dist.HalfNormal(100.0))
    FVC_est = α[patient_code] + β[patient_code] * Weeks
    with numpyro.plate("data", len(patient_code)):
        numpyro.sample("obs", dist.Normal(FVC_est, σ), obs=FVC_obs)


def osic_data(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    code, weeks = np.arange(n) % 40, rng.uniform(-1.0, 1.0, n)
    a, b = rng.normal(50.0, 20.0, 40), rng.normal(-2.0, 2.0, 40)
    return code, weeks, a[code] + b[code] * weeks + rng.normal(0.0, 15.0, n)


def horseshoe(X: Any, Y: Any) -> None:
    """Logistic regression with the horseshoe prior: numpyro/examples/horseshoe_regression.py."""
    D_X = X.shape[1]
    lambdas = numpyro.sample("lambdas", dist.HalfCauchy(jnp.ones(D_X)))
    tau = numpyro.sample("tau", dist.HalfCauchy(jnp.ones(1)))
    unscaled_betas = numpyro.sample("unscaled_betas", dist.Normal(0.0, jnp.ones(D_X)))
    scaled_betas = numpyro.deterministic("betas", tau * lambdas * unscaled_betas)
    mean_function = jnp.dot(X, scaled_betas)
    numpyro.sample("Y", dist.Bernoulli(logits=mean_function), obs=Y)


def horseshoe_data(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    x = rng.standard_normal((n, 8))
    return x, (rng.random(n) < 1.0 / (1.0 + np.exp(-x[:, 0] + 0.5 * x[:, 1]))).astype(int)


def baseball(at_bats: Any, hits: Any) -> None:
    """Partial pooling of batting averages, a rate for each player: numpyro/examples/baseball.py."""
    m = numpyro.sample("m", dist.Uniform(0, 1))
    kappa = numpyro.sample("kappa", dist.Pareto(1, 1.5))
    with numpyro.plate("num_players", at_bats.shape[0]):
        phi = numpyro.sample("phi", dist.Beta(m * kappa, (1 - m) * kappa))
        numpyro.sample("obs", dist.Binomial(at_bats, probs=phi), obs=hits)


def baseball_data(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    at_bats = rng.integers(20, 60, n)
    return at_bats, rng.binomial(at_bats, rng.beta(30.0, 70.0, n))
