"""How every kernel of the project is compiled, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

# nogil: a running kernel must not freeze the other sessions of a server. No fastmath: tails matter.
JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on first use and keep the machine code on disk."""
    return njit(**JIT)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Like `kernel`, for a few lines used inside other kernels' innermost loops."""
    return njit(inline="always", **JIT)(function)
