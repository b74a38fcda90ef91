"""Links to a page as it is, and downloads of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime import Runtime

from app.dashboard.state.chosen import chosen_design
from app.dashboard.state.design_text import design_text
from app.dashboard.state.pins import pinned_designs
from app.dashboard.state.source import current_source, source_values
from designer.core.files import csv_text

MOST_HELD = 8  # files made for a download, over all sessions
_made = count()


def link(values: Mapping[str, Any]) -> str:
    """The address of this page with these values of its knobs; a list repeats its key."""
    query = urlencode({key: _plain(value) for key, value in values.items()}, doseq=True, safe=",")
    return f"{st.context.url or ''}?{query}"


def session_values() -> dict[str, str | list[str]]:
    """What a link to any page must carry: the trial run, the chosen design and the pins."""
    design, pins = chosen_design(), [design_text(other) for other in pinned_designs()]
    values: dict[str, str | list[str]] = {**source_values(current_source())}
    return values | ({"chosen": design_text(design)} if design else {}) | ({"pin": pins} if pins else {})


def copy_link(values: Mapping[str, Any]) -> None:
    """A button that shows the link to this page, to be copied with one more click."""
    with st.popover("Copy link", icon=":material/link:"):
        st.caption("This address opens the page as it is now. Copy it with the icon on its right.")
        st.code(link(values), language=None, wrap_lines=True)


def made_later(make: Callable[[], str], file_name: str, mime: str) -> Callable[[], bytes]:
    """The argument of a download button whose file is made on request and stays until the browser has fetched it.

    Streamlit assigns such a file to no session, and drops it after two runs of any page: on a busy server, before the
    browser has requested it. The last few files are therefore held.
    """

    def made() -> bytes:
        content = make().encode()
        if Runtime.exists():
            place = f"made-{next(_made) % MOST_HELD}"
            Runtime.instance().media_file_mgr.add(content, mime, place, file_name, is_for_static_download=True)
        return content

    return made


def download_csv(label: str, file_name: str, columns: Callable[[], Mapping[str, Iterable[Any]]]) -> None:
    """A button that downloads a table, which is made on request."""

    def text() -> str:
        table = columns()
        return csv_text(table, zip(*table.values(), strict=True))

    st.download_button(
        label,
        made_later(text, file_name, "text/csv"),
        file_name,
        "text/csv",
        key=f"download-{file_name}",
        icon=":material/download:",
        on_click="ignore",
    )


def _plain(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
