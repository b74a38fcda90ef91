"""Page: Method. The mathematics, its assumptions, corrections to the papers, and the self-check."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import streamlit as st

from app.dashboard import cached

TEXT = Path(__file__).with_name("method.md")


def show() -> None:
    """Draw the page."""
    st.title("Method")
    st.markdown(TEXT.read_text(encoding="utf-8"))
    st.header("Self-check")
    st.markdown(f"austerity {version('austerity')}. The engine compared with its reference values, on this machine:")
    st.table(
        [
            {
                "values": check.name,
                "largest difference": f"{check.difference:.1e}",
                "allowed": f"{check.allowed:.0e}",
                "passed": "yes" if check.passed else "NO",
            }
            for check in cached.engine_checks()
        ]
    )
