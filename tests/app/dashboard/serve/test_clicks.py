"""A page that somebody turns to is shown, although the page before it keeps asking for the progress of its job."""

from __future__ import annotations

import asyncio
import time

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType

from app.dashboard.serve.clicks import PatientRequests
from benchmarks.dashboard.streamlit_client import Session
from benchmarks.reliability.load import LARGEST
from tests.serving import PATIENCE, running

CLICK = RerunData(page_script_hash="new", query_string="m=5")
TIMER = RerunData(page_script_hash="old", fragment_id="progress", is_auto_rerun=True)


def merged(requests: ScriptRequests, *asked: RerunData) -> RerunData:
    assert all(requests.request_rerun(one) for one in asked)
    answer = requests.on_scriptrunner_ready()
    assert answer.type == ScriptRequestType.RERUN
    return answer.rerun_data


def test_the_click_wins():
    found = merged(PatientRequests(), CLICK, TIMER)
    assert (found.page_script_hash, found.query_string, found.fragment_id_queue) == ("new", "m=5", [])


@pytest.mark.parametrize(
    ("asked", "page", "fragments"),
    [((TIMER,), "old", ["progress"]), ((TIMER, TIMER), "old", ["progress"]), ((TIMER, CLICK), "new", [])],
)
def test_other_questions_are_merged_as_before(asked, page, fragments):
    found = merged(PatientRequests(), *asked)
    assert (found.page_script_hash, found.fragment_id_queue) == (page, fragments)


def test_a_timer_of_the_page_before_is_left_out_while_the_new_page_is_drawn():
    requests = PatientRequests()
    assert requests.request_rerun(CLICK) and requests.on_scriptrunner_ready().type == ScriptRequestType.RERUN
    assert requests.request_rerun(TIMER)
    assert requests.on_scriptrunner_ready().type == ScriptRequestType.STOP, "nothing waits"


def test_a_server_that_has_been_stopped_says_so():
    requests = PatientRequests()
    requests.request_stop()
    assert not requests.request_rerun(CLICK) and not requests.request_rerun(TIMER)


async def search(session: Session) -> None:
    """Turn to a page with a long job, which is asked for its progress."""
    await session.ask(LARGEST, "design")
    find, end = session.button("Find the design"), time.monotonic() + PATIENCE
    if find is not None:
        await session.press(find)
    while not session.polling:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


@pytest.mark.xdist_group("server")
def test_a_click_is_not_lost_on_a_page_with_a_job():
    """Over a real WebSocket, as a browser does: the timer of the old page fires right after the click."""

    async def visit(address: str) -> list[str]:
        session, shown = Session(address), list[str]()
        await session.open(LARGEST, "design")
        for page in ("method", "league", "experiments"):
            await search(session)
            (fragment, *_), old = session.polling, session.page
            question = BackMsg()
            question.rerun_script.page_script_hash, question.rerun_script.fragment_id = old, fragment
            question.rerun_script.is_auto_rerun = True
            turned = asyncio.create_task(session.ask(page=page))
            await asyncio.sleep(0)  # the click is sent
            await session._send(question)
            await turned
            shown.append(next(name for name, page_hash in session.pages.items() if page_hash == session.page))
        await session.close()
        return shown

    with running() as server:
        assert asyncio.run(visit(server.address)) == ["method", "league", "experiments"]
