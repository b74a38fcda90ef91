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

from app.dashboard.jobs import job_queue, jobs
from app.dashboard.jobs.job_queue import JOB_NICENESS, Job, JobQueue
from app.dashboard.serve import server
from designer import BadInput, Cancelled, TrialRun, search
from tests.serving import PATIENCE


def until(condition):
    """Wait for something that another thread is about to do."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def patient(job):
    """Work that goes on until it is cancelled."""
    while not job.cancelled():
        time.sleep(0.002)
    raise Cancelled


@pytest.fixture
def queue():
    return JobQueue(workers=2, most=5)


def test_the_outcome_is_what_the_work_returned(queue):
    job = Job("a", lambda job: job.key + "!")
    assert job.running and job.outcome() is None
    queue.put(job)
    assert job.wait(PATIENCE)
    assert job.outcome() == "a!" and not job.running and not job.was_cancelled


def test_what_the_work_raised_is_raised_again(queue):
    def fail(job):
        raise BadInput("m = 1: too small")

    job = Job("a", fail)
    queue.put(job)
    assert job.wait(PATIENCE)
    with pytest.raises(BadInput, match="m = 1"):
        job.outcome()


def test_a_worker_survives_a_failure(queue, caplog):
    def fail(job):
        raise RuntimeError("unforeseen")

    broken = [Job("a", fail) for _ in range(4)]
    for job in broken:
        queue.put(job)
    assert all(job.wait(PATIENCE) for job in broken)
    fine = Job("b", lambda job: 1)
    queue.put(fine)
    assert fine.wait(PATIENCE) and fine.outcome() == 1
    assert caplog.text.count("unforeseen") >= 4


def test_a_running_job_stops_when_cancelled(queue):
    job = Job("a", patient)
    queue.put(job)
    until(lambda: job.started is not None)
    job.cancel()
    assert job.wait(PATIENCE)
    assert job.was_cancelled and job.outcome() is None


def test_a_waiting_job_that_is_cancelled_never_runs():
    queue = JobQueue(workers=1, most=5)
    ran = []
    first, second = Job("a", patient), Job("b", ran.append)
    queue.put(first)
    until(lambda: first.started is not None)
    queue.put(second)
    second.cancel()
    assert not second.running and second.was_cancelled and second.outcome() is None
    first.cancel()
    last = Job("c", lambda job: "done")
    queue.put(last)
    assert last.wait(PATIENCE) and not ran


def test_one_session_cannot_take_all_workers():
    queue = JobQueue(workers=3, most=20, each=2)
    greedy = [Job(str(number), patient, owner="greedy") for number in range(5)]
    for job in greedy:
        queue.put(job)
    until(lambda: sum(job.started is not None for job in greedy) == 2)
    other = Job("b", lambda job: "done", owner="other")
    queue.put(other)
    assert other.wait(PATIENCE) and other.outcome() == "done"
    assert [job.started is not None for job in greedy] == [True, True, False, False, False]
    for job in greedy:
        job.cancel()
    assert all(job.wait(PATIENCE) for job in greedy)


def test_nobody_waits_for_the_end_of_somebody_elses_long_work(monkeypatch):
    """Long jobs that hold all places make room, and go on afterwards."""
    monkeypatch.setattr(job_queue, "TURN_SECONDS", 0.01)
    queue = JobQueue(workers=2, most=10)
    long = [Job(str(number), patient, owner=str(number)) for number in range(2)]
    for job in long:
        queue.put(job)
    until(lambda: all(job.started is not None for job in long))
    small = [Job(f"small {number}", lambda job: job.key, owner="other") for number in range(3)]
    for job in small:
        queue.put(job)
    assert all(job.wait(PATIENCE) for job in small)
    assert all(job.running for job in long)
    until(lambda: all(job.paused is None for job in long))
    for job in long:
        job.cancel()
        assert job.wait(PATIENCE) and job.was_cancelled


def test_work_whose_browser_is_away_makes_room_at_once(monkeypatch):
    """It may be away for a minute before it is cancelled, and once held its place for that long."""
    monkeypatch.setattr(job_queue, "TURN_SECONDS", 1e9)
    monkeypatch.setattr(job_queue, "LOOK_SECONDS", 0.0)
    queue = JobQueue(workers=1, most=10)
    left, here = Job("left", patient, lambda: False, "a"), Job("here", patient, owner="b")
    queue.put(left)
    until(lambda: left.started is not None and left.away)
    queue.put(here)
    until(lambda: here.started is not None)
    assert left.running and left.paused is not None
    last = Job("last", lambda job: "done", owner="c")
    queue.put(last)
    here.cancel()
    assert last.wait(PATIENCE) and here.wait(PATIENCE)
    until(lambda: left.paused is None)
    left.cancel()
    assert left.wait(PATIENCE)


def test_a_job_between_two_turns_can_be_cancelled_and_its_time_left_stands_still(monkeypatch):
    monkeypatch.setattr(job_queue, "TURN_SECONDS", 0.0)
    queue = JobQueue(workers=1, most=10)
    first, second = Job("a", patient, owner="a"), Job("b", patient, owner="b")
    first.progress(1, 2)
    queue.put(first)
    until(lambda: first.started is not None)
    monkeypatch.setattr(job_queue, "TURN_SECONDS", 1e9)  # the second keeps its place once it has it
    first.turn = -1e10
    queue.put(second)
    until(lambda: first.paused is not None and second.started is not None)
    left = first.seconds_left
    assert left is not None and first.seconds_left == left
    first.cancel()
    assert first.wait(PATIENCE) and first.was_cancelled and second.running
    second.cancel()
    assert second.wait(PATIENCE)


@pytest.mark.skipif(sys.platform != "linux", reason="niceness is a thread's own on Linux only")
@pytest.mark.parametrize(("own", "jobs_get"), [(0, JOB_NICENESS), (JOB_NICENESS + 5, 19)])
def test_jobs_and_what_they_start_stand_behind_pages(own, jobs_get):
    """Also in a server that was started behind others: an unprivileged one may not come forward."""
    program = f"""
