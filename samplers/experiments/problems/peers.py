"""NumPyro's NUTS beside our chains, where a checkout of the project has an environment for it (`make peers`)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.files import shorten
from samplers.experiments.framework.running import Work
from samplers.experiments.problems.tall import PRIOR_PRECISION, Problem
from samplers.models._kernels import blocks
from samplers.models.logistic import Logistic

PROJECT = Path(__file__).parents[3]
PYTHON = PROJECT / ".venv-peers" / "bin" / "python"
SCRIPT = PROJECT / "benchmarks" / "peers" / "nuts.py"
MISSING = "not installed: it needs a checkout of the project and `make peers`"
BLOCK_READS, WARMUP_READS = 2 * 10**8, 3 * 10**9  # data read by a block of draws, and by the warmup, about
PER_DRAW = 10  # passes over the data, about
LEAST_WARMUP = 20  # draws
POLL = 0.5  # seconds


class NoPeer(Exception):
    """Why there are no draws."""


def installed() -> bool:
    """Whether there is an environment to run it in."""
    return PYTHON.is_file() and SCRIPT.is_file()


def nuts(problem: Problem, seconds: float, warmup: int, seed: int, work: Work) -> dict[str, Any]:
    """NUTS from the mode, given the Laplace covariance, so that warmup tunes its step only; float32, on all cores.

    Returns `draws`, the `seconds` they took without `warmup`, `gradients` per draw and the mean `acceptance`.
    """
    if not installed():
        raise NoPeer(MISSING)
    per_draw = PER_DRAW * problem.model.n_data
    block, warmup = max(1, min(50, BLOCK_READS // per_draw)), max(LEAST_WARMUP, min(warmup, WARMUP_READS // per_draw))
    options = {"x64": False, "laplace": True, "draws": 20_000, "block": block, "warmup": block * -(-warmup // block)}
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder) / "problem.npz", Path(folder) / "result.json"
        np.savez(
            file,
            rows=_signed(problem.model),
            prior_precision=PRIOR_PRECISION,
            mode=problem.proxy.centre,
            covariance=problem.covariance,
        )
        _run([file, result, json.dumps({**options, "seed": seed, "seconds": seconds})], work)
        return {**json.loads(result.read_text(encoding="utf-8")), "draws": np.load(result.with_suffix(".npy"))}


def _run(arguments: list[Path | str], work: Work) -> None:
    command = [str(PYTHON), str(SCRIPT), *map(str, arguments)]
    with tempfile.TemporaryFile() as said:
        running = subprocess.Popen(command, stdout=said, stderr=said, env={**os.environ, "JAX_PLATFORMS": "cpu"})
        try:
            while running.poll() is None:
                work.step(0.5, "NUTS")
                _wait(running)
        finally:
            running.kill()
            running.wait()
        if running.returncode != 0:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            raise NoPeer(f"failed: {shorten((lines or ['no message'])[-1], 120)}")


def _wait(running: subprocess.Popen[bytes]) -> None:
    try:
        running.wait(POLL)
    except subprocess.TimeoutExpired:
        return


def _signed(model: Logistic) -> Floats:
    """Rows times their labels, as the script wants them."""
    rows = np.array(model.rows)
    if model.labels is not None:
        for block in blocks(model.n_data):
            rows[block] *= np.where(model.labels[block] > 0, 1.0, -1.0)[:, None].astype(rows.dtype)
    return rows
