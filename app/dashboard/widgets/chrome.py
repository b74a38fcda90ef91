"""The frame of every page: title, style, footer, and errors in plain words."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import Lock

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from app.dashboard.jobs import jobs
from app.dashboard.state import addresses, history
from app.dashboard.state.current import current_design, follow_rows, follows, name_tolerance
from app.dashboard.state.in_use import loaded_run
from app.dashboard.state.source import SHOWN, Source, choose_source
from app.dashboard.widgets import strip
from app.dashboard.widgets.knobs import turn_to, turned
from designer.core.errors import BadInput

PATIENCE = 0.25  # seconds that a page waits for those of other sessions
_turn = Lock()
VERSION = version("austerity")
# in the page itself: a file that Streamlit serves for one run of a page may be gone when a browser asks for it
ICON = "data:image/png;base64," + b64encode(Path(__file__).with_name("icon.png").read_bytes()).decode()
WITH_KNOBS = ("explore", "step-error", "compare", "further")  # the pages that have the knobs of a test
CITATION = "Korattikara, Chen, Welling (ICML 2014; Neural Computation 2016) and Seita, Pan, Chen, Canny (UAI 2017)"
EXACTNESS = "Each page states the numerical error of its numbers; curves are accurate to 10⁻⁶."
# the answer above the fold; enough contrast of captions, buttons and tags; wide formulas break, and tables scroll;
# outdated elements fade at once, since each step of an animation would redraw the page; a number beside a slider needs
# room for ten digits, and no step buttons; where the keyboard is can be seen, and links to headings are no stops of it;
# an answer keeps its place; on a phone the menu says what it is, and a slider and its number share a line
STYLE = (
    f"<style>{strip.STYLE}"
    + """
.stMainBlockContainer { padding-top: 4.5rem; padding-bottom: 2rem; }
.stMainBlockContainer h1 { padding: 0 0 0.5rem; font-size: 2rem; }
.stMainBlockContainer h2 { padding-top: 0.75rem; font-size: 1.35rem; }
.stMainBlockContainer h3 { font-size: 1.25rem; }
[data-testid="stCaptionContainer"] { color: inherit; opacity: 0.8; }
[data-testid="stBaseButton-primary"]:enabled, [data-tag] { color: light-dark(#ffffff, #0a1622); }
[data-testid="stNumberInput"]:has(input[aria-label$=", exactly"]) button { display: none; }
.stMarkdown table { display: block; overflow-x: auto; }
.katex-display > .katex { white-space: normal; }
.katex-display .base { margin: 0.15em 0; }
.stElementContainer, .stExpander * { transition-duration: 0s !important; }
.stApp :is(a, button, input, summary, textarea, [role], [tabindex]):focus-visible {
  outline: 2px solid light-dark(#0b65b0, #4da3ec); outline-offset: 2px;
}
[data-testid="stHeaderActionElements"] { display: none; }
.modebar--hover:focus-within { opacity: 1 !important; }
.st-key-answer { min-height: 6rem; }
[data-testid="stExpandSidebarButton"]::after { content: "Menu"; margin-left: 0.25rem; font-size: 1rem; }
[data-testid="stExpandSidebarButton"] { width: auto; }
@media (max-width: 640px) {
  [data-testid="stHorizontalBlock"]:not(:has([data-testid="stHorizontalBlock"])):has(input[aria-label$=", exactly"]) {
    flex-wrap: nowrap;
  }
  [data-testid="stHorizontalBlock"]:not(:has([data-testid="stHorizontalBlock"])):has(input[aria-label$=", exactly"])
    > [data-testid="stColumn"] { min-width: 0; }
  .stMainBlockContainer { padding-left: 1rem; padding-right: 1rem; }
  .stMainBlockContainer h1 { font-size: 1.6rem; }
  .katex-display > .katex { font-size: 0.9em; }
  .stTable :is(td, th) { padding: 0.2rem; font-size: 0.8rem; }
}
</style>"""
)


def frame(page: StreamlitPage, pages: Sequence[StreamlitPage], method: StreamlitPage) -> None:
    """Draw a page in its frame; the footer links to `method`."""
    st.set_page_config(page_title=f"{page.title} · austerity", page_icon=ICON, layout="wide")
    st.html(STYLE)
    by_path = {one.url_path: one for one in pages}
    _lead(page, by_path)
    history.restore()
    opened = jobs.begin_page(page.url_path)
    with in_turn():
        _follow(page, opened=opened)
        with problems_in_words():
            in_use = strip.draw(page.url_path, by_path)
        with problems_in_words():
            page.run()
        with problems_in_words():
            strip.update(in_use)
    name_tolerance(derived=page.url_path == "")
    addresses.note(page.url_path)
    st.divider()
    st.caption(f"austerity {VERSION} · after {CITATION} · your files stay on this machine. {EXACTNESS}")
    st.page_link(method, label="Method: formulas, assumptions, corrections, self-check")


def _lead(page: StreamlitPage, pages: Mapping[str, StreamlitPage]) -> None:
    """Lead old addresses to what they meant, and a page that is new to this session to where it stood before."""
    given = addresses.parameters()
    wanted = addresses.renamed(given)
    if page.url_path == "" and "explore" in pages and addresses.OF_EXPLORE & set(given) and not addresses.seen():
        st.switch_page(pages["explore"], query_params=wanted)
    if wanted != given:
        st.switch_page(page, query_params=wanted)
    if kept := addresses.kept(page.url_path):
        addresses.see(page.url_path)
        st.switch_page(page, query_params=kept)
    if not given and not addresses.seen():
        choose_source(Source(SHOWN))


def _follow(page: StreamlitPage, *, opened: bool) -> None:
    """Turn the knobs of a test to the design in use when that has changed, and say so in the URL, for Back and F5."""
    run = loaded_run()
    design = None if run is None else current_design(run.trial)
    follow_rows(None if run is None else run.trial.n_data)
    if history.going_back():  # the URL says how they stood
        follows(design)
        return
    changed = follows(design) and design is not None
    if changed and design is not None:
        turn_to(design)
    if page.url_path in WITH_KNOBS and (changed or opened):
        given = addresses.parameters()
        missing = {key: [text] for key, text in turned().items() if key not in given}
        if missing:
            st.switch_page(page, query_params=given | missing)


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
