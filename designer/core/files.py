"""Files that are written completely or not at all, CSV text, and values shortened to one line."""

from __future__ import annotations

import csv
import errno
import io
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias

Target: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]


def write_whole(target: Target, content: str | bytes) -> None:
    """Write to a file object, or replace the file at a path (or the target of a link) with a complete new one.

    A pipe or a device is written to, not replaced. If writing fails, the OSError names the path and the old file stays.
    """
    if not isinstance(target, (str, os.PathLike)):
        try:
            target.write(content)  # type: ignore[arg-type]
        except TypeError:
            if isinstance(content, bytes):
                raise
            target.write(content.encode())  # type: ignore[arg-type]  # text for a binary file
        return
    data = content.encode() if isinstance(content, str) else content
    if is_special(target):
        try:
            with open(os.open(target, os.O_WRONLY), "wb") as special:
                special.write(data)
        except OSError as error:
            raise renamed(error, target) from None
        return
    with replacing(target) as temporary:
        temporary.write_bytes(data)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether the path is a pipe, a device or a socket, which can be written to but not replaced."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def replacing(target: str | os.PathLike[str], *, durable: bool = False) -> Iterator[Path]:
    """The path of a temporary file that replaces `target` (or the target of a link) when the block ends.

    `durable` waits until the file is safely on the disk. If anything fails, `target` is unchanged and the OSError names
    it. A pipe or a device raises an OSError.
    """
    if is_special(target):
        raise OSError(errno.EINVAL, "is a pipe or a device and cannot be replaced by a file", os.fspath(target))
    path = Path(os.path.realpath(target))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        if durable:
            sync(temporary)
        os.replace(temporary, path)
        if durable:
            sync(path.parent)  # the new name must survive a power cut, too
    except OSError as error:  # it names the temporary file, which users do not know
        raise renamed(error, target) from None
    finally:
        with suppress(OSError):  # it no longer exists if all went well
            temporary.unlink()


def renamed(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """`error` as an error about `path`, always with a number and a text."""
    return OSError(error.errno or errno.EIO, error.strerror or shorten(error, 200), os.fspath(path))


def sync(path: Path) -> None:
    """Wait until the file or directory is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def csv_text(fields: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table as CSV text with exact numbers; fields are empty for None and NaN.

    Examples
    --------
    >>> csv_text(["m", "feasible"], [(500, True), (600, None)])
    'm,feasible\\n500,true\\n600,\\n'
    """

    def cell(value: Any) -> Any:
        plain = value.item() if hasattr(value, "item") else value  # NumPy scalars
        if plain is None or plain != plain:
            return ""
        return str(plain).lower() if isinstance(plain, bool) else plain

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows(map(cell, row) for row in rows)
    return text.getvalue()


def shorten(value: object, limit: int = 40) -> str:
    """`value` as one line of at most `limit` printable characters, for messages."""
    try:
        text = str(value)[: 10 * limit]
    except ValueError:  # Python does not print integers of thousands of digits
        text = "a huge number"
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= limit else text[: limit - 1] + "…"
