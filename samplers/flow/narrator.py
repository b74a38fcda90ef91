"""What is shown while `sample` works: each decision as a line, and a bar for whatever takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from designer.core.progress import Progress, progress_line
from samplers.chains.parallel import RunProgress


class Narrator:
    """Writes to standard error; bars only if that is a terminal.

    Parameters
    ----------
    shown
        Whether to show anything.

    Examples
    --------
    >>> with Narrator(shown=False).bar("chains") as progress:
    ...     progress is None
    True
    """

    def __init__(self, *, shown: bool) -> None:
        self.shown = shown and sys.stderr is not None

    def say(self, text: str) -> None:
        """A line, above a bar if there is one."""
        if not self.shown:
            return
        from tqdm import tqdm

        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        with tqdm.external_write_mode(file=sys.stderr):
            print(text.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)

    @contextmanager
    def bar(self, name: str, *, counts: bool = True) -> Iterator[Progress | None]:
        """A bar for something that reports (done, total); None if nobody watches."""
        if not self.shown or not sys.stderr.isatty():
            yield None
            return
        with progress_line(sys.stderr, counts=counts, text=f"{name} …", name=name) as show:
            yield show

    @contextmanager
    def chains(self, name: str) -> Iterator[Callable[[RunProgress], None] | None]:
        """A bar for chains."""
        if not self.shown or not sys.stderr.isatty():
            yield None
            return
        with progress_line(sys.stderr, counts=False, text=f"{name} …", name=name) as show:

            def report(progress: RunProgress) -> None:
                speed, rates = f"{progress.rate:,.0f} steps/s", (progress.acceptance, progress.usage)
                note = f"{speed}, acceptance {rates[0]:.2f}, data use {rates[1]:.2%}"
                show(progress.done, progress.total, f"{note}, not as predicted" if progress.warning else note)

            yield report
