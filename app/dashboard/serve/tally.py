"""What was refused, and which clients were dropped: counted for the metrics, told in the log now and then."""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import NamedTuple

QUIET_SECONDS = 10.0  # after a line of a kind: a flood of requests must not become a flood of lines

log = logging.getLogger("austerity")


class Refusal(NamedTuple):
    """Why a request is refused: a name for the metrics, the HTTP status, and one line for whoever asked."""

    reason: str
    status: int
    line: str


class Tally:
    """Counts by reason. One line in the log tells of the first one, and of those since."""

    def __init__(self) -> None:
        self.refused: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self._told: dict[str, tuple[float, int]] = {}  # when, and how many there were

    def refuse(self, refusal: Refusal, client: str) -> Refusal:
        """Count a refusal."""
        self.refused[refusal.reason] += 1
        # whoever has no token yet does nothing wrong
        level = logging.INFO if refusal.status == 401 else logging.WARNING
        self._tell("refused", refusal.reason, self.refused[refusal.reason], client, level)
        return refusal

    def drop(self, reason: str, client: str) -> None:
        """Count a client that was too slow."""
        self.dropped[reason] += 1
        self._tell("dropped", reason, self.dropped[reason], client, logging.WARNING)

    def _tell(self, event: str, reason: str, count: int, client: str, level: int) -> None:
        now = time.monotonic()
        when, before = self._told.get(reason, (-QUIET_SECONDS, 0))
        if now - when >= QUIET_SECONDS:
            self._told[reason] = (now, count)
            fields = {"reason": reason, "client": client, "new": count - before, "total": count}
            log.log(level, event, extra={"fields": fields})
