"""Visitors of the dashboard without a browser: they speak Streamlit's protocol and draw nothing.

Ten browsers on the machine of the server mostly measure browsers, which real visitors bring along; these measure the
server alone, from the message of a moved slider to the last part of the redrawn page.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import NamedTuple

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect


class Answer(NamedTuple):
    """Milliseconds until the first figure and until the end of the page, bytes received, and the page's headline."""

    figure: float
    end: float
    size: int
    headline: str


class Load(NamedTuple):
    """What moves of a slider took, and the processor time of the server for each, in milliseconds."""

    answers: list[Answer]
    processor: float


class Visitor:
    """One session, and the slider that it moves."""

    def __init__(self, connection: ClientConnection, slider: str) -> None:
        self.connection, self.slider = connection, slider
        self.identity, self.stops, self.place = "", list[str](), 0

    async def ask(self) -> Answer:
        """Ask for the page with the slider where it is, and wait for all of it."""
        question = BackMsg()
        question.rerun_script.query_string = ""
        if self.identity:
            state = question.rerun_script.widget_states.widgets.add(id=self.identity)
            state.string_array_value.data[:] = [self.stops[self.place]]
        start, size, figure, headline = time.perf_counter(), 0, float("nan"), ""
        await self.connection.send(question.SerializeToString())
        while True:
            data = await self.connection.recv(decode=False)
            size += len(data)
            message = ForwardMsg.FromString(data)
            if message.WhichOneof("type") == "script_finished":
                return Answer(figure, _since(start), size, headline)
            part = message.delta.new_element
            kind = part.WhichOneof("type")
            if kind == "bidi_component" and figure != figure:
                figure = _since(start)
            elif kind == "markdown" and part.markdown.body.startswith("####"):
                headline = part.markdown.body
            elif kind == "slider" and part.slider.label == self.slider and not self.identity:
                self.identity, self.stops = part.slider.id, list(part.slider.options)
                self.place = self.stops.index(part.slider.raw_value[0])

    async def move(self, steps: int) -> Answer:
        """Move the slider, and wait for the page."""
        self.place += steps
        return await self.ask()


def measure(address: str, process: int, slider: str, people: int, moves: int) -> Load:
    """So many visitors of a server, at this address and with this process number, move a slider at the same time."""
    return asyncio.run(_measure(address, process, slider, people, moves))


async def _measure(address: str, process: int, slider: str, people: int, moves: int) -> Load:
    stream = address.replace("http", "ws", 1) + "/_stcore/stream"
    connections = [await connect(stream, subprotocols=["streamlit"], max_size=None) for _ in range(people)]
    visitors = [Visitor(connection, slider) for connection in connections]
    for visitor in visitors:
        await visitor.ask()
    answers, before = list[Answer](), processor_time(process)
    for move in range(moves):
        step = -1 if move % 16 < 8 else 1
        answers += await asyncio.gather(*(visitor.move(step) for visitor in visitors))
    used = processor_time(process) - before
    for connection in connections:
        await connection.close()
    return Load(answers, used / len(answers))


def processor_time(process: int) -> float:
    """Milliseconds that a process has worked so far; not a number where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_time(name: str) -> float:
    """Milliseconds that this process' children, and theirs, whose names begin with this have worked so far."""
    parents: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(file.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
        parents.setdefault(parent, []).append(int(file.parent.name))
    found, left = list[int](), [os.getpid()]
    while left:
        left += (children := parents.get(left.pop(), []))
        found += [child for child in children if _name(child).startswith(name)]
    return sum(map(processor_time, found)) if found else float("nan")


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text()
    except OSError:
        return ""


def _since(start: float) -> float:
    return 1e3 * (time.perf_counter() - start)
