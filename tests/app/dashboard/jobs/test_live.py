"""Live experiments: outcome, progress, cancel, failure; one that is stopped ends what it started."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from app.dashboard.jobs import live
from app.dashboard.jobs.job_queue import Job
from designer.core.errors import BadInput
from designer.core.progress import Cancelled
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


def test_an_experiment_runs_live():
    job = Job("e13", lambda job: live.run_quick(job, "e13"))
    job.run()
    assert all(job.outcome().checks.values())
    assert job.share == 1.0


def test_a_live_experiment_says_what_it_does_before_there_is_progress():
    job = Job("e13", lambda job: live.run_quick(job, "e13"))
    job.cancel()
    with pytest.raises(Cancelled):
        live.run_quick(job, "e13")
    assert job.share == 0.0 and "starting the process" in job.state.note


def test_a_file_named_app_in_the_current_folder_does_no_harm(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text("raise SystemExit('the wrong file')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="experiment = 'e99'"):
        live.run_quick(Job("e99", lambda job: None), "e99")


def test_a_live_experiment_can_be_cancelled_and_fail():
    waiting = Job("e3", lambda job: live.run_quick(job, "e3"))
    threading.Timer(1.0, waiting.cancel).start()  # while its process starts
    waiting.run()
    assert waiting.outcome() is None
    failed = Job("e99", lambda job: live.run_quick(job, "e99"))
    failed.run()
    with pytest.raises(BadInput, match="experiment = 'e99'"):
        failed.outcome()
