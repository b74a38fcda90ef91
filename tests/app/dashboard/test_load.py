"""A few sessions do what people do, for a quarter of a minute: nothing goes wrong. Ten minutes: benchmarks.load."""

from __future__ import annotations

import asyncio
from urllib.request import urlopen

from benchmarks.guests import Guest
from benchmarks.load import complaints, load
from tests.serving import running


def test_sessions_side_by_side_see_no_error():
    found = load(sessions=4, minutes=0.25, windows=0, kept=0.0)
    assert found.diary.wrong == []
    assert complaints(found.said) == []
    assert len(found.diary.done) > 5
    assert {"slider moved", "page changed"} <= {done.what for done in found.diary.done}


def test_a_file_is_there_for_the_browser_while_others_use_the_server():
    """Files that are made when they are asked for belong to no session in Streamlit's eyes."""

    async def visit(address: str) -> int:
        one, other = Guest(address), Guest(address)
        await one.arrive()
        await one.ask(page="trial-run")
        (offer,) = [offer for offer in one.offers() if offer.part.label == "These pairs as CSV"]
        assert offer.part.deferred_file_id
        place = await one.place_of(offer)
        await other.arrive()
        for _ in range(3):
            await other.move(other.sliders()[0], 1)
        content = await asyncio.to_thread(lambda: urlopen(address + place).read())
        await one.leave()
        await other.leave()
        assert one.wrong == other.wrong == []
        return len(content)

    with running() as server:
        assert asyncio.run(visit(server.address)) > 1000
        assert complaints(server.said()) == []
