"""A few sessions use the dashboard for a quarter of a minute without errors; see also `benchmarks.reliability.load`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.dashboard.streamlit_client import FAILURES
from benchmarks.reliability.load import complaints, load

DASHBOARD = Path(__file__).parents[4] / "app" / "dashboard"


def test_sessions_side_by_side_see_no_error():
    run = load(sessions=4, minutes=0.25, windows=0, watched=0.0)
    assert run.diary.errors == []
    assert complaints(run.log) == []
    assert len(run.diary.actions) > 5
    assert {"slider moved", "page changed"} <= {action.what for action in run.diary.actions}


def test_the_red_boxes_of_failures_are_recognised():
    """The client tells failures from refusals by words that the dashboard uses for failures."""
    messages = [
        line
        for file in DASHBOARD.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "st.error(" in line
    ]
    assert all(any(words in line for line in messages) for words in FAILURES)
