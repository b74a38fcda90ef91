"""Run NumPyro's NUTS beside our chains, if the project has an environment for it (`make peers`)."""

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
from samplers.experiments.problems.tall import PRIOR_PRECISION, TallProblem
from samplers.models.arrays import blocks
from samplers.models.logistic import Logistic

SCRIPTS = Path(__file__).parent
PYTHON = SCRIPTS.parents[2] / ".venv-peers" / "bin" / "python"
NUTS_SCRIPT = SCRIPTS / "nuts.py"
NOT_INSTALLED = "not installed: it needs a checkout of the project and `make peers`"
BLOCK_READS, WARMUP_READS = 2 * 10**8, 3 * 10**9  # data read by a block of draws, and by the warm-up, about
PER_DRAW = 10  # passes over the data, about
LEAST_WARMUP = 20  # draws
POLL = 0.5  # seconds


class NoPeer(Exception):
    """The peer made no draws; the message says why."""


def installed() -> bool:
    """Whether there is an environment to run the peers in."""
    return PYTHON.is_file()


def environment() -> dict[str, str]:
    """Environment variables of a peer's process: no GPU, and the module `job` can be imported."""
    return {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(SCRIPTS)}


def save_problem(file: Path, rows: Floats, prior_precision: float, mode: Floats, covariance: Floats) -> None:
    """Write what a peer's script reads: signed rows, prior, mode and covariance of the Laplace approximation."""
    np.savez(file, rows=rows, prior_precision=prior_precision, mode=mode, covariance=covariance)


def nuts(problem: TallProblem, seconds: float, warmup: int, seed: int, work: Work) -> dict[str, Any]:
    """Run NUTS from the mode, in float32 on all cores.

    It is given the Laplace covariance, so that warm-up tunes its step size only. Returns `draws`, the `seconds` they
    took without `warmup`, `gradients` per draw and the mean `acceptance`.
    """
    if not installed():
        raise NoPeer(NOT_INSTALLED)
    per_draw = PER_DRAW * problem.model.n_data
    block, warmup = max(1, min(50, BLOCK_READS // per_draw)), max(LEAST_WARMUP, min(warmup, WARMUP_READS // per_draw))
    options = {"x64": False, "laplace": True, "draws": 20_000, "block": block, "warmup": block * -(-warmup // block)}
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder) / "problem.npz", Path(folder) / "result.json"
        save_problem(file, _signed(problem.model), PRIOR_PRECISION, problem.proxy.centre, problem.covariance)
        _run([file, result, json.dumps({**options, "seed": seed, "seconds": seconds})], work)
        return {**json.loads(result.read_text(encoding="utf-8")), "draws": np.load(result.with_suffix(".npy"))}


def _run(arguments: list[Path | str], work: Work) -> None:
    command = [str(PYTHON), str(NUTS_SCRIPT), *map(str, arguments)]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment())
        try:
            while process.poll() is None:
                work.step(0.5, "NUTS")
                _wait(process)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            output.seek(0)
            lines = output.read().decode(errors="replace").strip().splitlines()
            raise NoPeer(f"failed: {shorten((lines or ['no message'])[-1], 120)}")


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(POLL)
    except subprocess.TimeoutExpired:
        return


def _signed(model: Logistic) -> Floats:
    """Rows times their labels, as the script expects them."""
    rows = np.array(model.rows)
    if model.labels is not None:
        for block in blocks(model.n_data):
            rows[block] *= np.where(model.labels[block] > 0, 1.0, -1.0)[:, None].astype(rows.dtype)
    return rows
