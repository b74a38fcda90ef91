"""Draw Plotly figures in the browser with an element of our own, and serve its scripts.

With Streamlit's own element, a move of a slider costs the browser a third more, and its script is four times as large.
`static/plotly-basic.min.js` is plotly.js-basic-dist-min as published, in the version of the Python package.
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
ADDRESS = f"/figures/{DIGEST}/"  # changes with the content, so that browsers may cache it for ever
FOR_EVER = "public, immutable, max-age=31536000"
USUAL_HEIGHT = 450  # pixels, of a figure without a height

# the dashboard may be below a path, which the address of its own script tells: …/static/js/index.….js
DRAW = f"""
const base = new URL("../..", document.querySelector("script[type=module][src]").src);
const {{default: draw}} = await import(new URL("{ADDRESS[1:]}{MODULE}", base).href);
export default draw;
"""
_element = st.components.v2.component("figure", js=DRAW, isolate_styles=False)


def draw(figure: go.Figure, key: str, words: str) -> None:
    """Draw a figure, or redraw the one with this key; `words` are its alternative text."""
    parts = figure.to_dict()
    layout = {"height": USUAL_HEIGHT} | parts["layout"] | {"template": {}}  # the browser adds the page's colours
    text = to_json_plotly(parts | {"layout": layout})
    _element(data={"figure": text, "words": words}, key=key, height=layout["height"])


class Scripts:
    """Serves the scripts of figures, and passes all other requests to the application."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.files = app, StaticFiles(directory=FOLDER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        name = scope["path"].removeprefix(ADDRESS) if asked else ""
        if name not in (MODULE, LIBRARY):
            await self.app(scope, receive, send)
            return
        response = await self.files.get_response(name, scope)
        response.headers["Cache-Control"] = FOR_EVER
        await response(scope, receive, send)
