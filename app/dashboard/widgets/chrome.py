"""The frame of every page: title, style, footer, and errors in plain words."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import Lock

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from designer.core.errors import BadInput

PATIENCE = 0.25  # seconds that a page waits for those of other sessions
_turn = Lock()
VERSION = version("austerity")
# in the page itself: a file that Streamlit serves for one run of a page may be gone when a browser asks for it
ICON = "data:image/png;base64," + b64encode(Path(__file__).with_name("icon.png").read_bytes()).decode()
CITATION = "Korattikara, Chen, Welling (ICML 2014; Neural Computation 2016) and Seita, Pan, Chen, Canny (UAI 2017)"
EXACTNESS = "Each page states the numerical error of its numbers; curves are accurate to 10⁻⁶."
# the answer above the fold; enough contrast of captions, buttons and tags; wide tables and formulas scroll; outdated
# elements fade at once, since each step of an animation would redraw the page; a number beside a slider needs room for
# ten digits, and no step buttons
STYLE = """<style>
.stMainBlockContainer { padding-top: 4.5rem; padding-bottom: 2rem; }
.stMainBlockContainer h1 { padding: 0 0 0.5rem; font-size: 2rem; }
.stMainBlockContainer h2 { font-size: 1.5rem; }
.stMainBlockContainer h3 { font-size: 1.25rem; }
[data-testid="stCaptionContainer"] { color: inherit; opacity: 0.8; }
[data-testid="stBaseButton-primary"]:enabled, [data-tag] { color: light-dark(#ffffff, #0a1622); }
[data-testid="stNumberInput"]:has(input[aria-label$=", exactly"]) button { display: none; }
.stMarkdown table { display: block; overflow-x: auto; }
.katex-display { overflow-x: auto; overflow-y: hidden; }
.stElementContainer, .stExpander * { transition-duration: 0s !important; }
@media (max-width: 640px) {
  .stMainBlockContainer { padding-left: 1rem; padding-right: 1rem; }
  .stMainBlockContainer h1 { font-size: 1.6rem; }
}
</style>"""


def frame(page: StreamlitPage, method: StreamlitPage) -> None:
    """Draw a page in its frame; the footer links to `method`."""
    st.set_page_config(page_title=f"{page.title} · austerity", page_icon=ICON, layout="wide")
    st.html(STYLE)
    with in_turn(), problems_in_words():
        page.run()
    st.divider()
    st.caption(f"austerity {VERSION} · after {CITATION} · your files stay on this machine. {EXACTNESS}")
    st.page_link(method, label="Method: formulas, assumptions, corrections, self-check")


@contextmanager
def in_turn() -> Iterator[None]:
    """Run the pages of all sessions one after the other, unless one takes long.

    In parallel they would slow each other down, and every browser would get its page in as many pieces as there are
    sessions, and redraw for each piece.
    """
    mine = _turn.acquire(timeout=PATIENCE)
    try:
        yield
    finally:
        if mine:
            _turn.release()


@contextmanager
def problems_in_words() -> Iterator[None]:
    """Show bad input as a message in place; the rest of the page stays."""
    try:
        yield
    except (BadInput, ArithmeticError) as problem:
        st.error(str(problem), icon=":material/error:")
