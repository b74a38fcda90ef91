"""Optional packages: imported when a model needs them, with one clear line if they are missing."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from designer.core.errors import BadInput

ASYNCHRONOUS = "jax_cpu_enable_async_dispatch"


def package(name: str, extra: str) -> Any:
    """The package, or BadInput that says what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        missing = f"{name} is not installed ({error})" if error.name != name else f"{name} is not installed"
        raise BadInput(f'{missing}: pip install "austerity[{extra}]"') from None


def jax_package() -> Any:
    """JAX, whose small calls on a CPU run in the calling thread unless the environment says otherwise.

    Handing each call to another thread, the default, takes longer than evaluating 200 rows. JAX reads this setting
    before its first computation only: after that it stays as it was.
    """
    jax = package("jax", "jax")
    if ASYNCHRONOUS.upper() not in os.environ:
        jax.config.update(ASYNCHRONOUS, False)
    return jax
