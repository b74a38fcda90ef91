"""The addresses of the pages of a session: where each page stood, for when it is opened again in a new session."""

from __future__ import annotations

import streamlit as st

from app.dashboard.state import belongings
from app.dashboard.state.current import TOLERANCE
from app.dashboard.state.source import source_names

Parameters = dict[str, list[str]]
# what several pages share; the latest value counts, whichever page it was set on
SHARED = frozenset({TOLERANCE, "n", "m", "eps", "alpha", "growth", "chosen", "pin", *source_names()})
# of links that other versions have made: one name now has one meaning on all pages
RENAMED = {
    **dict.fromkeys(("pm", "cm", "bm"), "m"),
    **dict.fromkeys(("peps", "ceps"), "eps"),
    **dict.fromkeys(("ctol", "bndtol", "steptol", "redtol"), TOLERANCE),
}
# of links to Explore, when it was the first page
OF_EXPLORE = frozenset({"n", "m", "eps", "alpha", "growth", "pin", "mu", "paths", "sim", "reps", "table"})


def parameters() -> Parameters:
    """The parameters of the URL."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def renamed(given: Parameters) -> Parameters:
    """Parameters by the names that pages have now; a name of its own comes before an old one."""
    found = {name: values for name, values in given.items() if name not in RENAMED}
    for name, values in given.items():
        found.setdefault(RENAMED.get(name, name), values)
    return found


def note(page: str) -> None:
    """Remember where a page stands."""
    mine, given = belongings.mine(), parameters()
    mine.addresses.pop(page, None)  # the latest comes last
    mine.addresses[page] = given
    see(page)


def see(page: str) -> None:
    """This session has opened a page."""
    st.session_state.setdefault("pages-seen", set()).add(page)


def seen() -> set[str]:
    """The pages that this session has opened."""
    found: set[str] = st.session_state.get("pages-seen", set())
    return found


def kept(page: str) -> Parameters:
    """What a page that is new to this session had in the one before; nothing if there was none, or if the URL says."""
    if page in seen() or parameters():
        return {}
    addresses = belongings.mine().addresses
    own = {name: values for name, values in addresses.get(page, {}).items() if name not in SHARED}
    latest: Parameters = {}
    for given in addresses.values():
        latest |= {name: values for name, values in given.items() if name in SHARED and name not in st.session_state}
    return own | (latest if page in addresses else {})
