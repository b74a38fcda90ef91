"""Digests of what small computations give, exact where it is exact: `same_draws.py` has the computations."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy.linalg  # its BLAS counts, too
from threadpoolctl import threadpool_info, threadpool_limits

LEFT_OUT = {"seconds", "estimate"}  # of answers in JSON: the clock's, and bounds on rounding
CODES = {"criterion", "digest", "rule", "verdict"}  # entries whose text is no prose

Found = Mapping[str, Any]  # names, and what was computed: numbers, arrays of them, or None
Case = Callable[[], Found]


def digest(case: Case) -> dict[str, dict[str, Any]]:
    """SHA-256 of what is whole numbers or text; of real numbers the mean, the last ones, and SHA-256 of their bytes."""
    with threadpool_limits(1):  # sums depend on the number of BLAS threads
        found = case()
    exact: dict[str, str] = {}
    real: dict[str, Any] = {}
    for name, value in found.items():
        values = np.asarray(value if value is not None else "None")
        if values.dtype.kind != "f":
            kind = values.astype("<i8") if values.dtype.kind in "biu" else values.astype("<U")
            exact[name] = _sha(kind)
        else:
            rows = values.astype("<f8").reshape(-1, values.shape[-1] if values.ndim else 1)
            real[name] = {"mean": rows.mean(axis=0).tolist(), "last": rows[-1].tolist(), "bytes": _sha(rows)}
    return {"exact": exact, "real": real}


def _sha(values: np.ndarray) -> str:
    return hashlib.sha256(f"{values.shape}".encode() + values.tobytes()).hexdigest()[:16]


def machine() -> str:
    """Digest of all that the last digits of a sum may depend on: processor, BLAS, and who compiled."""
    names = [line for line in _cpu_lines() if line.startswith(("model name", "flags"))][:2] or [platform.processor()]
    loaded = [found for found in threadpool_info() if found["user_api"] == "blas"]
    blas = sorted({f"{found['internal_api']} {found['version']} {found.get('architecture')}" for found in loaded})
    versions = [np.__version__, scipy.__version__, numba.__version__, platform.python_version()]
    return hashlib.sha256(json.dumps([platform.machine(), *names, *blas, *versions]).encode()).hexdigest()


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def leaves(value: Any, name: str = "") -> dict[str, Any]:
    """The numbers of an answer in JSON, by their paths; without sentences, which may be put better."""
    if isinstance(value, dict):
        parts = {f"{name}.{key}": part for key, part in value.items() if key not in LEFT_OUT}
    elif isinstance(value, list) and not all(isinstance(part, int | float) for part in value):
        parts = {f"{name}.{key}": part for key, part in enumerate(value)}
    elif isinstance(value, str) and name.rpartition(".")[2] not in CODES:
        return {}
    else:
        return {name: value}
    return {path: leaf for key, part in parts.items() for path, leaf in leaves(part, key).items()}
