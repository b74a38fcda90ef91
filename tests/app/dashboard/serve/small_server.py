"""A server that starts quickly, with one small page, and a client that sends and reads single bytes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.serving import PATIENCE, Server, running

PAGE = """
import os
import streamlit as st
st.title("A page")
st.write(os.urandom(8_000_000).hex() if "much" in st.query_params else "little")
"""
PROGRAM = """
import pathlib, sys
from app.dashboard.serve import server
from app.dashboard.serve.limits import Limits
server.warm = lambda: None  # nothing here is computed
{first}
server.serve(port=0, script=pathlib.Path(sys.argv[1]), {options})
"""


@contextmanager
def small(folder: Path, options: str = "", first: str = "") -> Iterator[Server]:
    """A server with these arguments of `serve`; `first` is done in its process before."""
    page = folder / "page.py"
    page.write_text(PAGE)
    with running("-c", PROGRAM.format(options=options, first=first), str(page)) as server:
        yield server


def connected(server: Server, source: str = "127.0.0.1") -> socket.socket:
    """A connection, from an address of this machine."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE, source_address=(source, 0))


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def answer_to(server: Server, path: str, source: str = "127.0.0.1", *headers: str) -> bytes:
    """The whole answer to a request."""
    with connected(server, source) as connection:
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Connection: close", *headers]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return rest(connection)
