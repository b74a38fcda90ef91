"""Files with a checksum: a file appears whole or not at all, and is read only if it is what was written.

A file is: magic, length of the header, header (JSON), raw arrays, SHA-256 of all that.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from designer.core.errors import BadInput
from designer.core.files import renamed, replacing, shorten, sync

MAGIC = b"AUSTER1\n"  # raise the number when an old reader would misunderstand a new file
MAX_BYTES = 2**32  # of one file


class Damaged(Exception):
    """The file cannot be trusted."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}; not used")


class ChecksummedFile(NamedTuple):
    """A file whose checksum is right."""

    path: Path
    header: dict[str, Any]
    body: memoryview
    digest: str

    def content(self) -> dict[str, Any]:
        """The tree of dicts, numbers and (fresh, writable) arrays in the file."""
        try:
            return dict(_unpack(self.header["content"], self.body))
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
            raise Damaged(self.path, f"cannot be understood ({shorten(error)})") from None


def read(path: Path) -> ChecksummedFile:
    """The file at `path`; nothing in it is used before its checksum is checked."""
    data = memoryview(_content(path))
    if len(data) < len(MAGIC) + 40 or (digest := hashlib.sha256(data[:-32])).digest() != data[-32:]:
        raise Damaged(path, "is truncated or altered")
    if data[: len(MAGIC)] != MAGIC:
        raise BadInput(f"{path}: written by another version of austerity; this one reads {MAGIC.decode().strip()}")
    start = len(MAGIC) + 8
    length = int.from_bytes(data[len(MAGIC) : start], "little")
    try:
        header = dict(json.loads(bytes(data[start : start + length])))
    except (ValueError, TypeError, RecursionError):
        raise Damaged(path, "has no header") from None
    return ChecksummedFile(path, header, data[start + length : -32], digest.hexdigest())


def _content(path: Path) -> bytes:
    """All bytes of a file. One that the disk cannot read counts as damaged: an older checkpoint may be good."""
    try:
        with open(path, "rb") as file:
            if (size := os.fstat(file.fileno()).st_size) > MAX_BYTES:
                raise Damaged(path, f"has {size:,} bytes, more than the limit of {MAX_BYTES:,}")
            return file.read()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        raise Damaged(path, "cannot be read from the disk") from None


def write(path: Path, header: dict[str, Any], content: Mapping[str, Any]) -> str:
    """Write a new file at `path`, durably and all at once; returns its digest."""
    arrays: list[bytes] = []
    try:
        text = json.dumps(header | {"content": _pack("", content, arrays)}).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be written ({shorten(error, 200)})") from None
    parts = [MAGIC, len(text).to_bytes(8, "little"), text, *arrays]
    if (size := sum(map(len, parts)) + 32) > MAX_BYTES:
        raise BadInput(f"{path}: {size:,} bytes, more than the limit of {MAX_BYTES:,}; save more often")
    sha = hashlib.sha256()
    with replacing(path, durable=True) as temporary, open(temporary, "wb") as file:
        for part in parts:
            sha.update(part)
            file.write(part)
        file.write(sha.digest())
    return sha.hexdigest()


def _pack(name: str, value: Any, arrays: list[bytes]) -> dict[str, Any]:
    """`value` as JSON; the bytes of arrays go to `arrays`, and the JSON says where they begin."""
    if isinstance(value, Mapping):
        if unfit := [key for key in value if not isinstance(key, str)]:
            raise BadInput(f"{name or 'content'}: key {shorten(unfit[0])} is not a string")
        return {"dict": {key: _pack(key, entry, arrays) for key, entry in value.items()}}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        offset = sum(map(len, arrays))
        arrays.append(value.tobytes())
        return {"array": [value.dtype.str, list(value.shape), offset]}
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value) in (bool, int, float, str):
        return {"value": value}
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise BadInput(f"{name}: {shorten(kind)} cannot be stored, only arrays of numbers, numbers, strings and dicts")


def _unpack(node: dict[str, Any], body: memoryview) -> Any:
    """What `_pack` was given. Lengths are checked against the bytes that are there before memory is taken."""
    [(kind, value)] = node.items()
    if kind == "dict":
        return {key: _unpack(entry, body) for key, entry in value.items()}
    if kind == "value":
        return value
    if kind != "array":
        raise ValueError(f"unknown kind {kind}")
    dtype, shape, offset = np.dtype(value[0]), tuple(value[1]), value[2]
    if dtype.kind not in "biufc" or min(shape, default=0) < 0:
        raise ValueError("unfit array")
    if (size := math.prod(shape)) == 0:
        return np.empty(shape, dtype)
    return np.frombuffer(body, dtype, size, offset).reshape(shape).copy()


def make_directory(directory: Path) -> None:
    """The directory, durably: what is saved in it is lost if its own name is."""
    if directory.is_dir():
        return
    make_directory(directory.parent)
    try:
        directory.mkdir(exist_ok=True)
        sync(directory.parent)
    except OSError as error:
        raise renamed(error, directory) from None
