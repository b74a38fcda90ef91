"""Exact means and standard deviations of a posterior, with their errors: `python -m benchmarks.league.reference`.

Draws of the Laplace approximation, weighted by all data, where the weights are even enough; otherwise a long chain with
exact decisions. Mode and Laplace covariance are kept too: peers are given them.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import austerity as au
from benchmarks.league.judge import effective
from benchmarks.league.posteriors import BY_NAME, Data
from samplers.chains.draws import Draws
from samplers.chains.parallel import streams
from samplers.study.laplace import verdict_by

WORK, FEWEST, MOST = 4e10, 1000, 4_000  # rows times coefficients times weighted draws, and how many of these
ENOUGH = 0.02  # standard error of any mean, in sds, and of any sd, at which weighted draws are good enough
CHAIN_SECONDS, LARGE = 150.0, 10**4  # of the exact chain; above this N it decides by the exact mini-batch test


class Reference(NamedTuple):
    """Means and sds, the standard errors of both in sds, and where they come from."""

    mean: np.ndarray
    sd: np.ndarray
    mean_se: np.ndarray
    sd_se: np.ndarray
    source: str

    @classmethod
    def load(cls, folder: Path) -> Reference:
        with np.load(folder / "reference.npz") as stored:
            return cls(*(stored[name] for name in cls._fields[:-1]), str(stored["source"]))


def make(name: str, n: int, folder: Path) -> None:
    """Write data, mode, covariance and reference of one posterior into a folder."""
    posterior = BY_NAME[name]
    data = posterior.data(n)
    folder.mkdir(parents=True, exist_ok=True)
    for key, values in data.items():
        np.save(folder / f"{key}.npy", values)
    model = posterior.model(data)
    found = chained(model, n) if "group" in data else weighted(model)
    if found is None:
        found = chained(model, n)
    reference, mode, covariance = found
    prior_sd = posterior.prior_sd(data["x"].shape[1])
    np.savez(folder / "known.npz", mode=mode, covariance=covariance, prior_sd=prior_sd, family=posterior.family)
    np.savez(folder / "reference.npz", **reference._asdict())


def load_data(folder: Path) -> Data:
    """The data of a folder."""
    return {key: np.load(folder / f"{key}.npy") for key in ("x", "y", "group") if (folder / f"{key}.npy").exists()}


Found = tuple[Reference, np.ndarray, np.ndarray]


def weighted(model: Any) -> Found | None:
    """By weighted draws; None where their weights are too uneven."""
    mode = au.find_mode(model)
    controlled = au.Controlled.around(model, mode)
    draws = int(np.clip(WORK / (model.n_data * mode.size), FEWEST, MOST))
    drawn = au.weighted_draws(controlled, np.random.default_rng(5), draws)
    verdict, trusted = verdict_by(drawn, 1e-9)
    if not trusted or max(verdict.mean_se.max(), verdict.sd_se.max()) > ENOUGH:
        return None
    sd = verdict.laplace.sd / (1.0 + verdict.sd_error)
    mean = verdict.laplace.centre - verdict.mean_error * sd
    factor = verdict.laplace.factor
    source = f"{draws:,} weighted draws"
    return Reference(mean, sd, verdict.mean_se, verdict.sd_se, source), mode, factor @ factor.T


def chained(model: Any, n: int) -> Found:
    """By a long chain whose decisions are exact."""
    kind = "exact" if n <= LARGE else "exact-minibatch"
    wishes = {"draws": 50, "warmup": 50, "chains": 1, "audit": False, "progress": False}
    spec = au.sample(model, test=kind, laplace="never", seed=9, **wishes).spec
    assert spec is not None
    chain, parts, begin = spec.chain(streams(9, 1)[0]), [], time.perf_counter()
    chain.advance(200)
    while time.perf_counter() - begin < CHAIN_SECONDS and sum(len(part.theta) for part in parts) < 400_000:
        parts.append(chain.advance(64))
    theta = Draws.joined(parts).theta
    bulk, spread = effective(theta)
    source = f"a chain of {len(theta):,} {'exact' if kind == 'exact' else 'exact mini-batch'} decisions"
    mean, sd = theta.mean(axis=0), theta.std(axis=0)
    reference = Reference(mean, sd, bulk**-0.5, (2.0 * spread) ** -0.5, source)
    return reference, mean, np.cov(theta.T)


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
