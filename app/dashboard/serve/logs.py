"""The server's log: one line per event, as text or as JSON, and never with the token in it."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from typing import Any, Literal

LogFormat = Literal["text", "json"]
OURS = ("austerity", "app")
OTHERS = ("uvicorn", "uvicorn.error", "uvicorn.asgi", "websockets", "asyncio", "py.warnings")

log = logging.getLogger("austerity")


class Line(logging.Formatter):
    """An event as one line. The traceback of an unexpected error is a field of JSON, and more lines of text."""

    def __init__(self, form: LogFormat, secret: str = "") -> None:
        super().__init__()
        self.form, self.secret = form, secret

    def format(self, record: logging.LogRecord) -> str:
        """As text, or as JSON."""
        message = " ".join(record.getMessage().split())
        moment = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"
        fields: dict[str, Any] = getattr(record, "fields", {})
        trace = self.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""
        if self.form == "json":
            event = {"time": moment, "level": record.levelname.lower(), "from": record.name, "event": message}
            line = json.dumps(event | fields | ({"traceback": trace} if trace else {}), ensure_ascii=False, default=str)
        else:
            more = "".join(f" {name}={str(value).replace(' ', '_')}" for name, value in fields.items())
            line = f"{moment} {record.levelname} {message}{more}" + (f"\n{trace}" if trace else "")
        return line.replace(self.secret, "***") if self.secret else line


def configure(level: str, form: LogFormat, secret: str = "") -> None:
    """Write the events of this level and above to the standard error; those of other libraries from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Line(form, secret))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    for name in OURS:
        logging.getLogger(name).setLevel(level.upper())
    for name in [*OTHERS, *_of_streamlit()]:
        other = logging.getLogger(name)
        other.handlers.clear()
        other.propagate = True
        if name in OTHERS:
            other.setLevel(logging.WARNING)


def announce(words: str, **fields: Any) -> None:
    """Write an event whatever the level is."""
    record = log.makeRecord(log.name, logging.INFO, "", 0, words, (), None, extra={"fields": fields})
    for handler in logging.getLogger().handlers:
        handler.handle(record)


def _of_streamlit() -> list[str]:
    """Its loggers, each of which writes by itself."""
    return [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "streamlit"]


def tell_of_the_loop(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An error in the event loop: if the system gives no more files, one line is enough."""
    problem = context.get("exception")
    words = str(context.get("message", "error in the event loop"))
    if isinstance(problem, OSError):
        log.error("%s: %s", words, problem.strerror or problem)
    else:
        log.error("%s", words, exc_info=problem)