import os, threading
from app.dashboard.jobs.job_queue import Job, JobQueue
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
JobQueue(1, 1).put(job)
assert job.wait({PATIENCE})
print(*job.outcome(), before, os.nice(0))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
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

    at_work = [Job(str(number), tidy, owner="a") for number in range(jobs.WORKERS_PER_SESSION)]
    waiting = Job("b", ran.append, owner="a")

    async def serve():
        async with server._warmed(lambda: None)(None):
            for job in (*at_work, waiting):
                jobs._queue.put(job)
            until(lambda: all(job.started is not None for job in at_work))

    try:
        asyncio.run(serve())
    finally:
        gc.unfreeze()
    assert sorted(cleaned) == ["0", "1"]
    assert waiting.was_cancelled and not ran


def test_who_has_fewest_running_is_next(queue):
    order, holding = [], {owner: Job(owner, patient, owner=owner) for owner in "ac"}
    for job in holding.values():
        queue.put(job)
    until(lambda: all(job.started is not None for job in holding.values()))
    waiting = [Job(name, lambda job: order.append(job.key), owner=name[0]) for name in ("a1", "b1", "a2")]
    for job in waiting:
        queue.put(job)
    holding["c"].cancel()
    assert all(job.wait(PATIENCE) for job in waiting)
    holding["a"].cancel()
    assert order == ["b1", "a1", "a2"]


def test_a_real_search_tells_its_progress_and_can_be_cancelled(queue):
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
    queue.put(job)
    assert job.wait(PATIENCE)
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


def test_progress_is_never_seen_by_halves(queue):
    stop = threading.Event()

    def work(job):
        count = 0
        while not stop.is_set():
            count += 1
            job.progress(count, count)

    job = Job("a", work)
    queue.put(job)
    until(lambda: job.state.total > 0)
    assert {job.share for _ in range(20_000)} == {1.0}
    stop.set()
    assert job.wait(PATIENCE)


def test_a_job_whose_browser_has_gone_ends(queue, monkeypatch):
    monkeypatch.setattr(job_queue, "GRACE_SECONDS", 0.0)
    here = threading.Event()
    here.set()
    job = Job("a", patient, here.is_set)
    queue.put(job)
    assert not job.wait(1.5)
    here.clear()
    assert job.wait(PATIENCE) and job.was_cancelled


def test_the_queue_is_bounded_and_keeps_its_order():
    queue, order = JobQueue(workers=1, most=3), []
    first = Job("0", patient)
    queue.put(first)
    until(lambda: first.started is not None)
    rest = [Job(str(k), lambda job: order.append(job.key)) for k in (1, 2)]
    for job in rest:
        queue.put(job)
    with pytest.raises(BadInput, match="busy"):
        queue.put(Job("3", patient))
    first.cancel()
    assert all(job.wait(PATIENCE) for job in rest)
    assert order == ["1", "2"]
    queue.put(again := Job("4", lambda job: 4))
    assert again.wait(PATIENCE)


def test_many_users_at_once_are_all_served():
    queue, answers = JobQueue(workers=3, most=200), []

    def user(number):
        mine = [Job(f"{number} {k}", lambda job: job.key) for k in range(20)]
        for job in mine:
            queue.put(job)
        answers.extend(job.outcome() for job in mine if job.wait(PATIENCE))

    users = [threading.Thread(target=user, args=(number,)) for number in range(8)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join()
    assert sorted(answers) == sorted(f"{number} {k}" for number in range(8) for k in range(20))


def test_nothing_is_kept_of_a_job_that_nobody_holds(queue):
    class Big:
        pass

    taken, made = Big(), []

    def work(job, taken=taken):
        found = Big()
        made.append(weakref.ref(found))
        return found

    inside = weakref.ref(taken)
    job = Job("a", work)
    queue.put(job)
    assert job.wait(PATIENCE)
    del work, taken
    until(lambda: inside() is None or gc.collect() < 0)
    assert job.outcome() is made[0]()
    del job
    until(lambda: made[0]() is None or gc.collect() < 0)
