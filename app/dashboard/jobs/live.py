"""An experiment run by the dashboard: in a process of its own, so that no page waits for its Python code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

from app.dashboard.jobs.jobs import Job
from designer.core.errors import BadInput
from designer.core.progress import Cancelled
from samplers.experiments.framework.report import Report
from samplers.experiments.framework.running import stored

LONGEST = 600.0  # seconds; quick experiments take about one minute
STEPS = 1000  # of the progress bar


def run_quick(job: Job, name: str) -> Report:
    """`austerity experiment NAME --quick` in a folder that is thrown away; cancelling ends it and what it started."""
    job.progress(0, STEPS, "preparing: its process starts, makes the data and warms up")
    with tempfile.TemporaryDirectory(prefix="austerity-") as folder:
        command = [sys.executable, "-P", "-m", "app.cli", "experiment", name]  # -P: not an app.py of this folder
        with subprocess.Popen(
            [*command, "--quick", "--output", folder, "--no-figures", "--progress-lines"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            lines: list[str] = []
            assert process.stderr is not None
            reader = threading.Thread(target=_follow, args=(process.stderr, job, lines), daemon=True)
            reader.start()
            try:
                _wait(process, job)
            finally:
                _end(process)
                reader.join()
        if process.returncode != 0:
            raise BadInput(lines[-1] if lines else f"{name}: the experiment stopped with code {process.returncode}")
        return stored(Path(folder))[1]


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the process with its children (NUTS runs in one); nothing happens if it has ended."""
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)  # its session's group has its number
    else:
        process.kill()


def _wait(process: subprocess.Popen[str], job: Job) -> None:
    """Until the process ends or the user has had enough."""
    waited = 0.0
    while True:
        try:
            process.wait(timeout=0.2)
            return
        except subprocess.TimeoutExpired:
            waited += 0.2
        if job.cancelled():
            raise Cancelled
        if waited > LONGEST:
            raise BadInput(f"stopped after {LONGEST:g} s; run it on the command line instead")


def _follow(stream: IO[str], job: Job, lines: list[str]) -> None:
    """Progress lines become the job's progress; anything else is kept, for the message if it fails."""
    for line in stream:
        share, _, note = line.strip().partition(" ")
        try:
            job.progress(round(STEPS * float(share)), STEPS, note)
        except ValueError:
            lines.append(line.strip().removeprefix("austerity: "))
