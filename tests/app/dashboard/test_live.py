"""An experiment in a process of its own: what it started ends with it, and the current folder does not matter."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.dashboard.jobs import live
from app.dashboard.jobs.jobs import Job
from designer import BadInput

CHILD = "import subprocess, sys; p = subprocess.Popen(['sleep', '100']); print(p.pid, flush=True); p.wait()"


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
        assert process.wait(10) != 0
    deadline = time.monotonic() + 10.0
    while running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(child)
    live._end(process)  # once more does nothing


def test_files_named_like_our_packages_are_not_imported(tmp_path, monkeypatch):
    for name in ("app", "designer", "samplers"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the folder was imported')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="experiment = 'e99': must be one of"):  # so the command itself has run
        live.run_quick(Job("e99", lambda job: None), "e99")
