"""The interface itself: requests wait in a queue of their own, and end with the connection or after a minute."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.cli.errors import UsageError
from app.cli.http.openapi import document
from app.cli.http.questions import QUESTIONS, options_of
from app.dashboard.jobs.addresses import client_of
from app.dashboard.jobs.job_queue import Job
from app.dashboard.jobs.jobs import program_queue
from designer.core.errors import BadInput
from designer.core.files import shorten
from designer.core.progress import Cancelled
from designer.core.work import stopped_by

PREFIX = "/api/1"
MOST_BYTES = 4 * 2**20  # of a request: twice as many as the longest columns take
MOST_AT_ONCE = 32  # requests that are read or wait: each may hold its numbers in memory
MOST_SECONDS = 60.0  # of one request, from when it comes to when it is answered
LOOK_SECONDS = 0.05  # between two looks at whether an answer is there and whether the client is


def application() -> Starlette:
    """The routes below PREFIX."""
    described = json.dumps(document())

    async def description(request: Request) -> Response:
        return Response(described, media_type="application/json")

    endpoint = _Endpoint()
    routes = [Route(f"/{name}", endpoint.of(name), methods=["POST"]) for name in QUESTIONS]
    return Starlette(routes=[Route("/openapi.json", description), *routes])


def answer(name: str, asked: Mapping[str, Any], job: Job | None = None) -> dict[str, Any]:
    """What a command says to a request; a job may cancel it."""
    try:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            options = options_of(name, asked, Path(folder))
            if job is not None:
                options.watcher = _watcher(job)
                stack.enter_context(stopped_by(job.cancelled))  # commands without progress ask before each computation
            found: dict[str, Any] = options.run(options).data
            return found
    except UsageError as error:
        raise BadInput(_for_programs(str(error))) from None


def _for_programs(line: str) -> str:
    """A refusal that speaks of entries instead of options."""
    plain = line.partition(" (try: ")[0]
    return shorten(re.sub(r"(?:argument )?--([a-z-]+)", lambda found: found[1].replace("-", "_"), plain), 500)


def _watcher(job: Job) -> Any:
    def show(done: int, total: int, note: str = "") -> None:
        job.progress(done, total, note)
        if job.cancelled():
            raise Cancelled

    return show


class _Endpoint:
    """Answers requests, of which it counts those at hand."""

    def __init__(self) -> None:
        self.at_hand = 0

    def of(self, name: str) -> Any:
        """The function that answers requests for a command."""

        async def asked(request: Request) -> Response:
            if self.at_hand >= MOST_AT_ONCE:
                return _refusal(429, "this server is busy with the requests of others; try again in a minute")
            self.at_hand += 1
            try:
                return await _read_and_answer(name, request)
            finally:
                self.at_hand -= 1

        return asked


async def _read_and_answer(name: str, request: Request) -> Response:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return _refusal(415, "send a JSON object, with the header Content-Type: application/json")
    if int(request.headers.get("content-length", "0")) > MOST_BYTES:  # the guard lets none pass that has no length
        return _refusal(413, f"more than {MOST_BYTES:,} bytes")
    body = await asyncio.to_thread(_parsed, await request.body())
    if body is None:
        return _refusal(400, "the body is not a JSON object")
    return await _answered(name, body, request)


def _parsed(text: bytes) -> dict[str, Any] | None:
    """The JSON object in a body; None if there is none."""
    try:
        body = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


async def _answered(name: str, body: dict[str, Any], request: Request) -> Response:
    job = Job(name, lambda job: json.dumps(answer(name, body, job), allow_nan=False))
    job.owner = job.client = "" if request.client is None else client_of(request.client.host)
    try:
        program_queue.put(job)
    except BadInput as full:
        return _refusal(429, str(full))
    end = time.monotonic() + MOST_SECONDS
    while job.running and time.monotonic() < end and not await request.is_disconnected():
        await asyncio.sleep(LOOK_SECONDS)
    if job.running:
        job.cancel()
        busy = "this server is busy; try again in a minute"
        return _refusal(
            503,
            busy
            if job.started is None
            else f"not done after {MOST_SECONDS:g} s; send fewer pairs, or use `austerity {name}`",
        )
    try:
        return Response(job.outcome(), media_type="application/json")
    except (BadInput, ArithmeticError) as refused:
        return _refusal(422, str(refused))
    except Exception:  # the queue has logged it
        return _refusal(500, "this failed unexpectedly; the log of the server says why")


def _refusal(code: int, line: str) -> Response:
    return Response(json.dumps({"error": line}), code, media_type="application/json")
