"""The jobs of a session, in a page: replaced, bounded, cancelled, and failures in words."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from app.dashboard.jobs import jobs
from tests.serving import PATIENCE

PAGE = """
import streamlit as st
from app.dashboard.jobs import jobs
from designer.core.errors import BadInput
from designer.core.progress import Cancelled

def patient(job):
    import time
    while not job.cancelled():
        time.sleep(0.002)
    raise Cancelled

try:
    for kind in st.session_state.get("kinds", ()):
        jobs.start(kind, kind, patient)
except BadInput as problem:
    st.error(str(problem))
st.session_state["kinds"] = ()
if jobs.current("a") is not None and jobs.watch("a", "Waiting") is not None:
    st.write("ended")
"""


def test_in_a_page_a_new_job_takes_the_place_of_one_of_its_kind_and_their_number_is_bounded():
    page = AppTest.from_string(PAGE, default_timeout=PATIENCE)
    page.session_state["kinds"] = ("a",)
    page.run()
    first = page.session_state["job-a"]
    assert first.running and not page.error
    assert [button.label for button in page.button] == ["Cancel"]
    page.session_state["kinds"] = ("a", *(f"k{n}" for n in range(jobs.MOST_IN_SESSION)))
    page.run()
    assert first.wait(PATIENCE) and first.was_cancelled
    assert "still running" in page.error[0].value
    for job in page.session_state["jobs-unfinished"]:
        job.cancel()
        assert job.wait(PATIENCE)
    page.run()
    assert page.markdown[0].value == "ended"


def test_the_cancel_button_cancels():
    page = AppTest.from_string(PAGE, default_timeout=PATIENCE)
    page.session_state["kinds"] = ("a",)
    page.run()
    page.button[0].click().run()
    job = page.session_state["job-a"]
    assert job.wait(PATIENCE) and job.was_cancelled


def test_an_unforeseen_failure_is_told_without_its_details():
    def page():
        from app.dashboard.jobs import jobs
        from app.dashboard.jobs.job_queue import Job

        def fail(job):
            raise KeyError("/home/somebody/secret")

        job = Job("a", fail)
        job.run()
        assert jobs.outcome_in_words(job) is None

    shown = AppTest.from_function(page, default_timeout=PATIENCE).run()
    assert not shown.exception
    assert "KeyError" in shown.error[0].value and "secret" not in shown.error[0].value
