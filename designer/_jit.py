"""How every kernel of the project is compiled, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

# nogil: a running kernel must not freeze the other sessions of a server. No fastmath: tails matter.
JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def kernel(function: F) -> F:
    """Compile `function` on first use and keep the machine code on disk."""
    return cast(F, njit(**JIT)(function))


def inlined(function: F) -> F:
    """Like `kernel`, for a few lines used inside other kernels' innermost loops."""
    return cast(F, njit(inline="always", **JIT)(function))
