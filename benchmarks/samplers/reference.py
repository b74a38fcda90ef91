"""Means and standard deviations of the exact posterior, as a reference for approximate chains.

The Laplace approximation N(mode, C) is so close that exact importance weights hardly vary. Draws come in pairs
mode ± d, and the known moments of N(mode, C) serve as control variates: only the effect of the weights is estimated, so
that the standard errors are those of a chain with many times as many draws. Each weight reads all data.

`python -m benchmarks.samplers.reference` makes the stored reference for N = 10^6 again, with a chain of the exact test.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from benchmarks.samplers.chains import LogisticProblem, TimedChain, ess, make_problem, measure
from designer.core.arrays import Floats
from samplers.decide.exact import ExactTest

STORED = Path(__file__).with_name("reference_1e6.json")
N_STORED, PAIRS, SEED, CHAIN_SECONDS = 1_000_000, 1000, 7, 240.0
ROWS, TOGETHER = 16_384, 16  # rows and pairs handled at once


class Reference(NamedTuple):
    """Means and sds with standard errors: of the mean in sds, of the sd relative to it; `ess` is for the weights."""

    mean: Floats
    sd: Floats
    mean_se: Floats
    sd_se: Floats
    pairs: int
    ess: float


def reference(problem: LogisticProblem) -> Reference:
    """The stored reference if it belongs to these data, otherwise a new one."""
    if STORED.exists() and problem.model.n_data == N_STORED:
        stored = json.loads(STORED.read_text(encoding="utf-8"))
        if stored["data"] == digest(problem):
            return from_json(stored["importance"])
    return importance(problem, 10 * PAIRS if problem.model.n_data < N_STORED // 10 else PAIRS)


def importance(problem: LogisticProblem, pairs: int = PAIRS, seed: int = SEED) -> Reference:
    """Self-normalised importance sampling from N(mode, C), in antithetic pairs, with known Gaussian moments."""
    factor = np.linalg.cholesky(problem.covariance)
    d = np.random.default_rng(seed).standard_normal((pairs, problem.mode.size)) @ factor.T
    log_weight = np.concatenate([log_weights(problem, part) for part in np.array_split(d, -(-pairs // TOGETHER))])
    weight = np.exp(log_weight)
    even, odd = 0.5 * weight.sum(axis=1), 0.5 * (weight[:, 0] - weight[:, 1])
    total, variance = even.mean(), np.diag(problem.covariance)
    shift = (odd[:, None] * d).mean(axis=0) / total
    excess = ((even - total)[:, None] * (d**2 - variance)).mean(axis=0) / total
    sd = np.sqrt(variance + excess - shift**2)
    mean_noise = (odd[:, None] * d - even[:, None] * shift) / total
    square_noise = (even - total)[:, None] * (d**2 - variance) / total - excess
    mean_se, square_se = (noise.std(axis=0) / np.sqrt(pairs) for noise in (mean_noise, square_noise))
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    return Reference(problem.mode + shift, sd, mean_se / sd, square_se / (2.0 * sd**2), pairs, effective)


def log_weights(problem: LogisticProblem, d: Floats) -> Floats:
    """Log of posterior over N(mode, C) at mode + d and mode - d, relative to the mode, as columns."""
    model, hessian = problem.model, problem.controlled.hessian
    total, at_mode = np.zeros((len(d), 2)), np.zeros((1, 2))
    for start in range(0, model.n_data, ROWS):
        rows = model.rows[start : start + ROWS]
        eta = rows @ problem.mode
        add_log_likelihood(eta, d @ rows.T, total)
        add_log_likelihood(eta, np.zeros((1, eta.size)), at_mode)
    quadratic = 0.5 * np.einsum("ij,jk,ik->i", d, hessian, d)  # with the prior's, also quadratic, that of N(mode, C)
    linear = d @ model.prior_gradient(problem.mode)
    return total - at_mode - quadratic[:, None] + linear[:, None] * np.array([1.0, -1.0])


@njit(cache=True, nogil=True, error_model="numpy")
def add_log_likelihood(eta, step, out):
    """Add sum_i log sigmoid(eta_i ± step_ji) to out[j]; 64 factors in (1, 2] are multiplied before a logarithm."""
    for j in range(step.shape[0]):
        for start in range(0, eta.size, 64):
            up, down = 1.0, 1.0
            for i in range(start, min(start + 64, eta.size)):
                above, below = eta[i] + step[j, i], eta[i] - step[j, i]
                up *= 1.0 + math.exp(-abs(above))
                down *= 1.0 + math.exp(-abs(below))
                out[j, 0] += min(above, 0.0)
                out[j, 1] += min(below, 0.0)
            out[j, 0] -= math.log(up)
            out[j, 1] -= math.log(down)


def digest(problem: LogisticProblem) -> str:
    """A digest of the data."""
    return hashlib.sha256(np.ascontiguousarray(problem.model.rows)).hexdigest()[:16]


def from_json(stored: dict[str, Any]) -> Reference:
    """Read a stored reference."""
    arrays = (np.array(stored[name]) for name in ("mean", "sd", "mean_se", "sd_se"))
    return Reference(*arrays, stored["pairs"], stored["ess"])


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.7g}") for value in values]


def _chain_to_json(run: TimedChain) -> dict[str, Any]:
    each = ess(run.theta)
    return {
        "draws": len(run.theta),
        "acceptance": round(run.acceptance, 4),
        "mean": _rounded(run.theta.mean(axis=0)),
        "sd": _rounded(run.theta.std(axis=0)),
        "ess": _rounded(each),
    }


def main() -> None:
    problem = make_problem(N_STORED)
    truth = importance(problem)
    chain = measure(problem, problem.controlled, problem.proxy, ExactTest(), CHAIN_SECONDS, seed=SEED)
    arrays = {name: _rounded(getattr(truth, name)) for name in ("mean", "sd", "mean_se", "sd_se")}
    stored = {
        "n_data": N_STORED,
        "data": digest(problem),
        "seed": SEED,
        "importance": {"pairs": truth.pairs, "ess": round(truth.ess, 1), **arrays},
        "exact_chain": _chain_to_json(chain),
    }
    STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
