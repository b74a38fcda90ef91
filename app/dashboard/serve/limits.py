"""How much the server takes: connections, sessions, and the time that slow clients get."""

from __future__ import annotations

from typing import NamedTuple

from designer.core.errors import BadInput

FEWEST_FILES = 256  # that the system must let the server open


class Limits(NamedTuple):
    """What the server takes at once, and how long it waits for a client."""

    connections: int = 1000  # or half of the files that the process may open, if that is less
    connections_of_one: int = 250  # of one address
    sessions: int = 200  # windows with the dashboard
    sessions_of_one: int = 50
    head_seconds: float = 20.0  # for the head of a request
    body_seconds: float = 120.0  # for all of a request
    taking_seconds: float = 30.0  # in which a client that is sent something must take `taking_bytes` of it
    taking_bytes: int = 65_536
    at_once: int = 64  # new connections between two looks at the limits; refused ones that still get their answer

    def within(self, files: int) -> Limits:
        """The same, with so many connections that the process never runs out of files."""
        return self._replace(
            connections=min(self.connections, files // 2),
            connections_of_one=min(self.connections_of_one, files // 4),
            at_once=min(self.at_once, files // 8),
        )


def open_files() -> int:
    """How many files the process may open; raised as far as the system allows."""
    try:
        import resource
    except ImportError:  # not a Unix: no such limit
        return 10**6
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        wanted = 10**6 if hard == resource.RLIM_INFINITY else hard
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):  # macOS has a lower limit of its own
            pass
    allowed = 10**6 if soft == resource.RLIM_INFINITY else soft
    if allowed < FEWEST_FILES:
        raise BadInput(
            f"this process may open {allowed} files, and a server needs {FEWEST_FILES}; raise it: ulimit -n 1024"
        )
    return allowed
