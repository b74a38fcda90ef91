"""Limits of memory: what may be loaded, and what stays in a mapped file."""

from __future__ import annotations

import os
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from designer.core.errors import BadInput

MAX_BYTES = 2**36  # of a file that is read, and of its content in memory
MOST_HELD = 0.75  # share of the memory that the system can use to cache a file
CONTROL_GROUPS = Path("/sys/fs/cgroup")


def allowed() -> int:
    """Bytes of memory available to this process: the machine's, or the container's if that is less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_limits(Path("/proc/self/cgroup"), CONTROL_GROUPS)])


def _limits(groups: Path, root: Path) -> list[int]:
    """Limits of this process's control groups and their parents, in the old and the unified hierarchy."""
    limits = []
    with suppress(OSError, ValueError):  # not Linux
        for line in groups.read_text(encoding="utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds not in ("", "memory"):
                continue
            top, name = (root, "memory.max") if kinds == "" else (root / "memory", "memory.limit_in_bytes")
            inner = Path(path.lstrip("/"))
            for part in (inner, *inner.parents):
                with suppress(OSError, ValueError):  # no limit, or "max"
                    limits.append(int((top / part / name).read_text(encoding="ascii")))
    return limits


def refuse(what: str, size: int, advice: str = "") -> None:
    """Refuse an object of `size` bytes that would exceed MAX_BYTES or half the memory, before it is made.

    `what` begins the message and ends with a verb, as in "x.npz: unpacks to"; `advice` says what to do instead.
    """
    half = allowed() // 2
    if size > min(MAX_BYTES, half):
        most = f"the limit of {MAX_BYTES:,}" if half >= MAX_BYTES else f"{half:,}, half the memory here"
        raise BadInput(f"{what} {size:,} bytes, more than {most}{advice and f'; {advice}'}")


def in_a_file(array: npt.NDArray[Any]) -> bool:
    """Whether an array is a view of a memory-mapped file."""
    base: object = array
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return isinstance(base, (np.memmap, mmap))


def too_large(*arrays: npt.NDArray[Any]) -> bool:
    """Whether the mapped files of these arrays are too large for the system to cache."""
    mapped = sum(array.nbytes for array in arrays if in_a_file(array))
    return mapped > 0 and mapped > MOST_HELD * allowed()
