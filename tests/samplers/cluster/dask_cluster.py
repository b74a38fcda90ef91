"""A real Dask cluster: a scheduler and worker processes, which a test may kill, on this machine or on several hosts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

PATIENCE = 180.0  # seconds for processes to start and kernels to compile, on a busy machine


def eventually(condition: Callable[[], object]) -> None:
    """Wait until it is true."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "took too long"
        time.sleep(0.05)


class Host(NamedTuple):
    """Where a process runs: its address, and what stands before its command."""

    address: str = "127.0.0.1"
    within: tuple[str, ...] = ()


HERE = Host()


class DaskCluster:
    """Workers have no nannies: one that is killed stays dead. They work in an empty directory of their own.

    `settings` are Dask's own, as variables of the environment.
    """

    def __init__(self, folder: Path, host: Host = HERE, protocol: str = "tcp", **settings: str) -> None:
        self.folder, self.file, self.settings = folder, folder / "scheduler.json", settings
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", host, "--port", "0", "--protocol", protocol)
        eventually(lambda: self.file.exists() and self.file.read_text().endswith("}"))
        self.address: str = json.loads(self.file.read_text())["address"]

    def add_worker(self, blas_threads: int, host: Host = HERE) -> subprocess.Popen[bytes]:
        """One more, with this many threads for BLAS at the start."""
        options = "--no-nanny", "--nthreads", "1", "--local-directory", str(self.folder)
        self.workers.append(self._start("worker", host, *options, threads=blas_threads))
        return self.workers[-1]

    def kill(self, pid: int) -> None:
        """Without a chance to say goodbye."""
        os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """Stop all of it."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def said(self, kind: str) -> str:
        """What the scheduler, or all workers, have written."""
        return (self.folder / f"{kind}.log").read_text()

    def _start(self, kind: str, host: Host, *options: str, threads: int = 1) -> subprocess.Popen[bytes]:
        place = self.folder / "elsewhere"
        place.mkdir(exist_ok=True)
        numbers = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        command = [*host.within, sys.executable, "-m", f"distributed.cli.dask_{kind}", "--host", host.address]
        command += ["--scheduler-file", str(self.file), "--no-dashboard", *options]
        with open(self.folder / f"{kind}.log", "ab") as log:
            return subprocess.Popen(
                command, cwd=place, env=os.environ | numbers | self.settings, stdout=log, stderr=log
            )
