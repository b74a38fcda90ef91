"""What leaves a page: a link that brings it back, and its numbers as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st


def link(values: Mapping[str, Any]) -> str:
    """The address of this page with these values of its knobs; a list gives its key several times."""
    query = urlencode({key: _plain(value) for key, value in values.items()}, doseq=True, safe=",")
    return f"{st.context.url or ''}?{query}"


def copy_link(values: Mapping[str, Any]) -> None:
    """A button that opens the link of this page, to be copied with one more click."""
    with st.popover("Copy link", icon=":material/link:"):
        st.caption("This address brings back the page as it is now. The icon at its right copies it.")
        st.code(link(values), language=None, wrap_lines=True)


def csv_text(columns: Mapping[str, Iterable[Any]]) -> str:
    """A CSV text of columns of equal length; numbers to their last bit, nothing where there is none."""
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(_cell, row)) for row in rows)]) + "\n"


def download_csv(label: str, file_name: str, columns: Callable[[], Mapping[str, Iterable[Any]]]) -> None:
    """A button to save a table, which is written when it is asked for."""
    st.download_button(
        label,
        lambda: csv_text(columns()),
        file_name,
        "text/csv",
        key=f"download-{file_name}",
        icon=":material/download:",
        on_click="ignore",
    )


def _plain(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _cell(value: Any) -> str:
    plain = value.item() if isinstance(value, np.generic) else value
    return "" if plain is None or plain != plain else str(plain)
