"""The table of the Fit page: an example, or an upload that the server keeps for this session."""

from __future__ import annotations

from typing import NamedTuple


class Table(NamedTuple):
    """A table: its file name and content, and the names of its columns."""

    name: str
    content: bytes
    columns: tuple[str, ...]
    example: str | None = None
