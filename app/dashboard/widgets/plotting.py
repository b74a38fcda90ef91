"""How figures get into the browser: an element of our own, its scripts, and where they are found.

Moving a slider with Streamlit's own element costs the browser a third more, and its script is four times as large.
`static/plotly-basic.min.js` is plotly.js-basic-dist-min as published, of the version that the Python package holds.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st
from plotly.io.json import to_json_plotly
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER = Path(__file__).with_name("static")
MODULE, LIBRARY = "figure.js", "plotly-basic.min.js"
DIGEST = hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in (MODULE, LIBRARY))).hexdigest()[:16]
ADDRESS = f"/figures/{DIGEST}/"  # changes with what is there, so that browsers may keep it for ever
FOR_EVER = "public, immutable, max-age=31536000"
USUAL_HEIGHT = 450  # pixels of a figure that does not say

DRAW = f"""
const {{default: draw}} = await import(location.origin + "{ADDRESS}{MODULE}");
export default draw;
"""
_element = st.components.v2.component("figure", js=DRAW, isolate_styles=False)


def draw(figure: go.Figure, key: str, words: str) -> None:
    """Draw a figure, or redraw the one of this key; `words` say what it shows to those who do not see it."""
    parts = figure.to_dict()
    layout = {"height": USUAL_HEIGHT} | parts["layout"] | {"template": {}}  # the browser puts in the page's colours
    text = to_json_plotly(parts | {"layout": layout})
    _element(data={"figure": text, "words": words}, key=key, height=layout["height"])


class Scripts:
    """Answers requests for the scripts of figures, and leaves all others to the application."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.files = app, StaticFiles(directory=FOLDER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        name = scope["path"].removeprefix(ADDRESS) if asked else ""
        if name not in (MODULE, LIBRARY):
            await self.app(scope, receive, send)
            return
        answer = await self.files.get_response(name, scope)
        answer.headers["Cache-Control"] = FOR_EVER
        await answer(scope, receive, send)
