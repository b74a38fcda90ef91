"""Find the files of a data set in a folder, and read them without trusting their content."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from designer.core.errors import BadInput
from designer.core.files import shorten

MAX_BYTES = 2**32  # of a file, and of what it unpacks to
HEAD = 2**16  # bytes at either end of a file that its fingerprint covers
BROKEN = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    EOFError,
    MemoryError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)

Files = tuple[Path, ...]
Locate = Callable[[Path], Files | None]


def named(*spellings: Sequence[str]) -> Locate:
    """A function that finds one file for each list of spellings: None if all are missing, BadInput if some are."""

    def locate(folder: Path) -> Files | None:
        files = [next((folder / name for name in names if (folder / name).is_file()), None) for names in spellings]
        missing = [names[0] for names, file in zip(spellings, files, strict=True) if file is None]
        if len(missing) == len(spellings):
            return None
        if missing:
            existing = next(file for file in files if file is not None)
            raise BadInput(f"{existing}: needs {missing[0]}, which is missing")
        return tuple(file for file in files if file is not None)

    return locate


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Turn the exceptions of parsers into one line that names the file."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise BadInput(f"{file}: larger than {MAX_BYTES:,} bytes")
        yield
    except BadInput as error:
        raise BadInput(str(error) if str(file) in str(error) else f"{file}: {error}") from None
    except BROKEN as error:
        raise BadInput(f"{file}: cannot be read: {shorten(error, 120) or type(error).__name__}") from None


def arrays(file: Path, *required: str) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an .npz file, without pickles; `required` must be among them."""
    with reading(file):
        with zipfile.ZipFile(file) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise BadInput(f"{file}: unpacks to more than {MAX_BYTES:,} bytes")
        with np.load(file, allow_pickle=False) as stored:
            missing = [name for name in required if name not in stored.files]
            if missing:
                raise BadInput(f"{file}: has no array {missing[0]}; it has {', '.join(stored.files) or 'none'}")
            return {name: stored[name] for name in stored.files}


def split_arrays(file: Path, width: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a prepared file, with training and test rows that are finite and of matching shapes."""
    stored = arrays(file, "X_train", "y_train", "X_test", "y_test")
    for part in ("train", "test"):
        x, y = stored[f"X_{part}"], stored[f"y_{part}"]
        if x.dtype.kind not in "fiu" or y.dtype.kind not in "fiub":
            raise BadInput(f"{file}: X_{part} or y_{part} is not numeric")
        if x.ndim != 2 or x.shape[1] != width or y.shape != x.shape[:1] or x.shape[0] == 0:
            raise BadInput(f"{file}: X_{part} {x.shape} and y_{part} {y.shape}: must be (n, {width}) and (n,)")
        finite(file, x, y)
    return stored


@contextmanager
def unpacked(file: Path) -> Iterator[IO[bytes]]:
    """The bytes of a plain file, of a .gz file, or of the only text in a .zip file; at most `MAX_BYTES`."""
    if file.suffix == ".gz":
        with gzip.open(file) as stream:
            yield io.BytesIO(at_most(stream, MAX_BYTES))
    elif file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            texts = [member for member in archive.infolist() if member.filename.lower().endswith((".txt", ".csv"))]
            if len(texts) != 1:
                raise BadInput(f"holds {len(texts)} .txt or .csv files; one is expected")
            with archive.open(texts[0]) as stream:
                yield io.BytesIO(at_most(stream, MAX_BYTES))
    else:
        with file.open("rb") as stream:
            yield stream


def at_most(stream: IO[bytes] | gzip.GzipFile, limit: int) -> bytes:
    """All bytes of a stream; BadInput if they are more than `limit`."""
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise BadInput(f"holds more than the expected {limit:,} bytes")
    return content


def finite(file: Path, *tables: npt.NDArray[Any]) -> None:
    """Raise BadInput if a number is missing or infinite."""
    if not all(np.all(np.isfinite(table)) for table in tables):
        raise BadInput(f"{file}: has missing or infinite values")


def mark(file: Path) -> str:
    """Name, size and a digest of both ends: changes with the file, without reading all of it."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        ends = stream.read(HEAD)
        stream.seek(max(0, size - HEAD))
        ends += stream.read(HEAD)
    return f"{file.name} {size} {hashlib.sha256(ends).hexdigest()[:16]}"
