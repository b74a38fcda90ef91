"""A figure with a caption, which is also its alternative text."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from app.dashboard.widgets.plotting import draw


def captioned(figure: go.Figure, key: str, words: str) -> None:
    """Draw a figure with its caption below."""
    draw(figure, key, words)
    st.caption(words)
