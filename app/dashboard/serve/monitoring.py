"""Health and metrics of the server, for whoever watches it: `/_austerity/health` and `/_austerity/metrics`.

The metrics are in the text format of Prometheus.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.dashboard.jobs import jobs
from app.dashboard.jobs import runs as run_processes
from app.dashboard.serve.connections import Door
from app.dashboard.serve.sessions import Sessions

HEALTH, METRICS = "/_austerity/health", "/_austerity/metrics"
FORMAT = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    """A number with a name, or several by the value of a label."""

    name: str
    kind: str  # gauge or counter
    words: str
    value: float | Mapping[str, float]
    label: str = ""

    def lines(self) -> list[str]:
        """As Prometheus reads it."""
        name = f"austerity_{self.name}"
        head = [f"# HELP {name} {self.words}", f"# TYPE {name} {self.kind}"]
        if isinstance(self.value, Mapping):
            return [*head, *(f'{name}{{{self.label}="{one}"}} {number:g}' for one, number in self.value.items())]
        return [*head, f"{name} {self.value:.15g}"]


class Answer:
    """Answers one path with a text; other requests go to the application."""

    def __init__(self, app: ASGIApp, path: str, text: Callable[[], str], form: str = "text/plain") -> None:
        self.app, self.path, self.text, self.form = app, path, text, form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == self.path and scope["method"] in ("GET", "HEAD"):
            headers = {"Cache-Control": "no-store"}
            await PlainTextResponse(self.text(), headers=headers, media_type=self.form)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class Figures:
    """The state of the server in numbers."""

    def __init__(self, door: Door, sessions: Sessions) -> None:
        self.door, self.sessions, self.begin = door, sessions, time.monotonic()

    def text(self) -> str:
        """All metrics."""
        return "\n".join(line for metric in self.metrics() for line in metric.lines()) + "\n"

    def metrics(self) -> Iterable[Metric]:
        """All metrics, one by one."""
        tally, limits = self.door.tally, self.door.limits
        yield Metric("uptime_seconds", "gauge", "Since the server began.", time.monotonic() - self.begin)
        yield Metric("sessions", "gauge", "Windows with the dashboard.", self.sessions.open)
        yield Metric("sessions_limit", "gauge", "The most there may be.", limits.sessions)
        yield Metric("connections", "gauge", "Open connections.", len(self.door.inside))
        yield Metric("connections_limit", "gauge", "The most there may be.", limits.connections)
        yield Metric("jobs", "gauge", "Searches, simulations, experiments.", jobs.counts(), "state")
        yield Metric("runs", "gauge", "Runs that the Monitor page has started.", run_processes.running())
        yield Metric("refusals_total", "counter", "Requests refused, by reason.", tally.refused, "reason")
        yield Metric("dropped_total", "counter", "Clients that were too slow, by reason.", tally.dropped, "reason")
        if (memory := resident_bytes()) is not None:
            yield Metric("resident_memory_bytes", "gauge", "Memory of the server's process.", memory)


def resident_bytes() -> int | None:
    """The memory of this process; None where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
