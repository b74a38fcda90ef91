"""The interface itself: requests wait in a queue of their own, and end with the connection or after a minute."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.cli.errors import UsageError
from app.cli.http.openapi import document
from app.cli.http.questions import QUESTIONS, options_of
from app.dashboard.jobs.job_queue import Job, JobQueue
from designer.core.errors import BadInput
from designer.core.progress import Cancelled

PREFIX = "/api/1"
WORKERS = 2  # requests at work at once
MOST_WAITING = 16  # requests that wait or are at work
MOST_OF_ONE = 4  # of them from one address
MOST_SECONDS = 60.0  # of one request, from when it comes to when it is answered
LOOK_SECONDS = 0.05  # between two looks at whether an answer is there and whether the client is

_queue = JobQueue(WORKERS, MOST_WAITING, 1)


def application() -> Starlette:
    """The routes below PREFIX."""
    routes = [Route(f"/{name}", _endpoint(name), methods=["POST"]) for name in QUESTIONS]
    return Starlette(routes=[Route("/openapi.json", _described), *routes])


def answer(name: str, asked: Mapping[str, Any], job: Job | None = None) -> dict[str, Any]:
    """What a command says to a request; a job may cancel it."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            options = options_of(name, asked, Path(folder))
            if job is not None:
                options.watcher = _watcher(job)
            found: dict[str, Any] = options.run(options).data
            return found
    except UsageError as error:  # its advice is for people at a terminal
        raise BadInput(str(error).partition(" (try: ")[0]) from None


def _watcher(job: Job) -> Any:
    def show(done: int, total: int, note: str = "") -> None:
        job.progress(done, total, note)
        if job.cancelled():
            raise Cancelled

    return show


async def _described(request: Request) -> Response:
    return JSONResponse(document())


def _endpoint(name: str) -> Any:
    async def asked(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refusal(415, "send a JSON object, with the header Content-Type: application/json")
        try:
            body = json.loads(await request.body(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return _refusal(400, "the body is not a JSON object")
        return await _answered(name, body, request)

    return asked


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


async def _answered(name: str, body: dict[str, Any], request: Request) -> Response:
    client = "" if request.client is None else request.client.host
    job = Job(name, lambda job: answer(name, body, job), owner=client)
    try:
        if _queue.count(client) >= MOST_OF_ONE:
            raise BadInput(f"{MOST_OF_ONE} of your requests are not answered yet; wait for one of them")
        _queue.put(job)
    except BadInput as full:
        return _refusal(429, str(full))
    waited = 0.0
    while job.running and waited < MOST_SECONDS:
        await asyncio.sleep(LOOK_SECONDS)
        waited += LOOK_SECONDS
        if await request.is_disconnected():
            break
    if job.running:
        job.cancel()
        return _refusal(503, f"not done after {MOST_SECONDS:.0f} s; send fewer pairs, or use the command line")
    try:
        return Response(json.dumps(job.outcome(), allow_nan=False), media_type="application/json")
    except (BadInput, ArithmeticError) as refused:
        return _refusal(422, str(refused))
    except Exception:  # it is in the server's log
        return _refusal(500, "this failed unexpectedly; the log of the server says why")


def _refusal(code: int, line: str) -> JSONResponse:
    return JSONResponse({"error": line}, code)
