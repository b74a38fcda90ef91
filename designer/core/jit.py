"""How every kernel of the project is compiled, in one place.

Numba reuses compiled code while the function's own file is unchanged; it does not notice changes in functions that the
kernel calls from other files. So the cache key contains a digest of all files involved.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import config, njit
from numba.core.dispatcher import Dispatcher

from designer.core.numba_cache import keep


def _copy_baked() -> None:
    """Copy compiled code from a read-only disk: numba does not use a directory that it cannot write to."""
    baked = Path(os.environ.get("NUMBA_CACHE_DIR") or ".")
    if not (os.environ.get("NUMBA_CACHE_DIR") and baked.is_dir()):
        return
    try:
        tempfile.TemporaryFile(dir=baked).close()
    except OSError:
        with suppress(OSError):  # nowhere to write: `keep` warns
            copy = Path(tempfile.mkdtemp(prefix="austerity-numba-"))
            atexit.register(shutil.rmtree, copy, ignore_errors=True)
            for file in filter(Path.is_file, baked.rglob("*")):
                target = copy / file.relative_to(baked)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)  # without its mode, so that the copy is writable
            config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(copy)


_copy_baked()


# nogil: a running kernel must not freeze the other sessions of a server. No fastmath: tails matter.
JIT: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first use and keep the machine code on disk."""
    return kernel_with()(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Like `kernel`, for a few lines inside the innermost loops of other kernels."""
    return kernel_with(inline="always")(function)


def kernel_with(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Like `kernel`, with further options of numba."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = njit(**options, **JIT)(function)
        with suppress(KeyError, OSError):  # a function without a file
            keep(dispatcher, sources(vars(sys.modules[function.__module__])))
        return dispatcher

    return compiled


_digests: dict[str, str] = {}  # of modules


def sources(names: dict[str, Any]) -> str:
    """Digest of a module's file and, recursively, of the files from which it imports kernels, records and functions.

    `names` is the module's namespace. Functions count because `overload` gives some of them compiled bodies in their
    own files. Constants count only if their module also provides a kernel, a record or a function.
    """
    module = names["__name__"]
    if module not in _digests:
        digest = sha256(Path(names["__file__"]).read_bytes())
        for other in sorted({_home(value, module) for value in names.values()} - {module, ""}):
            digest.update(sources(vars(sys.modules[other])).encode())
        _digests[module] = digest.hexdigest()
    return _digests[module]


def _home(value: object, user: str) -> str:
    """Module of one of our kernels, records or functions; empty for anything else."""
    if isinstance(value, Dispatcher):
        return str(value.py_func.__module__)
    if isinstance(value, FunctionType):
        return value.__module__ if _package(value.__module__) in ("designer", "samplers", _package(user)) else ""
    return value.__module__ if isinstance(value, type) and issubclass(value, tuple) else ""


def _package(module: str) -> str:
    return module.partition(".")[0]
