"""Answers of jobs that all sessions share: what one has computed, none computes again."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from app.dashboard.jobs import jobs
from app.dashboard.jobs.job_queue import Job

MOST_ANSWERS = 30  # over all sessions
_answers: dict[tuple[str, str], Any] = {}
_turn = Lock()


def answered_once(kind: str, key: str, label: str, work: Callable[[Job], Any], patience: float = 0.0) -> Any:
    """The answer of a kind of job to a question, remembered or computed as a job; None until it is there.

    The key has all that the answer depends on: the digest of the trial run, and the knobs. The page waits for
    `patience` seconds before it shows the progress of the job.
    """
    remembered = _answers.get((kind, key))
    if remembered is not None:
        job = jobs.current(kind)
        if job is not None and job.running:
            job.cancel()
        elif job is not None:
            jobs.show_on_page(job, label)
        return remembered
    answer = jobs.automatic(kind, key, label, work, patience)
    if answer is not None:
        with _turn:
            _answers[kind, key] = answer
            for oldest in list(_answers)[:-MOST_ANSWERS]:
                del _answers[oldest]
    return answer
