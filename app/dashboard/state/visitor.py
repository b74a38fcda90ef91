"""Who visits: a random number in a cookie, so that a page that is loaded again finds what it had.

The cookie says nothing else, is sent to this server only, and ends with the browser.
"""

from __future__ import annotations

import re
import secrets

import streamlit as st
from starlette.requests import cookie_parser
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

COOKIE = "austerity_visitor"
_SHAPE = re.compile(r"[0-9a-f]{32}")


def visitor() -> str:
    """The visitor of this session; empty if the browser keeps no cookies."""
    return checked(st.context.cookies.get(COOKIE, ""))


def visitor_of(header: str) -> str:
    """The visitor named by the cookies of a request; empty if none is."""
    return checked(cookie_parser(header).get(COOKIE, ""))


def new_cookie(base: str = "", *, secure: bool = False) -> str:
    """A header that makes a browser a visitor. `base` is the path of the dashboard, `secure` whether it has https."""
    kept = f"{COOKIE}={secrets.token_hex(16)}; Path={base or '/'}; HttpOnly; SameSite=Strict"
    return f"{kept}; Secure" if secure else kept


def checked(text: object) -> str:
    """A visitor's number as we write it, or nothing."""
    return text if isinstance(text, str) and _SHAPE.fullmatch(text) else ""


def session_id() -> str:
    """The id of this session; empty outside of one."""
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def owner() -> str:
    """Whose a run is: the visitor's, or this session's if the browser keeps no cookies."""
    return visitor() or session_id()


def is_here(session: str) -> bool:
    """Whether the browser of a session is connected."""
    return not Runtime.exists() or Runtime.instance().is_active_session(session)
