"""Jobs in real threads: outcome, failure, cancel, progress, limits, and letting go of memory."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.dashboard.jobs import jobs
from app.dashboard.jobs.jobs import Job, Line
from app.dashboard.serve import server
from designer import BadInput, Cancelled, TrialRun, search

LONG = 30.0  # seconds; nothing here takes a tenth of it


def until(condition):
    """Wait for something that another thread is about to do."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def patient(job):
    """Work that goes on until it is cancelled."""
    while not job.cancelled():
        time.sleep(0.002)
    raise Cancelled


@pytest.fixture
def line():
    return Line(workers=2, most=5)


def test_the_outcome_is_what_the_work_returned(line):
    job = Job("a", lambda job: job.key + "!")
    assert job.running and job.outcome() is None
    line.put(job)
    assert job.wait(LONG)
    assert job.outcome() == "a!" and not job.running and not job.was_cancelled


def test_what_the_work_raised_is_raised_again(line):
    def fail(job):
        raise BadInput("m = 1: too small")

    job = Job("a", fail)
    line.put(job)
    assert job.wait(LONG)
    with pytest.raises(BadInput, match="m = 1"):
        job.outcome()


def test_a_worker_survives_a_failure(line, caplog):
    def fail(job):
        raise RuntimeError("unforeseen")

    broken = [Job("a", fail) for _ in range(4)]
    for job in broken:
        line.put(job)
    assert all(job.wait(LONG) for job in broken)
    fine = Job("b", lambda job: 1)
    line.put(fine)
    assert fine.wait(LONG) and fine.outcome() == 1
    assert caplog.text.count("unforeseen") >= 4


def test_a_running_job_stops_when_cancelled(line):
    job = Job("a", patient)
    line.put(job)
    until(lambda: job.started is not None)
    job.cancel()
    assert job.wait(LONG)
    assert job.was_cancelled and job.outcome() is None


def test_a_waiting_job_that_is_cancelled_never_runs():
    line = Line(workers=1, most=5)
    ran = []
    first, second = Job("a", patient), Job("b", ran.append)
    line.put(first)
    until(lambda: first.started is not None)
    line.put(second)
    second.cancel()
    assert not second.running and second.was_cancelled and second.outcome() is None
    first.cancel()
    last = Job("c", lambda job: "done")
    line.put(last)
    assert last.wait(LONG) and not ran


def test_one_session_cannot_take_all_workers():
    line = Line(workers=3, most=20, each=2)
    greedy = [Job(str(number), patient, owner="greedy") for number in range(5)]
    for job in greedy:
        line.put(job)
    until(lambda: sum(job.started is not None for job in greedy) == 2)
    other = Job("b", lambda job: "done", owner="other")
    line.put(other)
    assert other.wait(LONG) and other.outcome() == "done"
    assert [job.started is not None for job in greedy] == [True, True, False, False, False]
    for job in greedy:
        job.cancel()
    assert all(job.wait(LONG) for job in greedy)


