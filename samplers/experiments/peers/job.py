"""What all peer scripts share: they read a problem, draw for a limited time, and write the result.

Run as `python SCRIPT.py PROBLEM.npz RESULT.json OPTIONS`; OPTIONS is a JSON object. The draws go to RESULT.npy, so that
the same program counts all effective draws.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Job(NamedTuple):
    """Signed rows y_i xᵢ, the prior's precision, mode and covariance of the Laplace approximation, and options."""

    rows: np.ndarray
    prior_precision: float
    mode: np.ndarray
    covariance: np.ndarray
    options: dict[str, Any]


def read_job() -> Job:
    """The problem and the options that the command line names; `"one_core": true` keeps the process on one core."""
    options = json.loads(sys.argv[3])
    if options.get("one_core") and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with np.load(sys.argv[1]) as problem:
        rows, precision, mode, covariance = (
            problem[name] for name in ("rows", "prior_precision", "mode", "covariance")
        )
    return Job(rows, float(precision), mode, covariance, options)


def write_result(package: str, draws: np.ndarray, **figures: Any) -> None:
    """Write RESULT.json and RESULT.npy."""
    path = Path(sys.argv[2])
    np.save(path.with_suffix(".npy"), np.asarray(draws, dtype=np.float64))
    path.write_text(json.dumps({"package": package, "version": version(package), **figures}))


def run_blocks(advance: Callable[[Any], tuple[Any, Any]], state: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Compile, warm up, then draw until the limit of seconds or draws is reached.

    advance(state) -> (state, trace) makes a block of `block` steps; a trace is a tuple of arrays, the draws first.
    """
    import jax

    start = time.perf_counter()
    jax.block_until_ready(advance(state))
    compiling = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(options["warmup"] // options["block"]):
        state, trace = jax.block_until_ready(advance(state))
    warmup = time.perf_counter() - start
    parts, start = [], time.perf_counter()
    while time.perf_counter() - start < options["seconds"] and len(parts) * options["block"] < options["draws"]:
        state, trace = jax.block_until_ready(advance(state))
        parts.append(trace)
    seconds = time.perf_counter() - start
    columns = [np.concatenate([np.asarray(part) for part in column]) for column in zip(*parts, strict=True)]
    return {"trace": columns, "compiling": compiling, "warmup": warmup, "seconds": seconds}
