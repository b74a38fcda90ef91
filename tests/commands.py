"""The real command in processes of its own, and what the machine allows them."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

PATIENCE = 300.0  # seconds; a busy machine is slow, a test that hangs is worse


def austerity(*arguments: object) -> list[str]:
    """A command line; `-P` keeps files of the current folder, such as an `app.py`, from being imported."""
    return [sys.executable, "-P", "-m", "app.cli", *map(str, arguments)]


def finished(
    command: Sequence[str], *, env: dict[str, str] | None = None, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """What became of a command; `before` is done in its process."""
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=env, preexec_fn=before)


def files_of_at_most(size: int) -> Callable[[], None]:
    """For `before`: no file of the process may become longer than this many bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Until it is true; a process that ends before that is an error."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "took too long"
        time.sleep(0.01)


def killed_after_a_checkpoint(where: Path, config: Path, *options: object) -> None:
    """Start `austerity run` in the folder `where`, and kill it (SIGKILL) once it has saved a checkpoint."""
    command = austerity("run", config, "--output", where, "--quiet", *options)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: list(where.glob("chain-*/state-*.bin")), process)
        process.kill()


@cache
def _may_mount() -> str:
    """Empty, or why a process may not have mounts of its own."""
    try:
        found = finished(["unshare", "-m", "sh", "-c", 'd=$(mktemp -d) && mount -t tmpfs none "$d"'])
    except FileNotFoundError:
        return "there is no unshare"
    return found.stderr.strip() if found.returncode else ""


def with_mounts(script: str, *arguments: object) -> list[str]:
    """The command line of a shell script that may mount: nobody else sees it, and its end undoes it."""
    if problem := _may_mount():
        pytest.skip(f"NOT TESTED on a real file system: no mounts here ({problem})")
    return ["unshare", "-m", "sh", "-euc", script, "sh", *map(str, arguments)]


def listing(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
