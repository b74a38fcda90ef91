"""How every kernel of the project is compiled, in one place."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba import njit


def _can_keep() -> bool:
    """Whether compiled code has a place on disk: numba refuses `cache=True` where no directory can be written."""
    try:
        njit(cache=True)(_can_keep)
    except RuntimeError:
        warnings.warn(
            "compiled code cannot be kept, so every start compiles anew: set NUMBA_CACHE_DIR to a writable directory",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


# nogil: a running kernel must not freeze the other sessions of a server. No fastmath: tails matter.
JIT: dict[str, Any] = {"cache": _can_keep(), "nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first use and keep the machine code on disk."""
    return njit(**JIT)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Like `kernel`, for a few lines used inside other kernels' innermost loops."""
    return njit(inline="always", **JIT)(function)
