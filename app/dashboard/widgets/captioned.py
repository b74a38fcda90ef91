"""Where the answer of a page stands, and figures with captions, which are also their alternative texts."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.dashboard.widgets.plotting import draw


def answer_place() -> DeltaGenerator:
    """The place of a page's answer, above its knobs: on a phone they would fill the first screen.

    It keeps its height while there is no answer, so that nothing below it jumps.
    """
    return st.container(key="answer")


def captioned(figure: go.Figure, key: str, words: str) -> None:
    """Draw a figure with its caption below."""
    draw(figure, key, words)
    st.caption(words)
