"""A client for the dashboard without a browser: it speaks Streamlit's protocol as the front end does.

A `Session` knows what a page shows, moves its sliders, presses its buttons, polls running jobs as often as the page
asks for it, and downloads files. It records everything that goes wrong. `measure` times the server alone: ten browsers
on the server's machine would mostly measure browsers.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.request import urlopen

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

TIMEOUT = 120.0  # seconds for a page; a page that takes longer counts as an error
FAILURES = ("went wrong", "failed unexpectedly")  # red boxes that report a failure; other red boxes refuse bad input
KINDS = ("slider", "button", "download_button")


class Widget(NamedTuple):
    """A widget on the page, and the fragment it belongs to."""

    part: Any
    fragment: str


class PageLoad(NamedTuple):
    """Milliseconds to the first figure and to the end of the page, bytes received, and the page's headline."""

    figure: float = math.nan
    end: float = math.nan
    size: int = 0
    headline: str = ""


class Session:
    """One session. `errors` collects everything that should not have happened; `last` describes the last page."""

    def __init__(self, address: str, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        self.address, self.headers, self.errors = address, headers, list[str]()
        self.pages: dict[str, str] = {}  # name in the address -> its hash
        self.page, self.widgets, self.last = "", dict[str, Widget](), PageLoad()
        self.polling: dict[str, asyncio.Task[None]] = {}  # fragments that ask to be run again and again
        self._session, self._started, self._finished, self._asked_at = "", False, asyncio.Event(), 0.0
        self._downloads: dict[str, asyncio.Future[str]] = {}  # files that the server is making
        self._connection: ClientConnection | None = None
        self._listening: asyncio.Task[None] | None = None

    # --- actions ------------------------------------------------------------------------------------------------------

    async def open(self, query: str = "eps=0.05", page: str = "explore") -> None:
        """Open this page of the dashboard at its address, as a link does."""
        stream = self.address.replace("http", "ws", 1) + "/_stcore/stream"
        self._connection = await connect(
            stream, subprotocols=["streamlit"], max_size=None, additional_headers=self.headers
        )
        self._listening = asyncio.create_task(self._listen(self._connection))
        await self.ask(query, named=page)

    async def close(self) -> None:
        """Close the window."""
        self._stop_polling()
        if self._listening is not None:
            self._listening.cancel()
        if self._connection is not None:
            await self._connection.close()

    async def ask(
        self, query: str = "", page: str | None = None, *, named: str = "", used: Widget | None = None, to: str = ""
    ) -> float:
        """Ask for a page, with one of its widgets used; returns the milliseconds until the page is complete.

        Pages are known by their hash; the first one is asked for by the name in its address.
        """
        question = BackMsg()
        question.rerun_script.query_string, question.rerun_script.page_name = query, named
        question.rerun_script.page_script_hash = self.page if page is None else self.pages[page]
        if used is not None:
            state = question.rerun_script.widget_states.widgets.add(id=used.part.id)
            if to:
                state.string_array_value.data[:] = [to]
            else:
                state.trigger_value = True
        self._started, self._asked_at, self.last = False, time.perf_counter(), PageLoad()
        self._finished.clear()
        await self._send(question)
        try:
            await asyncio.wait_for(self._finished.wait(), TIMEOUT)
        except TimeoutError:
            self.errors.append(f"no page within {TIMEOUT:.0f} s")
        self.last = self.last._replace(end=self._elapsed())
        return self.last.end

    async def move(self, slider: Widget, steps: int) -> float:
        """Move a slider by so many stops, turning round at its ends."""
        stops, given = list(slider.part.options), slider.part.raw_value  # none if nobody has moved it yet
        place = (stops.index(given[0]) if given else int(slider.part.default[0])) + steps
        if not 0 <= place < len(stops):
            place -= 2 * steps
        return await self.ask(used=slider, to=stops[max(0, min(place, len(stops) - 1))])

    async def press(self, button: Widget) -> float:
        """Press a button; if it stands beside a running job, the page shows the effect later."""
        if not button.fragment:
            return await self.ask(used=button)
        question = BackMsg()
        question.rerun_script.page_script_hash, question.rerun_script.fragment_id = self.page, button.fragment
        question.rerun_script.widget_states.widgets.add(id=button.part.id).trigger_value = True
        await self._send(question)
        return 0.0

    async def until_done(self, seconds: float) -> bool:
        """Wait at most so long for the jobs on the page; returns whether they are done."""
        until = time.monotonic() + seconds
        while self.polling and time.monotonic() < until:
            await asyncio.sleep(0.1)
        return not self.polling

    async def download(self, offer: Widget) -> int:
        """Download a file that the page offers; returns its size."""
        return len(await asyncio.to_thread(_content, self.address + await self.file_path(offer)))

    async def file_path(self, offer: Widget) -> str:
        """The path of a file that the page offers; the server may have to make the file first."""
        if offer.part.url:
            return str(offer.part.url)
        name, question = f"file-{time.monotonic_ns()}", BackMsg()
        question.backend_operation_request.request_id = name
        question.backend_operation_request.session_id = self._session
        question.backend_operation_request.deferred_file.file_id = offer.part.deferred_file_id
        self._downloads[name] = asyncio.get_running_loop().create_future()
        await self._send(question)
        path = await asyncio.wait_for(self._downloads[name], TIMEOUT)
        del self._downloads[name]
        return path

    def sliders(self) -> list[Widget]:
        """The sliders that can be moved."""
        return [w for w in self.widgets.values() if w.part.DESCRIPTOR.name == "Slider" and len(w.part.options) > 2]

    def button(self, label: str) -> Widget | None:
        """The button with this label, if the page has it and it is enabled."""
        buttons = (w for w in self.widgets.values() if w.part.DESCRIPTOR.name == "Button")
        return next((w for w in buttons if w.part.label == label and not w.part.disabled), None)

    def offers(self) -> list[Widget]:
        """The files that can be downloaded."""
        return [w for w in self.widgets.values() if w.part.DESCRIPTOR.name == "DownloadButton" and not w.part.disabled]

    # --- messages -----------------------------------------------------------------------------------------------------

    async def _send(self, question: BackMsg) -> None:
        assert self._connection is not None
        try:
            await self._connection.send(question.SerializeToString())
        except WebSocketException as problem:
            self.errors.append(f"disconnected: {problem}")
            self._finished.set()

    async def _listen(self, connection: ClientConnection) -> None:
        try:
            async for data in connection:
                assert isinstance(data, bytes)
                self.last = self.last._replace(size=self.last.size + len(data))
                self._receive(ForwardMsg.FromString(data))
        except WebSocketException as problem:
            self.errors.append(f"disconnected: {problem}")
        self._finished.set()

    def _receive(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self.widgets, self.page, self._started = {}, message.new_session.page_script_hash, True
            self._session = message.new_session.initialize.session_id or self._session
            self._stop_polling()
        elif kind == "navigation":
            self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            self.page = message.navigation.page_script_hash
        elif kind == "delta":
            self._receive_element(message.delta)
        elif kind == "backend_operation_response":
            self._receive_file(message.backend_operation_response)
        elif kind == "auto_rerun":
            fragment, pause = message.auto_rerun.fragment_id, message.auto_rerun.interval
            self._stop_polling(fragment)
            self.polling[fragment] = asyncio.create_task(self._poll(fragment, pause))
        elif kind == "stop_auto_rerun":
            self._stop_polling()
        elif (
            kind == "session_status_changed" and self._started and not message.session_status_changed.script_is_running
        ):
            self._finished.set()  # not at script_finished: a poll of a job that follows closely rewrites that message

    def _receive_element(self, delta: Any) -> None:
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind in KINDS:
            part = getattr(element, kind)
            self.widgets[part.id] = Widget(part, delta.fragment_id)
        elif kind == "bidi_component" and math.isnan(self.last.figure):
            self.last = self.last._replace(figure=self._elapsed())
        elif kind == "markdown" and element.markdown.body.startswith("## "):
            self.last = self.last._replace(headline=element.markdown.body)
        elif kind == "exception":
            self.errors.append(f"exception: {element.exception.type}: {element.exception.message}")
        elif kind == "alert" and any(words in element.alert.body for words in FAILURES):
            self.errors.append(f"red box: {element.alert.body}")

    def _receive_file(self, response: Any) -> None:
        self._downloads[response.request_id].set_result(response.deferred_file.url)
        if response.error_msg:
            self.errors.append(f"no file: {response.error_msg}")

    async def _poll(self, fragment: str, pause: float) -> None:
        """Rerun the fragment of a job, as the page asks for."""
        with suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(pause)
                question = BackMsg()
                question.rerun_script.page_script_hash = self.page
                question.rerun_script.fragment_id = fragment
                question.rerun_script.is_auto_rerun = True
                await self._send(question)

    def _stop_polling(self, *fragments: str) -> None:
        for fragment in fragments or list(self.polling):
            task = self.polling.pop(fragment, None)
            if task is not None:
                task.cancel()

    def _elapsed(self) -> float:
        """Milliseconds since the last question."""
        return 1e3 * (time.perf_counter() - self._asked_at)


def _content(address: str) -> bytes:
    with urlopen(address, timeout=TIMEOUT) as answer:
        content: bytes = answer.read()
        return content


# --- the server alone -------------------------------------------------------------------------------------------------


class SliderTimes(NamedTuple):
    """The pages after moves of a slider, and the server's processor time per move in milliseconds."""

    pages: list[PageLoad]
    processor: float


def measure(address: str, process: int, label: str, sessions: int, moves: int) -> SliderTimes:
    """Have so many sessions move the slider with this label at the same time; `process` is the server's id."""
    return asyncio.run(_measure(address, process, label, sessions, moves))


async def _measure(address: str, process: int, label: str, sessions: int, moves: int) -> SliderTimes:
    every = [Session(address) for _ in range(sessions)]
    for session in every:
        await session.open()
    pages, before = list[PageLoad](), processor_time(process)
    for move in range(moves):
        step = -1 if move % 16 < 8 else 1
        await asyncio.gather(*(session.move(_slider(session, label), step) for session in every))
        pages += [session.last for session in every]
    used = processor_time(process) - before
    for session in every:
        await session.close()
    return SliderTimes(pages, used / len(pages))


def _slider(session: Session, label: str) -> Widget:
    return next(slider for slider in session.sliders() if slider.part.label == label)


def processor_time(process: int) -> float:
    """Milliseconds of processor time of a process so far; NaN if the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_time(name: str) -> float:
    """Milliseconds of processor time so far of this process' descendants whose names begin with `name`."""
    parents: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(file.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
        parents.setdefault(parent, []).append(int(file.parent.name))
    descendants, waiting = list[int](), [os.getpid()]
    while waiting:
        waiting += (children := parents.get(waiting.pop(), []))
        descendants += [child for child in children if _name(child).startswith(name)]
    return sum(map(processor_time, descendants)) if descendants else math.nan


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text()
    except OSError:
        return ""
