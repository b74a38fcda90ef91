"""Chains that record each proposal: NumPy, JAX, R. Lines with `replace` are an example to be replaced."""

from __future__ import annotations

from app.dashboard.recipes.recipe import Recipe

ABOUT = (
    "Your Metropolis–Hastings chain with five more lines, which record what the test would see. Replace the data, the "
    "likelihood, the prior and the proposal by yours. The start should be near the posterior mode."
)

NUMPY = Recipe(
    "my_trial.py",
    "python",
    ABOUT,
    """\
import numpy as np

rng = np.random.default_rng(1)
x = rng.normal(size=(10_000, 3))  # replace: your data
y = rng.random(10_000) < 1 / (1 + np.exp(-x @ [0.5, -1.0, 0.2]))


def log_likelihood(theta):  # replace: one number for each row of the data
    z = x @ theta
    return -np.logaddexp(0, np.where(y, -z, z))


def log_prior(theta):  # replace
    return -0.5 * theta @ theta


theta = np.array([0.5, -1.0, 0.2])  # replace: near the mode
terms, rows = log_likelihood(theta), []
for step in range(1200):
    proposed = theta + 0.02 * rng.normal(size=theta.size)  # replace: your proposal
    log_q = 0.0  # log q(proposed | theta) - log q(theta | proposed); 0 if symmetric
    new_terms = log_likelihood(proposed)
    l = new_terms - terms
    c = log_prior(theta) - log_prior(proposed) + log_q  # minus the usual log ratio
    if step >= 200 and step % 5 == 0:  # after warm-up, every fifth proposal, accepted or not
        mu, sigma = l.mean(), l.std()
        rows.append([mu, sigma, c, np.mean((l - mu) ** 3) / sigma**3])
    if np.log(rng.random()) < l.sum() - c:
        theta, terms = proposed, new_terms

header = f"# n_data: {len(y)}\\nmu,sigma,log_ratio,skew"
np.savetxt("trial.csv", rows, delimiter=",", header=header, comments="")
""",
)

JAX = Recipe(
    "my_trial.py",
    "python",
    ABOUT + " The moments are computed where the data are; only four numbers per proposal come back.",
    """\
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)  # sums of many small differences need it
rng = np.random.default_rng(1)
x = rng.normal(size=(10_000, 3))  # replace: your data
y = rng.random(10_000) < 1 / (1 + np.exp(-x @ [0.5, -1.0, 0.2]))


def log_likelihood(theta, x, y):  # replace: of one row of the data
    z = x @ theta
    return -jnp.logaddexp(0.0, jnp.where(y, -z, z))


def log_prior(theta):  # replace
    return -0.5 * theta @ theta


@jax.jit
def compare(theta, proposed, x, y):
    of_all = jax.vmap(log_likelihood, in_axes=(None, 0, 0))
    l = of_all(proposed, x, y) - of_all(theta, x, y)
    mu, sigma = l.mean(), l.std()
    c = log_prior(theta) - log_prior(proposed)  # minus the usual log ratio
    return mu, sigma, c, jnp.mean((l - mu) ** 3) / sigma**3


theta, rows = jnp.array([0.5, -1.0, 0.2]), []  # replace: near the mode
for step in range(1200):
    proposed = theta + 0.02 * rng.normal(size=theta.size)  # replace: your proposal
    log_q = 0.0  # log q(proposed | theta) - log q(theta | proposed); 0 if symmetric
    mu, sigma, c, skew = (float(value) for value in compare(theta, proposed, x, y))
    if step >= 200 and step % 5 == 0:  # after warm-up, every fifth proposal, accepted or not
        rows.append([mu, sigma, c + log_q, skew])
    if np.log(rng.random()) < len(y) * mu - c - log_q:
        theta = proposed

header = f"# n_data: {len(y)}\\nmu,sigma,log_ratio,skew"
np.savetxt("trial.csv", rows, delimiter=",", header=header, comments="")
""",
)

R = Recipe(
    "my_trial.R",
    "r",
    ABOUT,
    """\
set.seed(1)
n <- 10000
x <- matrix(rnorm(3 * n), n)  # replace: your data
y <- runif(n) < plogis(drop(x %*% c(0.5, -1, 0.2)))

log_likelihood <- function(theta) {  # replace: one number for each row of the data
  z <- drop(x %*% theta)
  plogis(ifelse(y, z, -z), log.p = TRUE)
}
log_prior <- function(theta) -0.5 * sum(theta^2)  # replace

theta <- c(0.5, -1, 0.2)  # replace: near the mode
terms <- log_likelihood(theta)
rows <- list()
for (step in 1:1200) {
  proposed <- theta + 0.02 * rnorm(length(theta))  # replace: your proposal
  log_q <- 0  # log q(proposed | theta) - log q(theta | proposed); 0 if symmetric
  new_terms <- log_likelihood(proposed)
  l <- new_terms - terms
  log_ratio <- log_prior(theta) - log_prior(proposed) + log_q  # minus the usual log ratio
  if (step > 200 && step %% 5 == 0) {  # after warm-up, every fifth proposal, accepted or not
    mu <- mean(l)
    sigma <- sqrt(mean((l - mu)^2))
    rows[[length(rows) + 1]] <- c(mu = mu, sigma = sigma, log_ratio = log_ratio,
                                  skew = mean((l - mu)^3) / sigma^3)
  }
  if (log(runif(1)) < sum(l) - log_ratio) {
    theta <- proposed
    terms <- new_terms
  }
}
file <- file("trial.csv", "w")
writeLines(paste("# n_data:", n), file)
write.csv(do.call(rbind, rows), file, row.names = FALSE, quote = FALSE)
close(file)
""",
)
