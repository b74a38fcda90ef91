"""Pairs from the draws of another tool: NumPyro, PyMC, Stan. Lines with `replace` are an example to be replaced."""

from __future__ import annotations

from app.dashboard.recipes.recipe import Recipe

ABOUT = (
    "Any two draws of your posterior tell how noisy a random walk's decisions are. `acceptance` is the rate of the "
    "walk that you will run. A few hundred draws are enough; each needs one number per row of the data."
)
RANDOM_WALK = 'trial = au.trial_from_posterior(rng, {source}, "random", 200, acceptance=0.28).trial'

NUMPYRO = Recipe(
    "my_trial.py",
    "python",
    ABOUT,
    f"""\
import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import xarray

import austerity as au

rng = np.random.default_rng(1)
x = rng.normal(size=(10_000, 3))  # replace: your data
y = rng.random(10_000) < 1 / (1 + np.exp(-x @ [0.5, -1.0, 0.2]))


def model(x, y):  # replace: your model
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=x @ theta), obs=y.astype(float))


mcmc = numpyro.infer.MCMC(numpyro.infer.NUTS(model), num_warmup=300, num_samples=300, progress_bar=False)
mcmc.run(jax.random.PRNGKey(0), x, y)
terms = numpyro.infer.log_likelihood(model, mcmc.get_samples(), x, y)["y"]  # draws, rows

group = xarray.Dataset({{"y": (("chain", "draw", "row"), np.asarray(terms)[None])}})
{RANDOM_WALK.format(source="group")}
trial.to_csv("trial.csv")
""",
)

PYMC = Recipe(
    "my_trial.py",
    "python",
    ABOUT,
    f"""\
import numpy as np
import pymc as pm

import austerity as au

rng = np.random.default_rng(1)
x = rng.normal(size=(10_000, 3))  # replace: your data
y = rng.random(10_000) < 1 / (1 + np.exp(-x @ [0.5, -1.0, 0.2]))

with pm.Model():  # replace: your model
    theta = pm.Normal("theta", 0.0, 1.0, shape=3)
    pm.Bernoulli("y", logit_p=x @ theta, observed=y)
    draws = pm.sample(300, tune=300, chains=1, random_seed=0, progressbar=False)
    pm.compute_log_likelihood(draws, progressbar=False)

{RANDOM_WALK.format(source="draws")}
trial.to_csv("trial.csv")
""",
)

STAN = Recipe(
    "my_trial.py",
    "python",
    ABOUT + " Your Stan program must compute `log_lik`, as below.",
    f'''\
import cmdstanpy
import numpy as np
import xarray

import austerity as au

PROGRAM = """
data {{ int N; int D; matrix[N, D] x; array[N] int<lower=0, upper=1> y; }}
parameters {{ vector[D] theta; }}
model {{ theta ~ normal(0, 1); y ~ bernoulli_logit(x * theta); }}
generated quantities {{
  vector[N] log_lik;
  for (i in 1:N) log_lik[i] = bernoulli_logit_lpmf(y[i] | x[i] * theta);
}}
"""
rng = np.random.default_rng(1)
x = rng.normal(size=(10_000, 3))  # replace: your data
y = rng.random(10_000) < 1 / (1 + np.exp(-x @ [0.5, -1.0, 0.2]))

with open("model.stan", "w") as file:  # replace: your program
    file.write(PROGRAM)
data = {{"N": len(y), "D": x.shape[1], "x": x.tolist(), "y": y.astype(int).tolist()}}
fit = cmdstanpy.CmdStanModel(stan_file="model.stan").sample(data, chains=1, iter_sampling=300, seed=1)

group = xarray.Dataset({{"y": (("chain", "draw", "row"), fit.stan_variable("log_lik")[None])}})
{RANDOM_WALK.format(source="group")}
trial.to_csv("trial.csv")
''',
)
