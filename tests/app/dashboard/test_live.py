"""An experiment that is stopped takes what it started with it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.dashboard.jobs import live
from tests.serving import PATIENCE

CHILD = "import subprocess, sys; p = subprocess.Popen(['sleep', '1000']); print(p.pid, flush=True); p.wait()"


def running(pid: int) -> bool:
    """Whether a process is there, and not only waiting to be buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_children_end_with_the_process():
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert running(child)
        live._end(process)
        assert process.wait(PATIENCE) != 0
    deadline = time.monotonic() + PATIENCE
    while running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(child)
    live._end(process)  # once more does nothing
