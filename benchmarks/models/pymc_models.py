"""Models after PyMC's example gallery; the data are simulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm


def robust_regression(rng: np.random.Generator, n: int) -> Any:
    """Student-t regression: gallery, "GLM: Robust Regression using Custom Likelihood"/"Robust Linear Regression"."""
    x = rng.standard_normal(n)
    y = 1.0 + 2.0 * x + 0.5 * rng.standard_t(3.0, n)
    with pm.Model() as model:
        xdata = pm.Data("x", x)
        intercept = pm.Normal("intercept", mu=0, sigma=1)
        slope = pm.Normal("slope", mu=0, sigma=1)
        mu = pm.Deterministic("mu", intercept + slope * xdata)
        sigma = pm.HalfCauchy("sigma", beta=10)
        nu = pm.InverseGamma("nu", alpha=1, beta=1)
        pm.StudentT("y", mu=mu, sigma=sigma, nu=nu, observed=y)
    return model


def negative_binomial(rng: np.random.Generator, n: int) -> Any:
    """Sneezes by alcohol and medication: gallery, "GLM: Negative Binomial Regression"."""
    alcohol, nomeds = rng.integers(0, 2, n), rng.integers(0, 2, n)
    mean = np.exp(1.0 + 1.1 * alcohol + 0.7 * nomeds - 0.2 * alcohol * nomeds)
    y = rng.negative_binomial(3.0, 3.0 / (3.0 + mean))
    with pm.Model() as model:
        alpha = pm.Exponential("alpha", 0.5)
        b0 = pm.Normal("Intercept", mu=0, sigma=1)
        b1 = pm.Normal("nomeds", mu=0, sigma=1)
        b2 = pm.Normal("alcohol", mu=0, sigma=1)
        b3 = pm.Normal("nomeds:alcohol", mu=0, sigma=1)
        mu = pm.math.exp(b0 + b1 * nomeds + b2 * alcohol + b3 * nomeds * alcohol)
        pm.NegativeBinomial("y", mu=mu, alpha=alpha, observed=y)
    return model


def radon(rng: np.random.Generator, n: int) -> Any:
    """Varying intercepts and slopes, centred: gallery, "A Primer on Bayesian Methods for Multilevel Modeling"."""
    county_idx, floor_measure = np.arange(n) % 60, rng.integers(0, 2, n).astype(float)
    a, b = rng.normal(1.5, 0.3, 60), rng.normal(-0.6, 0.3, 60)
    log_radon = a[county_idx] + b[county_idx] * floor_measure + 0.75 * rng.standard_normal(n)
    with pm.Model() as model:
        mu_a = pm.Normal("mu_a", mu=0.0, sigma=10.0)
        sigma_a = pm.Exponential("sigma_a", 1)
        mu_b = pm.Normal("mu_b", mu=0.0, sigma=10.0)
        sigma_b = pm.Exponential("sigma_b", 1)
        alpha = pm.Normal("alpha", mu=mu_a, sigma=sigma_a, shape=60)
        beta = pm.Normal("beta", mu=mu_b, sigma=sigma_b, shape=60)
        sigma_y = pm.Exponential("sigma_y", 1)
        y_hat = alpha[county_idx] + beta[county_idx] * floor_measure
        pm.Normal("y_like", mu=y_hat, sigma=sigma_y, observed=log_radon)
    return model


def censored(rng: np.random.Generator, n: int) -> Any:
    """Regression of censored data: gallery, "Bayesian regression with truncated or censored data"."""
    x = rng.uniform(-10.0, 10.0, n)
    y = np.clip(x + 2.0 * rng.standard_normal(n), -5.0, 5.0)
    with pm.Model() as model:
        m = pm.Normal("m", mu=0, sigma=1)
        c = pm.Normal("c", mu=0, sigma=1)
        sigma = pm.HalfNormal("σ", 1)
        latent = pm.Normal.dist(mu=m * x + c, sigma=sigma)
        pm.Censored("obs", latent, lower=-5.0, upper=5.0, observed=y)
    return model


def survival(rng: np.random.Generator, n: int) -> Any:
    """Weibull survival times, censored ones by a potential: gallery, "Bayesian Parametric Survival Analysis"."""
    metastasized = rng.integers(0, 2, n)
    log_time = 1.0 - 0.6 * metastasized + 0.7 * rng.gumbel(size=n)
    cens = rng.random(n) < 0.4
    X = np.column_stack([np.ones(n), metastasized])
    y_std = (log_time - log_time.mean()) / log_time.std()

    def gumbel_sf(y: Any, mu: Any, sigma: Any) -> Any:
        return 1.0 - pm.math.exp(-pm.math.exp(-(y - mu) / sigma))

    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 5.0, shape=2)
        eta = pm.math.dot(beta, X.T)
        s = pm.HalfNormal("s", 5.0)
        pm.Gumbel("y_obs", eta[~cens], s, observed=y_std[~cens])
        pm.Potential("y_cens", pm.math.log(gumbel_sf(y_std[cens], eta[cens], s)))
    return model


def mixture(rng: np.random.Generator, n: int) -> Any:
    """A mixture of normals, its components summed out: gallery, "Marginalized Gaussian Mixture Model"."""
    component = rng.choice(3, n, p=[0.35, 0.4, 0.25])
    y = rng.normal(np.array([0.0, 2.0, 5.0])[component], np.array([0.5, 0.5, 1.0])[component])
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(3))
        mu = pm.Normal("mu", 0.0, 10.0, shape=3, initval=[0, 2, 4])
        tau = pm.Gamma("tau", 1.0, 1.0, shape=3)
        pm.NormalMixture("x_obs", w, mu, tau=tau, observed=y)
    return model
