"""Back and Forward: every change of the user is an entry in the browser's history, and going back restores it.

The knobs are bound to the URL, and Streamlit restores them. What else the URL names is forgotten here, so that it is
read from the URL again.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.dashboard.state.current import TOLERANCE, tolerance

# of the trial run, the design and the pins; and of widgets that are not bound to the URL
_NAMES = ("source", "chosen", "pins", "source-kind")
_PREFIX = "made-"  # of the fields of synthetic pairs


def going_back() -> bool:
    """Whether this run was started by the browser's Back or Forward."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def restore() -> None:
    """Forget what the URL names, when the browser goes back or forward."""
    if going_back():
        for name in [str(key) for key in st.session_state if key in _NAMES or str(key).startswith(_PREFIX)]:
            del st.session_state[name]
        if TOLERANCE in st.query_params and st.session_state.pop(TOLERANCE, None) is not None:
            st.session_state[TOLERANCE] = tolerance()
