"""What leaves a page: a link that brings it back, and its numbers as CSV."""

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

HELD = 8  # files made for a download that are held, over all sessions
_made = count()


def link(values: Mapping[str, Any]) -> str:
    """The address of this page with these values of its knobs; a list gives its key several times."""
    query = urlencode({key: _plain(value) for key, value in values.items()}, doseq=True, safe=",")
    return f"{st.context.url or ''}?{query}"


def session_values() -> dict[str, str | list[str]]:
    """What a link to any page must carry: the trial run, the chosen design and the pins."""
    design, pins = chosen_design(), [design_text(other) for other in pinned_designs()]
    values: dict[str, str | list[str]] = {**source_values(current_source())}
    return values | ({"chosen": design_text(design)} if design else {}) | ({"pin": pins} if pins else {})


def copy_link(values: Mapping[str, Any]) -> None:
    """A button that opens the link of this page, to be copied with one more click."""
    with st.popover("Copy link", icon=":material/link:"):
        st.caption("This address brings back the page as it is now. The icon at its right copies it.")
        st.code(link(values), language=None, wrap_lines=True)


def made_later(make: Callable[[], str], file_name: str, mime: str) -> Callable[[], bytes]:
    """What a download button is given for a file that is made when it is asked for; it is there until it is fetched.

    Streamlit gives such a file to no session, and drops it after two runs of any page of anybody: on a busy server that
    is before the browser has asked for it. The last few are therefore held.
    """

    def made() -> bytes:
        content = make().encode()
        if Runtime.exists():
            place = f"made-{next(_made) % HELD}"
            Runtime.instance().media_file_mgr.add(content, mime, place, file_name, is_for_static_download=True)
        return content

    return made


def download_csv(label: str, file_name: str, columns: Callable[[], Mapping[str, Iterable[Any]]]) -> None:
    """A button to save a table, which is written when it is asked for."""

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
