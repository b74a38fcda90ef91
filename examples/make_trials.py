"""Recompute the bundled example trial runs: `python examples/make_trials.py`.

logistic_trial.csv
    Random-walk chain on logistic regression, N = 100,000 rows, 10 coefficients: the pairs of an exact chain after
    warm-up, as a user would record them.
control_variate_trial.csv
    The same chain and pairs with second-order control variates: `mu`, `sigma`, `skew` are those of the residuals rᵢ;
    `log_ratio` absorbs the sum of the proxies.
unmixing_trial.csv
    Exact chain of random rotations that unmixes four sounds, N = 100,000 samples: the built-in chain `ica`.
ica_scale_trial.csv (for the docs; the package does not have it)
    N = 1,950,000, as in the independent component analysis of Korattikara et al. (2014) §6.2: synthetic pairs at
    stationarity, for an acceptance rate of one half.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import austerity as au
from samplers.config.built_in import built_in
from samplers.runs.run import collect_pairs

Floats = npt.NDArray[np.float64]
HERE = Path(__file__).parent
N_DATA, DIMENSION, PAIRS, PRIOR_PRECISION = 100_000, 10, 200, 1.0


def log_sigmoid(x: Floats) -> Floats:
    return -np.logaddexp(0.0, -x)


def newton(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Posterior mode, and the Hessian of the negative log posterior at it."""
    theta = np.zeros(x.shape[1])
    for _ in range(12):
        p = 1.0 / (1.0 + np.exp(-x @ theta))
        gradient = x.T @ (y - p) - PRIOR_PRECISION * theta
        hessian = (x * (p * (1.0 - p))[:, None]).T @ x + PRIOR_PRECISION * np.eye(x.shape[1])
        theta = theta + np.linalg.solve(hessian, gradient)
    return theta, hessian


def moments(values: Floats) -> tuple[float, float, float]:
    """Mean, standard deviation and skewness."""
    mean, sd = values.mean(), values.std()
    return float(mean), float(sd), float((((values - mean) / sd) ** 3).mean())


def chain(rng: np.random.Generator) -> tuple[au.TrialRun, au.TrialRun]:
    """Pairs of an exact random-walk chain, without and with control variates."""
    x = rng.standard_normal((N_DATA, DIMENSION))
    x[:, 0] = 1.0
    truth = rng.normal(0.0, 0.5, DIMENSION)
    y = (rng.random(N_DATA) < 1.0 / (1.0 + np.exp(-x @ truth))).astype(np.float64)
    mode, hessian = newton(x, y)
    step = np.linalg.cholesky(np.linalg.inv(hessian)) * 2.38 / np.sqrt(DIMENSION)
    signed = x * (2.0 * y - 1.0)[:, None]
    centre = signed @ mode  # linear predictors at the mode, where the proxies are expanded
    slope = 1.0 / (1.0 + np.exp(centre))
    curvature = -slope * (1.0 - slope)

    def proxy(eta: Floats) -> Floats:
        return slope * (eta - centre) + 0.5 * curvature * (eta - centre) ** 2

    theta, eta = mode, centre
    rows: list[tuple[float, ...]] = []
    residual_rows: list[tuple[float, ...]] = []
    for number in range(10 * PAIRS + 200):
        theta_new = theta + step @ rng.standard_normal(DIMENSION)
        eta_new = signed @ theta_new
        gain = log_sigmoid(eta_new) - log_sigmoid(eta)
        # minus the usual log ratio: log prior(theta) - log prior(theta')
        log_ratio = 0.5 * PRIOR_PRECISION * float(theta_new @ theta_new - theta @ theta)
        if number >= 200 and number % 10 == 0:
            change = proxy(eta_new) - proxy(eta)
            mu, sigma, skew = moments(gain)
            rows.append((mu, sigma, log_ratio, skew))
            mu, sigma, skew = moments(gain - change)
            residual_rows.append((mu, sigma, log_ratio - float(change.sum()), skew))
        if np.log(rng.random()) < gain.sum() - log_ratio:
            theta, eta = theta_new, eta_new
    plain, residual = (np.array(table).T for table in (rows, residual_rows))
    notes = {"proposal": "random-walk"}
    return au.TrialRun(N_DATA, *plain, notes=notes), au.TrialRun(N_DATA, *residual, notes=notes)


def main() -> None:
    rng = np.random.default_rng(20140621)
    plain, residual = chain(rng)
    plain.to_csv(HERE / "logistic_trial.csv")
    residual.to_csv(HERE / "control_variate_trial.csv")
    au.TrialRun.at_stationarity(1_950_000, 0.5, 200, rng).to_csv(HERE / "ica_scale_trial.csv")
    collect_pairs(built_in("ica"), PAIRS).to_csv(HERE / "unmixing_trial.csv")


if __name__ == "__main__":
    main()
