"""How the tests look at a page of the dashboard."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.serving import PATIENCE


def page(name: str, **query: str) -> AppTest:
    """A page as a link with these parameters shows it, once its jobs have ended."""
    found = AppTest.from_string(f"from app.dashboard.pages import {name}; {name}.show()", default_timeout=PATIENCE)
    for key, value in query.items():
        found.query_params[key] = value
    return settled(found.run())


def settled(found: AppTest) -> AppTest:
    """The page once it watches no job any more."""
    while watched := [b.key.removeprefix("cancel-") for b in found.button if b.key and b.key.startswith("cancel-")]:
        assert all(found.session_state[f"job-{kind}"].wait(PATIENCE) for kind in watched)
        found.run()
    return found


def everything(found: AppTest) -> str:
    """All that a page says in words."""
    assert not found.exception, found.exception[0].message
    kinds = ("markdown", "caption", "info", "warning", "success", "error")
    return "\n".join(element.value for kind in kinds for element in getattr(found, kind))


def query(found: AppTest, name: str) -> str:
    """A parameter of the URL; AppTest has lists of those it was given and texts of those the page has set."""
    value = found.query_params[name]
    return value if isinstance(value, str) else value[0]


def figures(found: AppTest) -> list[dict[str, Any]]:
    """The Plotly figures of a page."""
    return [json.loads(drawn["figure"]) for drawn in _drawn(found)]


def alternative_texts(found: AppTest) -> list[str]:
    """What the figures of a page show, in words."""
    return [drawn["words"] for drawn in _drawn(found)]


def _drawn(found: AppTest) -> list[dict[str, str]]:
    elements = [json.loads(element.proto.json) for element in found.get("bidi_component")]
    return [drawn for drawn in elements if "figure" in drawn]


def numbers(values: Any) -> np.ndarray:
    """The numbers of a trace, which may have been packed."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
    return np.array(values, dtype=float)


def button(found: AppTest, label: str) -> Any:
    """The button that begins with this."""
    (one,) = [b for b in found.button if b.label.startswith(label)]
    return one


def open_page(name: str, **query: str | list[str]) -> AppTest:
    """A page in its frame, as a link with these parameters shows it; its jobs may still run."""
    imports = f"from app.dashboard.pages import {name}\nfrom app.dashboard.widgets import chrome"
    script = f"{imports}\nwith chrome.problems_in_words(): {name}.show()"
    found = AppTest.from_string(script, default_timeout=PATIENCE)
    for key, value in query.items():
        found.query_params[key] = value
    found.run()
    assert not found.exception, found.exception[0].message
    return found


def figure(found: AppTest, number: int) -> dict[str, Any]:
    """One of the figures of a page."""
    return figures(found)[number]


def trace(drawn: dict[str, Any], name: str, axis: str = "y") -> dict[str, Any]:
    """The trace of this name on this axis."""
    (one,) = [each for each in drawn["data"] if each.get("name") == name and each.get("yaxis", "y") == axis]
    return one
