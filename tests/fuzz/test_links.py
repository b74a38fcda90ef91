"""Any link opens: what is damaged in it gives way to defaults, on every page."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from app.dashboard.pages import further
from tests.app.dashboard.driving import open_page
from tests.fuzz.links import names, opened

VALUES = st.one_of(
    st.sampled_from(["logistic", "stationary", "upload", "run-e3", "1e6", "0", "-1", "2", "nan", "inf", "", "1e999"]),
    st.sampled_from(["12214,500,0.05,0.5,1.0", "2,2,1e-16,1,1e6", "9" * 5000, "1,2,3", "0.05,"]),
    st.floats().map(repr),
    st.integers(-(10**30), 10**30).map(str),
    st.text(max_size=20),
)
NAMES = names()


@settings(max_examples=10)
@given(link=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=len(NAMES)))
def test_any_link_opens(link):
    opened(link)


def test_what_is_whole_in_a_link_is_found():
    link = {"source": "stationary", "trial_n": "5000", "n": "1000", "cfactor": "77", "pin": ["100,10,0.1,0.5,1.0"]}
    page = opened(link | {"topic": "budget", "experiment": "e4", "bsec": "nonsense"})
    source, _, pins, _ = page.session_state["seen"]
    assert (source.kind, source.n_data, len(pins)) == ("stationary", 5000, 1)
    assert page.session_state["design"].n_data == 1000
    assert page.session_state["knobs"]["cfactor"] == 77
    assert page.session_state["named"] == ("budget", "e4")


PAGES = ["explore", "trial_run", "design", "compare", "experiments", "method"]
PAGES_AS = [*((name, {}) for name in PAGES), ("explore", {"step": "true"})]
PLACES = [*PAGES_AS, *(("further", {"topic": entry.key}) for entry in further.ENTRIES)]
DAMAGED = ["1e999", "-1e999", "nan", "-1", "0", "9" * 5000, "1e-400", "1,2,3", "[]", "true", "barker", "\x00", "²"]


@pytest.mark.parametrize(("name", "query"), PLACES)
def test_a_page_opens_whatever_the_link_says_of_its_widgets(name, query):
    """Streamlit reads those itself; a value that it takes must be one that the page can use."""
    rng, page = random.Random(name), open_page(name, **query)
    bound = sorted(in_the_link(page))
    assert bound or name in ("experiments", "method")
    stop(page)
    stop(open_page(name, **({key: rng.choice(DAMAGED) for key in bound} | query)))


@pytest.mark.parametrize(
    ("name", "query"), [("further", {"topic": "steps", "stephold": ""}), ("explore", {"rule": ""})]
)
def test_a_choice_that_the_link_leaves_empty_is_the_usual_one(name, query):
    page = open_page(name, **query)
    stop(page)
    assert not page.error


def in_the_link(page: AppTest) -> Iterator[str]:
    """Names of the widgets that a link can set."""
    for element in page:
        proto = getattr(element, "proto", None)
        for drawn in (proto, getattr(proto, "expandable", None)):
            if name := getattr(drawn, "query_param_key", ""):
                yield name


def stop(page: AppTest) -> None:
    """The jobs of a page that nobody looks at any more."""
    for button in page.button:
        if button.key and button.key.startswith("cancel-"):
            page.session_state[f"job-{button.key.removeprefix('cancel-')}"].cancel()
