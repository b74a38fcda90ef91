"""A pytest plugin for `make coverage`: kernels run as Python, so that their lines are counted.

`pytest -p tests.kernels_as_python` turns numba off. Intrinsics and overloaded functions have no Python body; here they
get one. Each test has a few seconds of processor time, and no result is judged: other runs test the compiled kernels.
"""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest

os.environ["NUMBA_DISABLE_JIT"] = "1"  # before numba is imported

import numba.core.extending
import numba.extending

SECONDS = float(os.environ.get("KERNEL_SECONDS", "3"))
OURS = ("designer", "samplers")
INTRINSICS: dict[str, Callable[..., Any]] = {
    "_bits": lambda x: struct.unpack("<q", struct.pack("<d", x))[0],
    "_from_bits": lambda whole: struct.unpack("<d", struct.pack("<Q", int(whole) % 2**64))[0],
    "muladd": lambda a, b, c: a * b + c,
}
choosers: dict[FunctionType, list[Callable[..., Any]]] = {}


def overload(function: Any, **options: Any) -> Callable[..., Any]:
    """Like numba's: our function calls, from now on, the body that is chosen by the types of its arguments."""
    if function.__module__.partition(".")[0] not in OURS:
        return original(function, **options)

    def registered(chooser: Callable[..., Any]) -> Callable[..., Any]:
        choosers.setdefault(function, []).append(chooser)
        return chooser

    def body(*args: Any, _chosen: Any = None) -> Any:
        return _chosen(*args)

    def chosen(*args: Any) -> Any:
        types = [numba.typeof(argument) for argument in args]
        bodies = (chooser(*types) for chooser in choosers[function])
        return next(body for body in bodies if body is not None)(*args)

    function.__code__, function.__defaults__, function.__kwdefaults__ = body.__code__, None, {"_chosen": chosen}
    return registered


def njit(*functions: Any, **_options: Any) -> Any:
    """The function itself, also under the name of a dispatcher's Python function."""
    if not functions:
        return njit
    functions[0].py_func = functions[0]
    return functions[0]


numba.njit = njit
original = numba.extending.overload
numba.extending.overload = numba.core.extending.overload = overload
numba.core.extending._Intrinsic.__call__ = lambda self, *args: INTRINSICS[self._name](*args)


class TooSlowAsPython(BaseException):
    """The time of a test is over. No `except Exception` on the way may take it."""


def stop(*_: Any) -> None:
    raise TooSlowAsPython


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    except (Exception, TooSlowAsPython) as error:
        pytest.skip(f"as Python: {type(error).__name__} {error}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
