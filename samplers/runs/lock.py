"""Locks on directories, each held by one process: the system frees a lock when its process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from designer.core.errors import Busy
from designer.core.files import shorten
from samplers.runs.checksummed_file import make_directory

HALF = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")  # what `replacing` and `write_whole` had not finished


def take(directory: Path, name: str = "lock") -> int:
    """Lock a directory by a file in it, which says who holds the lock; closing the descriptor frees it.

    `Busy` if another process holds it. A lock file that a killed process left behind is just a file.
    """
    make_directory(directory)
    while True:
        descriptor = os.open(directory / name, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = shorten(os.pread(descriptor, 200, 0).decode("utf-8", "replace") or "another process", 80)
            os.close(descriptor)
            raise Busy(f"{directory}: is being written by another run ({holder})") from None
        if _is_at(descriptor, directory / name):
            break
        os.close(descriptor)  # somebody removed the file just now: a lock on it would keep nobody out
    with suppress(OSError):  # on a full disk the lock holds without its note
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
    return descriptor


@contextmanager
def holding(directory: Path, name: str = "lock") -> Iterator[None]:
    """Keep other processes from writing to a directory; `Busy` if one does already.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, holding(Path(folder)):
    ...     try:
    ...         take(Path(folder))
    ...     except Busy:
    ...         print("busy")
    busy
    """
    descriptor = take(directory, name)
    try:
        yield
    finally:
        os.close(descriptor)


def remove_half_written(*directories: Path) -> None:
    """Remove files that killed processes left half-written; the caller holds the lock, so nobody writes any."""
    for directory in directories:
        for path in directory.glob(".*.tmp"):
            if HALF.fullmatch(path.name):
                path.unlink(missing_ok=True)


def _is_at(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    return False
