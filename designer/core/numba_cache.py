"""Compiled code on disk, as numba keeps it, but proof against what happens to files.

Numba believes what it finds: a damaged file is a traceback or, worse, other machine code. And it writes an index before
the code that this names, so that a kill in between, after an edit, leaves the new index with the old code. Here every
file has a checksum of its bytes and of the sources that they were made from, and what fails it is compiled anew. A
disk that is full, or not to be written, costs a warning and the time to compile.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import pickle  # nosec B403
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

_told: set[str] = set()  # once is enough


def keep(dispatcher: Any, sources: str) -> None:
    """Let a jitted function keep its code beside its file, or where numba else finds a place; `sources` is a digest."""
    if not hasattr(dispatcher, "py_func"):  # numba is switched off
        return
    try:
        dispatcher._cache = _Cache(dispatcher.py_func, sources)
    except RuntimeError:  # numba's word for no place at all
        _tell("compiled code cannot be kept")


def _tell(problem: str) -> None:
    if not _told:
        _told.add(problem)
        advice = "so every start compiles anew: set NUMBA_CACHE_DIR to a writable directory"
        warnings.warn(f"{problem}, {advice}", RuntimeWarning, stacklevel=2)


class _Cache(FunctionCache):
    """Of one function."""

    def __init__(self, function: Callable[..., Any], sources: str) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), sources
        self._cache_file = _Files(self.cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _tell(f"compiled code cannot be kept ({self.cache_path}: {error.strerror})")


class _Files(IndexDataCacheFile):
    """The index of one function's code, and that code."""

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        found = super().load(key)  # of two processes that began at once, the files may be mixed
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> Any:
        return self._content(self._index_path) or {}

    def _load_data(self, name: str) -> Any:
        return self._content(self._data_path(name))

    def _save_index(self, overloads: Any) -> None:
        self._put(self._index_path, overloads)

    def _save_data(self, name: str, data: Any) -> None:
        self._put(self._data_path(name), data)

    def _content(self, path: str) -> Any:
        """What is in a file, if it is whole and of these sources."""
        try:
            data = Path(path).read_bytes()
        except OSError:
            return None
        if data[:32] != self._seal(data[32:]):
            return None
        try:
            return pickle.loads(data[32:])  # nosec B301  # numba's format, and what is in it is code anyway
        except Exception:  # it names a record of the caller's, which has moved since; pickle throws what it likes
            return None

    def _put(self, path: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(self._seal(data) + data)

    def _seal(self, data: bytes) -> bytes:
        return sha256(repr((self._version, self._source_stamp)).encode() + data).digest()
