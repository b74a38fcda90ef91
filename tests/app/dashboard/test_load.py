"""A few sessions use the dashboard for a quarter of a minute without errors; see also `benchmarks.reliability.load`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.request import urlopen

from benchmarks.dashboard.streamlit_client import FAILURES, Session
from benchmarks.reliability.load import complaints, load
from tests.serving import running

DASHBOARD = Path(__file__).parents[3] / "app" / "dashboard"


def test_sessions_side_by_side_see_no_error():
    run = load(sessions=4, minutes=0.25, windows=0, watched=0.0)
    assert run.diary.errors == []
    assert complaints(run.log) == []
    assert len(run.diary.actions) > 5
    assert {"slider moved", "page changed"} <= {action.what for action in run.diary.actions}


def test_a_file_is_there_for_the_browser_while_others_use_the_server():
    """Files that are made when they are asked for belong to no session in Streamlit's eyes."""

    async def visit(address: str) -> int:
        one, other = Session(address), Session(address)
        await one.open()
        await one.ask(page="trial-run")
        (offer,) = [offer for offer in one.offers() if offer.part.label == "These pairs as CSV"]
        assert offer.part.deferred_file_id
        place = await one.file_path(offer)
        await other.open()
        for _ in range(3):
            await other.move(other.sliders()[0], 1)
        content = await asyncio.to_thread(lambda: urlopen(address + place).read())
        await one.close()
        await other.close()
        assert one.errors == other.errors == []
        return len(content)

    with running() as server:
        assert asyncio.run(visit(server.address)) > 1000
        assert complaints(server.said()) == []


def test_the_red_boxes_of_failures_are_recognised():
    """The client tells failures from refusals by words that the dashboard uses for failures."""
    messages = [
        line
        for file in DASHBOARD.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "st.error(" in line
    ]
    assert all(any(words in line for line in messages) for words in FAILURES)
