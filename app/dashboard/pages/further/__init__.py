"""Page: Go further. Questions beyond the choice of a test, each answered for the trial run in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from app.dashboard.pages.further import boundary, budget, posterior, redesign, steps
from app.dashboard.state.in_use import run_in_use
from app.dashboard.state.loaded import Loaded
from app.dashboard.widgets.choice import choice
from app.dashboard.widgets.chrome import problems_in_words


class Entry(NamedTuple):
    """A topic in the list: its name in the URL, its label, and the function that draws it."""

    key: str
    label: str
    show: Callable[[Loaded], None]


# in the order in which people ask
ENTRIES: tuple[Entry, ...] = (
    Entry("posterior", "What it does to my posterior", posterior.show),
    Entry("boundary", "Best possible boundary", boundary.show),
    Entry("budget", "A time budget", budget.show),
    Entry("steps", "Step size and test together", steps.show),
    Entry("redesign", "Design while it runs", redesign.show),
)


def show() -> None:
    """Draw the page, one topic at a time, so that only its work is done."""
    st.title("Go further")
    run = run_in_use()
    if run is None:
        return
    st.caption(f"Trial run in use — {run.line}")
    shows = {entry.key: entry.show for entry in ENTRIES}
    titles = {entry.key: entry.label for entry in ENTRIES}
    chosen = choice("topic", "What do you want to know?", titles, "Each answers one question about the same pairs.")
    with problems_in_words():
        shows[chosen](run)
