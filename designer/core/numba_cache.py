"""Numba's cache of compiled code on disk, made safe against damaged and outdated files.

Numba trusts its files: a damaged one causes a traceback or, worse, wrong machine code. It also writes the index before
the code, so a process killed in between can leave a new index with old code. Here every file has a checksum of its
bytes and of the sources they were compiled from; code that fails the check is compiled again. A full or read-only disk
costs only a warning and the time to compile.
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

_warned: set[str] = set()  # one warning is enough


def keep(dispatcher: Any, sources: str) -> None:
    """Cache the code of a jitted function beside its file, or where numba finds a place; `sources` is a digest."""
    if not hasattr(dispatcher, "py_func"):  # numba is disabled
        return
    try:
        dispatcher._cache = _Cache(dispatcher.py_func, sources)
    except RuntimeError:  # numba found no place to write to
        _warn("compiled code cannot be cached")


def _warn(problem: str) -> None:
    if not _warned:
        _warned.add(problem)
        advice = "so every start compiles it again: set NUMBA_CACHE_DIR to a writable directory"
        warnings.warn(f"{problem}, {advice}", RuntimeWarning, stacklevel=2)


class _Cache(FunctionCache):
    """The cache of one function."""

    def __init__(self, function: Callable[..., Any], sources: str) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), sources
        self._cache_file = _Files(self.cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn(f"compiled code cannot be cached ({self.cache_path}: {error.strerror})")


class _Files(IndexDataCacheFile):
    """The index file and the code files of one function."""

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        stored = super().load(key)  # two processes that started together may have mixed their files
        return stored[1] if stored is not None and stored[0] == key else None

    def _load_index(self) -> Any:
        return self._content(self._index_path) or {}

    def _load_data(self, name: str) -> Any:
        return self._content(self._data_path(name))

    def _save_index(self, overloads: Any) -> None:
        self._put(self._index_path, overloads)

    def _save_data(self, name: str, data: Any) -> None:
        self._put(self._data_path(name), data)

    def _content(self, path: str) -> Any:
        """The content of a file; None if it is damaged or was compiled from other sources."""
        try:
            data = Path(path).read_bytes()
        except OSError:
            return None
        if data[:32] != self._seal(data[32:]):
            return None
        try:
            return pickle.loads(data[32:])  # nosec B301  # numba's format; it holds code in any case
        except Exception:  # it may name a record that has moved since; pickle raises many types
            return None

    def _put(self, path: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(self._seal(data) + data)

    def _seal(self, data: bytes) -> bytes:
        return sha256(repr((self._version, self._source_stamp)).encode() + data).digest()
