"""Experiments that the dashboard runs, each in a process of its own, so that no page waits for its Python code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from app.dashboard.jobs.job_queue import Job
from designer.core.errors import BadInput
from designer.core.progress import Cancelled
from samplers.experiments.framework.report import Report
from samplers.experiments.framework.running import stored

LONGEST = 600.0  # seconds; quick experiments take about one minute
STEPS = 1000  # of the progress bar


def run_quick(job: Job, name: str, arguments: Sequence[str] = ()) -> Report:
    """Run `austerity experiment NAME --quick` in a temporary folder; cancelling ends it and its child processes.

    `arguments` are further ones: those of `knobs`.
    """
    job.progress(0, STEPS, "starting the process, making the data, warming up")
    with tempfile.TemporaryDirectory(prefix="austerity-") as folder:
        # -P: a file app.py in the current folder must not take the place of our package
        size = [] if "--size" in arguments else ["--quick"]
        child = [
            sys.executable,
            "-P",
            "-m",
            "app.cli.child",
            repr(LONGEST + 60.0),
        ]  # if this server does not end it first
        with subprocess.Popen(
            [*child, "experiment", name, *size, *arguments, "--output", folder, "--no-figures", "--progress-lines"],
            stdin=subprocess.PIPE,  # closes when this server ends
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
            raise BadInput(lines[-1] if lines else f"{name}: the experiment ended with exit code {process.returncode}")
        return stored(Path(folder))[1]


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the process and its children (NUTS runs in one), unless it has ended."""
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)  # the process leads its group, so both have one id
    else:
        process.kill()


def _wait(process: subprocess.Popen[str], job: Job) -> None:
    """Wait until the process ends; raise Cancelled if the job is cancelled."""
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
            raise BadInput(f"stopped after {LONGEST:g} s; use the command line for such a run")


def _follow(stream: IO[str], job: Job, lines: list[str]) -> None:
    """Turn progress lines into the job's progress; keep other lines for the message if it fails."""
    for line in stream:
        share, _, note = line.strip().partition(" ")
        try:
            job.progress(round(STEPS * float(share)), STEPS, note)
        except ValueError:
            lines.append(line.strip().removeprefix("austerity: "))
