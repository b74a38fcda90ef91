"""Bounds that can be dragged: dots in a drawing, which are also sliders for the keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

SCRIPT = (Path(__file__).with_name("static") / "drag.js").read_text(encoding="utf-8")
HEIGHT = 340  # pixels
_element = st.components.v2.component("draggable", js=SCRIPT, isolate_styles=False)


def draggable(bounds: Sequence[float], n: Sequence[int], low: float, high: float, state: str) -> None:
    """Draw the bounds after n data each; what is dragged is in the session state of this name."""
    key = f"{state}-drawing"

    def take() -> None:
        moved = (st.session_state.get(key) or {}).get("bounds")
        if isinstance(moved, (list, tuple)) and len(moved) == len(bounds):
            st.session_state[state] = [min(max(float(value), low), high) for value in moved]

    data = {"bounds": list(bounds), "n": list(n), "low": low, "high": high}
    _element(data=data, key=key, height=HEIGHT, on_bounds_change=take)
