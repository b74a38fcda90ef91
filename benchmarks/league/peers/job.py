"""What the peers' scripts share: they read a problem, draw for a limited time, and write the result.

Run as `python SCRIPT.py FOLDER RESULT.json SECONDS`. FOLDER has the data, the mode and the Laplace covariance; draws go
to RESULT.npy, so that one program judges all methods.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

DRAWS = 20_000  # at most
BLOCK_READS = 2e7  # data that a block of draws reads, about
PASSES = 10  # over the data, about, for a draw of NUTS
WARMUP, LEAST_WARMUP, WARMUP_READS = 300, 40, 4e8


class Job(NamedTuple):
    """Data in single precision, mode and covariance of the Laplace approximation, prior, family, and the time."""

    x: np.ndarray
    y: np.ndarray
    group: np.ndarray | None
    mode: np.ndarray
    covariance: np.ndarray
    prior_sd: np.ndarray
    family: str
    seconds: float

    @property
    def warmup(self) -> int:
        """Steps that tune the step size of a method that reads all data."""
        return int(np.clip(WARMUP_READS / (PASSES * len(self.y)), LEAST_WARMUP, WARMUP))

    @property
    def block(self) -> int:
        """Draws made at once by a method that reads all data."""
        return int(np.clip(BLOCK_READS / (PASSES * len(self.y)), 1, 50))


def read_job() -> Job:
    folder = Path(sys.argv[1])
    x, y = np.load(folder / "x.npy").astype(np.float32), np.load(folder / "y.npy")
    y = y.astype(np.float32) if y.dtype.kind == "f" else y.astype(np.int32)
    file = folder / "group.npy"
    group = np.load(file).astype(np.int32) if file.exists() else None
    with np.load(folder / "known.npz") as known:
        mode, covariance, prior_sd = known["mode"], known["covariance"], known["prior_sd"]
        return Job(x, y, group, mode, covariance, prior_sd, str(known["family"]), float(sys.argv[3]))


def write_result(package: str, draws: np.ndarray, **figures: Any) -> None:
    path = Path(sys.argv[2])
    np.save(path.with_suffix(".npy"), draws)
    figures["details"] = ", ".join(filter(None, (f"{package} {version(package)}", figures.get("details", ""))))
    path.write_text(json.dumps({"steps": len(draws), **figures}))


def run_blocks(
    advance: Callable[[Any], tuple[Any, Any]], state: Any, job: Job, begin: float, block: int, warmup: int
) -> dict[str, Any]:
    """Compile, warm up, then draw until the time is over.

    advance(state) -> (state, trace) makes a block of steps; a trace is a tuple of arrays, the draws first.
    """
    import jax

    for _ in range(-(-warmup // block) + 1):
        state, trace = jax.block_until_ready(advance(state))
    setup, parts, start = time.perf_counter() - begin, [], time.perf_counter()
    while time.perf_counter() - start < job.seconds and len(parts) * block < DRAWS:
        state, trace = jax.block_until_ready(advance(state))
        parts.append(trace)
    seconds = time.perf_counter() - start
    columns = [np.concatenate([np.asarray(part) for part in column]) for column in zip(*parts, strict=True)]
    return {"trace": columns, "setup": setup, "seconds": seconds}
