"""A mapped file costs no memory of its own: setting up and sampling take as much at many rows as at few."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.samplers.tall import TallFigures, make
from samplers.decide._permutation import MOST_DENSE

ROOT = Path(__file__).parents[3]
FEW, MANY = 10_000, MOST_DENSE + 10_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the memory of a process apart")
def test_memory_and_data_per_step_do_not_grow_with_the_file(tmp_path):
    make(tmp_path, MANY)
    for n_data in (FEW, MANY):
        _measured(n_data, tmp_path)  # a compiler's memory is not the sampler's: what is compiled stays on disk
    found = {n_data: _measured(n_data, tmp_path) for n_data in (FEW, MANY)}
    assert found[MANY].file_megabytes > 70
    assert found[MANY].own_megabytes < found[FEW].own_megabytes + 25
    assert found[MANY].data_per_step < 1.1 * found[FEW].data_per_step
    assert 0.1 < found[MANY].acceptance < 0.5


def _measured(n_data: int, folder: Path) -> TallFigures:
    command = [sys.executable, "-m", "benchmarks.samplers.tall", "--one", str(n_data), "--seconds", "0.05"]
    done = subprocess.run([*command, "--folder", str(folder)], cwd=ROOT, check=True, capture_output=True, text=True)
    return TallFigures(**json.loads(done.stdout))
