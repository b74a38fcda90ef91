"""Timing: the best of several runs, after a warm-up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def best_ms(task: Callable[[], Any], repeats: int = 7) -> float:
    """Milliseconds of the fastest run, after one warm-up run."""
    task()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)