@pytest.mark.skipif(sys.platform != "linux", reason="niceness is a thread's own on Linux only")
@pytest.mark.parametrize(("own", "jobs_get"), [(0, jobs.BEHIND), (jobs.BEHIND + 5, 19)])
def test_jobs_and_what_they_start_stand_behind_pages(own, jobs_get):
    """Also in a server that was started behind others: an unprivileged one may not come forward."""
    program = f"""
import os, threading
from app.dashboard.jobs.jobs import Job, Line
def seen(job):
    found = [os.nice(0)]
    other = threading.Thread(target=lambda: found.append(os.nice(0)))
    other.start()
    other.join()
    return found
before = os.nice({own})
if os.getuid() == 0:
    os.setuid(65534)
job = Job("a", seen)
Line(1, 1).put(job)
assert job.wait({LONG})
print(*job.outcome(), before, os.nice(0))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    usual = os.nice(0)
    expected = [min(19, usual + jobs_get)] * 2 + [min(19, usual + own)] * 2
    assert ended.stdout.split() == list(map(str, expected)), ended.stderr


def test_jobs_end_with_the_server():
    """What is at work cleans up before the server is gone; what waits never runs."""
    cleaned, ran = [], []

    def tidy(job):
        try:
            patient(job)
        finally:
            cleaned.append(job.key)

    at_work = [Job(str(number), tidy, owner="a") for number in range(jobs.WORKERS_OF_ONE)]
    waiting = Job("b", ran.append, owner="a")

    async def serve():
        async with server._warmed(lambda: None)(None):
            for job in (*at_work, waiting):
                jobs._line.put(job)
            until(lambda: all(job.started is not None for job in at_work))

    try:
        asyncio.run(serve())
    finally:
        gc.unfreeze()
    assert sorted(cleaned) == ["0", "1"]
    assert waiting.was_cancelled and not ran


def test_who_has_fewest_running_is_next(line):
    order, holding = [], {owner: Job(owner, patient, owner=owner) for owner in "ac"}
    for job in holding.values():
        line.put(job)
    until(lambda: all(job.started is not None for job in holding.values()))
    waiting = [Job(name, lambda job: order.append(job.key), owner=name[0]) for name in ("a1", "b1", "a2")]
    for job in waiting:
        line.put(job)
    holding["c"].cancel()
    assert all(job.wait(LONG) for job in waiting)
    holding["a"].cancel()
    assert order == ["b1", "a1", "a2"]


def test_a_real_search_tells_its_progress_and_can_be_cancelled(line):
    trial = TrialRun.at_stationarity(200_000, 0.4, 100, np.random.default_rng(1))
    seen = []

    def work(job):
        def report(done, total):
            seen.append((done, total))
            job.progress(done, total, "searching")
            if done == 3:
                job.cancel()

        return search(trial, 0.01, progress=report, cancelled=job.cancelled)

    job = Job("a", work)
    line.put(job)
    assert job.wait(LONG)
    assert job.was_cancelled and len(seen) < seen[0][1]
    assert 0 < job.share < 1 and job.state.note == "searching"
    assert job.seconds_left > 0


def test_share_stays_between_0_and_1():
    job = Job("a", patient)
    shares = []
    for done, total in [(0, 0), (1, 4), (5, 4), (-1, 4)]:
        job.progress(done, total)
        shares.append(job.share)
    assert shares == [0.0, 0.25, 1.0, 0.0]
    assert job.seconds_left is None


def test_progress_is_never_seen_by_halves(line):
    stop = threading.Event()

    def work(job):
        count = 0
        while not stop.is_set():
            count += 1
            job.progress(count, count)

    job = Job("a", work)
    line.put(job)
    until(lambda: job.state.total > 0)
    assert {job.share for _ in range(20_000)} == {1.0}
    stop.set()
    assert job.wait(LONG)


def test_a_job_whose_browser_has_gone_ends(line, monkeypatch):
    monkeypatch.setattr(jobs, "GRACE", 0.0)
    here = threading.Event()
    here.set()
    job = Job("a", patient, here.is_set)
    line.put(job)
    assert not job.wait(1.5)
    here.clear()
    assert job.wait(LONG) and job.was_cancelled


def test_the_line_is_bounded_and_keeps_its_order():
    line, order = Line(workers=1, most=3), []
    first = Job("0", patient)
    line.put(first)
    until(lambda: first.started is not None)
    rest = [Job(str(k), lambda job: order.append(job.key)) for k in (1, 2)]
    for job in rest:
        line.put(job)
    with pytest.raises(BadInput, match="busy"):
        line.put(Job("3", patient))
    first.cancel()
    assert all(job.wait(LONG) for job in rest)
    assert order == ["1", "2"]
    line.put(again := Job("4", lambda job: 4))
    assert again.wait(LONG)


def test_many_users_at_once_are_all_served():
    line, answers = Line(workers=3, most=200), []

    def user(number):
        mine = [Job(f"{number} {k}", lambda job: job.key) for k in range(20)]
        for job in mine:
            line.put(job)
        answers.extend(job.outcome() for job in mine if job.wait(LONG))

    users = [threading.Thread(target=user, args=(number,)) for number in range(8)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join()
    assert sorted(answers) == sorted(f"{number} {k}" for number in range(8) for k in range(20))


def test_nothing_is_kept_of_a_job_that_nobody_holds(line):
    class Big:
        pass

    taken, made = Big(), []

    def work(job, taken=taken):
        found = Big()
        made.append(weakref.ref(found))
        return found

    inside = weakref.ref(taken)
    job = Job("a", work)
    line.put(job)
    assert job.wait(LONG)
    del work, taken
    until(lambda: inside() is None or gc.collect() < 0)
    assert job.outcome() is made[0]()
    del job
    until(lambda: made[0]() is None or gc.collect() < 0)


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
    page = AppTest.from_string(PAGE)
    page.session_state["kinds"] = ("a",)
    page.run()
    first = page.session_state["job-a"]
    assert first.running and not page.error
    assert [button.label for button in page.button] == ["Cancel"]
    page.session_state["kinds"] = ("a", *(f"k{n}" for n in range(jobs.MOST_IN_SESSION)))
    page.run()
    assert first.wait(LONG) and first.was_cancelled
    assert "still run" in page.error[0].value
    for job in page.session_state["jobs-unfinished"]:
        job.cancel()
        assert job.wait(LONG)
    page.run()
    assert page.markdown[0].value == "ended"


def test_the_cancel_button_cancels():
    page = AppTest.from_string(PAGE)
    page.session_state["kinds"] = ("a",)
    page.run()
    page.button[0].click().run()
    job = page.session_state["job-a"]
    assert job.wait(LONG) and job.was_cancelled


def test_an_unforeseen_failure_is_told_without_its_details():
    def page():
        from app.dashboard.jobs import jobs

        def fail(job):
            raise KeyError("/home/somebody/secret")

        job = jobs.Job("a", fail)
        job.run()
        assert jobs.outcome_in_words(job) is None

    shown = AppTest.from_function(page).run()
    assert not shown.exception
    assert "KeyError" in shown.error[0].value and "secret" not in shown.error[0].value
