"""Guests of the dashboard: sessions without a browser that do what people do, page after page.

They speak Streamlit's protocol as its front end does: they know what a page shows, move its sliders, press its buttons,
look in on jobs as often as the page asks for it, and fetch what it offers. What goes wrong on the way is remembered.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.request import urlopen

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

PATIENCE = 120.0  # seconds for a page; then it counts as an error
FAILURES = ("went wrong", "nobody foresaw")  # red boxes that are errors; others refuse in words, as they should
KINDS = ("slider", "button", "download_button")


class Shown(NamedTuple):
    """Something on the page that can be used, and the fragment that it belongs to."""

    part: Any
    fragment: str


class Guest:
    """One session. `wrong` collects what should not have happened."""

    def __init__(self, address: str) -> None:
        self.address, self.wrong = address, list[str]()
        self.pages: dict[str, str] = {}  # name in the address -> its hash
        self.page, self.shown = "", dict[str, Shown]()
        self.watching: dict[str, asyncio.Task[None]] = {}  # fragments that ask to be run again and again
        self._session, self._begun, self._finished = "", False, asyncio.Event()
        self._asked: dict[str, asyncio.Future[str]] = {}  # files that are being made
        self._connection: ClientConnection | None = None
        self._listening: asyncio.Task[None] | None = None

    # --- what a guest does --------------------------------------------------------------------------------------------

    async def arrive(self, query: str = "") -> None:
        """Open the dashboard, at the first page."""
        stream = self.address.replace("http", "ws", 1) + "/_stcore/stream"
        self._connection = await connect(stream, subprotocols=["streamlit"], max_size=None)
        self._listening = asyncio.create_task(self._listen(self._connection))
        await self.ask(query)

    async def leave(self) -> None:
        """Close the window."""
        self._stop_watching()
        if self._listening is not None:
            self._listening.cancel()
        if self._connection is not None:
            await self._connection.close()

    async def ask(self, query: str = "", page: str | None = None, *, used: Shown | None = None, to: str = "") -> float:
        """Ask for a page, with something on it used; milliseconds until all of it is there."""
        question, start = BackMsg(), time.perf_counter()
        question.rerun_script.query_string = query
        question.rerun_script.page_script_hash = self.page if page is None else self.pages[page]
        if used is not None:
            state = question.rerun_script.widget_states.widgets.add(id=used.part.id)
            if to:
                state.string_array_value.data[:] = [to]
            else:
                state.trigger_value = True
        self._begun = False
        self._finished.clear()
        await self._send(question)
        try:
            await asyncio.wait_for(self._finished.wait(), PATIENCE)
        except TimeoutError:
            self.wrong.append(f"no page within {PATIENCE:.0f} s")
        return 1e3 * (time.perf_counter() - start)

    async def move(self, slider: Shown, steps: int) -> float:
        """Move a slider by so many stops, turning round at its ends."""
        stops = list(slider.part.options)
        place = stops.index(slider.part.raw_value[0]) + steps
        if not 0 <= place < len(stops):
            place -= 2 * steps
        return await self.ask(used=slider, to=stops[max(0, min(place, len(stops) - 1))])

    async def press(self, button: Shown) -> float:
        """Press a button; of one that stands beside a job, the page tells later what came of it."""
        if not button.fragment:
            return await self.ask(used=button)
        question = BackMsg()
        question.rerun_script.page_script_hash, question.rerun_script.fragment_id = self.page, button.fragment
        question.rerun_script.widget_states.widgets.add(id=button.part.id).trigger_value = True
        await self._send(question)
        return 0.0

    async def until_done(self, seconds: float) -> bool:
        """Wait for the jobs on the page, no longer than this; whether they are done."""
        until = time.monotonic() + seconds
        while self.watching and time.monotonic() < until:
            await asyncio.sleep(0.1)
        return not self.watching

    async def fetch(self, offer: Shown) -> int:
        """Fetch a file that the page offers; its size."""
        return len(await asyncio.to_thread(_content, self.address + await self.place_of(offer)))

    async def place_of(self, offer: Shown) -> str:
        """The address of a file that the page offers, which may have to be made first."""
        if offer.part.url:
            return str(offer.part.url)
        name, question = f"file-{time.monotonic_ns()}", BackMsg()
        question.backend_operation_request.request_id = name
        question.backend_operation_request.session_id = self._session
        question.backend_operation_request.deferred_file.file_id = offer.part.deferred_file_id
        self._asked[name] = asyncio.get_running_loop().create_future()
        await self._send(question)
        place = await asyncio.wait_for(self._asked[name], PATIENCE)
        del self._asked[name]
        return place

    def sliders(self) -> list[Shown]:
        """Those that can be moved."""
        return [s for s in self.shown.values() if s.part.DESCRIPTOR.name == "Slider" and len(s.part.options) > 2]

    def button(self, label: str) -> Shown | None:
        """The button with this label, if the page has it and it can be pressed."""
        found = (s for s in self.shown.values() if s.part.DESCRIPTOR.name == "Button")
        return next((s for s in found if s.part.label == label and not s.part.disabled), None)

    def offers(self) -> list[Shown]:
        """Files that can be fetched."""
        return [s for s in self.shown.values() if s.part.DESCRIPTOR.name == "DownloadButton" and not s.part.disabled]

    # --- what it hears ------------------------------------------------------------------------------------------------

    async def _send(self, question: BackMsg) -> None:
        assert self._connection is not None
        try:
            await self._connection.send(question.SerializeToString())
        except WebSocketException as problem:
            self.wrong.append(f"disconnected: {problem}")
            self._finished.set()

    async def _listen(self, connection: ClientConnection) -> None:
        try:
            async for data in connection:
                assert isinstance(data, bytes)
                self._hear(ForwardMsg.FromString(data))
        except WebSocketException as problem:
            self.wrong.append(f"disconnected: {problem}")
        self._finished.set()

    def _hear(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self.shown, self.page, self._begun = {}, message.new_session.page_script_hash, True
            self._session = message.new_session.initialize.session_id or self._session
            self._stop_watching()
        elif kind == "navigation":
            self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            self.page = message.navigation.page_script_hash
        elif kind == "delta":
            self._see(message.delta)
        elif kind == "backend_operation_response":
            self._answer(message.backend_operation_response)
        elif kind == "auto_rerun":
            fragment, pause = message.auto_rerun.fragment_id, message.auto_rerun.interval
            self._stop_watching(fragment)
            self.watching[fragment] = asyncio.create_task(self._watch(fragment, pause))
        elif kind == "stop_auto_rerun":
            self._stop_watching()
        elif kind == "session_status_changed" and self._begun and not message.session_status_changed.script_is_running:
            self._finished.set()  # script_finished is no sign of it: a look at a job that follows closely rewrites it

    def _see(self, delta: Any) -> None:
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind in KINDS:
            part = getattr(element, kind)
            self.shown[part.id] = Shown(part, delta.fragment_id)
        elif kind == "exception":
            self.wrong.append(f"exception: {element.exception.type}: {element.exception.message}")
        elif kind == "alert" and any(words in element.alert.body for words in FAILURES):
            self.wrong.append(f"red box: {element.alert.body}")

    def _answer(self, response: Any) -> None:
        self._asked[response.request_id].set_result(response.deferred_file.url)
        if response.error_msg:
            self.wrong.append(f"no file: {response.error_msg}")

    async def _watch(self, fragment: str, pause: float) -> None:
        """Look in on a job, as the page asks for."""
        with suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(pause)
                question = BackMsg()
                question.rerun_script.page_script_hash = self.page
                question.rerun_script.fragment_id = fragment
                question.rerun_script.is_auto_rerun = True
                await self._send(question)

    def _stop_watching(self, *fragments: str) -> None:
        for fragment in fragments or list(self.watching):
            task = self.watching.pop(fragment, None)
            if task is not None:
                task.cancel()


def _content(address: str) -> bytes:
    with urlopen(address, timeout=PATIENCE) as answer:
        content: bytes = answer.read()
        return content
