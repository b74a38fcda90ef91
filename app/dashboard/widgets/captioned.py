"""A figure with what it shows in words: below it for those who see it, as its alternative text for those who do not."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from app.dashboard.widgets.plotting import draw


def captioned(figure: go.Figure, key: str, words: str) -> None:
    """Draw a figure over its caption."""
    draw(figure, key, words)
    st.caption(words)
