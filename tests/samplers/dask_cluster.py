"""A real Dask cluster on this machine: a scheduler and worker processes, which a test may kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 60.0  # seconds for processes to start, on a busy machine


def eventually(condition: Callable[[], object]) -> None:
    """Wait until it is true."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "took too long"
        time.sleep(0.05)


class DaskCluster:
    """Workers have no nannies: one that is killed stays dead. They work in an empty directory of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        eventually(lambda: self.file.exists() and self.file.read_text().endswith("}"))
        self.address: str = json.loads(self.file.read_text())["address"]

    def add_worker(self, blas_threads: int) -> subprocess.Popen[bytes]:
        """One more, with so many threads for BLAS at the start."""
        options = "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--local-directory", str(self.folder)
        self.workers.append(self._start("worker", *options, threads=blas_threads))
        return self.workers[-1]

    def kill(self, pid: int) -> None:
        """Without a chance to say goodbye."""
        os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """Stop all of it."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, kind: str, *options: str, threads: int = 1) -> subprocess.Popen[bytes]:
        place = self.folder / "elsewhere"
        place.mkdir(exist_ok=True)
        numbers = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(self.file)]
        with open(self.folder / f"{kind}.log", "ab") as log:
            return subprocess.Popen(
                [*command, "--no-dashboard", *options], cwd=place, env=os.environ | numbers, stdout=log, stderr=log
            )
