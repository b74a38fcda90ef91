"""When garbage is collected: never at the end of a page, seldom, and not in the libraries.

Python stops all threads while it collects. Streamlit collects after every run of a page and of a fragment, and pages
with running jobs ask for progress twice a second: with twenty sessions that was four fifths of the time.
"""

from __future__ import annotations

import asyncio
import gc
import time

PAUSE_SECONDS = 20.0  # at least, between two collections
MOST_SHARE = 0.01  # of the time


def exempt_what_is_loaded() -> None:
    """Leave out all that is loaded by now from collections."""
    gc.collect()
    gc.freeze()


async def collect_now_and_then() -> None:
    """Collect until cancelled."""
    while True:
        start = time.perf_counter()
        gc.collect()
        await asyncio.sleep(max(PAUSE_SECONDS, (time.perf_counter() - start) / MOST_SHARE))
