"""The command `austerity` in a process that is copied from this one, where everything is imported already.

It is a process of its own, with its own files and signals, and may be killed like any other: it only starts in
milliseconds instead of seconds. Callers also start some commands the usual way.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple


class Ended(NamedTuple):
    """Exit code and what was written to standard error."""

    code: int
    said: str


class Preloaded:
    """A command that runs; as much of `subprocess.Popen` as the benchmarks need."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.returncode: int | None = None
        self._said = ""
        self._errors = tempfile.TemporaryFile("w+b")  # noqa: SIM115  (closed when the process has ended)
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            _become(arguments, self._errors.fileno())

    def poll(self) -> int | None:
        """The exit code, once it has ended."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def communicate(self, timeout: float = 300.0) -> tuple[str, str]:
        """Wait for its end; nothing, and what it wrote to standard error."""
        until = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > until:
                os.killpg(self.pid, signal.SIGKILL)
                raise TimeoutError(f"process {self.pid}: not done within {timeout:g} s")
            time.sleep(0.002)
        if not self._errors.closed:
            self._errors.seek(0)
            self._said = self._errors.read().decode()
            self._errors.close()
        return "", self._said


def here(arguments: Sequence[str]) -> Ended:
    """Run a command in this process, which loads all that it needs."""
    from app.cli.main import main

    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        code = main(arguments)
    lines = dict.fromkeys(f"austerity: {one.message}\n" for one in warned)  # as the command shows them
    return Ended(code, "".join(lines) + said.getvalue())


def ended(arguments: Sequence[str], timeout: float = 300.0) -> Ended:
    """What became of a command."""
    process = Preloaded(arguments)
    _, said = process.communicate(timeout)
    assert process.returncode is not None
    return Ended(process.returncode, said)


def _become(arguments: Sequence[str], errors: int) -> None:
    """In the copy: be the command, and end."""
    code = 70
    try:
        os.setsid()
        os.dup2(errors, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        from app.cli.main import main

        sys.argv = ["austerity", *arguments]
        code = main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
