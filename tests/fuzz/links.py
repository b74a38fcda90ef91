"""Links to the dashboard: what a page may find in its URL, read as the pages read it."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import parse_qs

import streamlit as st
from streamlit.testing.v1 import AppTest

from app.dashboard import pages as views
from app.dashboard.state.pins import MOST_PINS
from app.dashboard.state.source import LIMITS, Source, source_in_url
from app.dashboard.widgets import knobs
from app.dashboard.widgets.knobs import Knob
from designer.rule.design import Design

STREAMLITS_OWN = ("embed", "embed_options")  # which no page sees
QUIET = ("scriptrunner_utils.script_run_context", "state.session_state_proxy")

# every knob of every page, and what else is in the URL
SCRIPT = """
import streamlit as st
from app.dashboard.widgets import choice, knobs
from app.dashboard.state.chosen import chosen_design
from app.dashboard.state.pins import pinned_designs
from app.dashboard.state.share import session_values
from app.dashboard.state.source import current_source
from app.dashboard.pages import experiments, further
from tests.fuzz.links import all_knobs
st.session_state["seen"] = current_source(), chosen_design(), pinned_designs(), session_values()
st.session_state["design"] = knobs.test_knobs()
drawn = {spec.key for spec in knobs.TEST_KNOBS}
st.session_state["knobs"] = {spec.key: knobs.knob(spec) for spec in all_knobs() if spec.key not in drawn}
titles = {entry.key: entry.label for entry in further.ENTRIES}
st.session_state["named"] = choice.choice("topic", "Topic", titles, ""), experiments._chosen()
"""


def all_knobs() -> list[Knob]:
    """Of all pages, each once."""
    names = [found.name for found in pkgutil.walk_packages(views.__path__, "app.dashboard.pages.")]
    modules = [knobs, *map(importlib.import_module, names)]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Knob)]
    return list({spec.key: spec for spec in found}.values())


def names() -> list[str]:
    """Parameters that the pages look at themselves, and those of the knobs."""
    own = [
        "source",
        "trial_n",
        "acceptance",
        "pairs",
        "seed",
        "spread",
        "digest",
        "chosen",
        "pin",
        "topic",
        "experiment",
    ]
    return [*own, *(spec.key for spec in all_knobs())]


def opened(link: Mapping[str, str | list[str]]) -> AppTest:
    """What a session finds in this link; every value must be one that the pages can use."""
    page = AppTest.from_string(SCRIPT, default_timeout=60)
    for name, value in link.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception, page.exception[0].message
    check_source(page.session_state["seen"][0])
    _, chosen, pins, _ = page.session_state["seen"]
    assert isinstance(page.session_state["design"], Design)
    assert chosen is None or isinstance(chosen, Design)
    assert len(pins) <= MOST_PINS
    for spec in all_knobs():
        value = page.session_state["knobs"].get(spec.key, spec.default)
        assert spec.low <= value <= spec.high, spec.key
    return page


def check_source(found: Source) -> None:
    """Its numbers are within the limits."""
    for field, (low, high) in LIMITS.items():
        value = getattr(found, field)
        assert type(value) is type(getattr(Source(), field))
        assert low <= value <= high


def source_in_link(data: bytes) -> Source:
    """The trial run that the part of a link after its ? names; without a page around it, which would take 100 times."""
    given = parse_qs(data.decode("utf-8", "replace"), keep_blank_values=True)
    with _without_a_page():
        st.query_params.from_dict({name: given[name] for name in given if name.lower() not in STREAMLITS_OWN})
        found = source_in_url()
    check_source(found)
    return found


@contextmanager
def _without_a_page() -> Iterator[None]:
    """Streamlit tells, for every value that is looked at, that no page is being drawn."""
    loggers = [logging.getLogger(f"streamlit.runtime.{name}") for name in QUIET]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in loggers:
            logger.disabled = False
