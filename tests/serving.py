"""The dashboard's server as a separate process, for tests that talk to it over HTTP or in a browser."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from tests.commands import austerity

PATIENCE = 180.0  # seconds that tests wait for anything: machines may be busy, and kernels may compile first


class Server(NamedTuple):
    """Its address, its process, and what it has written so far."""

    address: str
    process: subprocess.Popen[str]
    output: IO[str]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def said(self) -> str:
        return Path(self.output.name).read_text(encoding="utf-8")


@contextmanager
def running(*command: str) -> Iterator[Server]:
    """`austerity app` on a free port, or the Python `command` that serves something else."""
    chosen = command or austerity("app", "--port", 0, "--no-browser")[1:]
    with (
        tempfile.NamedTemporaryFile("w+", encoding="utf-8", suffix=".log") as output,
        subprocess.Popen([sys.executable, *chosen], stdout=output, stderr=output, text=True) as process,
    ):
        try:
            yield Server(_address(process, Path(output.name)), process, output)
        finally:
            process.terminate()


def _address(process: subprocess.Popen[str], output: Path) -> str:
    """Wait until the server prints its address."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"austerity is at (\S+) ", output.read_text(encoding="utf-8")):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {output.read_text(encoding='utf-8')}")
