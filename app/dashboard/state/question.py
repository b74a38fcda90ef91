"""The question to a search, which is the knobs of the Design page as one value, and its answer."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from app.dashboard.jobs.job_queue import Job
from designer.engine.step_error import Rule
from designer.pairs.trial_run import TrialRun
from designer.search.criteria import Cost, Criterion
from designer.search.relaxations import Relaxation, relaxations
from designer.search.search import Options, SearchResult, search
from designer.search.space import Space


class Question(NamedTuple):
    """Tolerance, criterion and search space; the defaults are those of the library and of the command line."""

    tolerance: float = 0.01
    criterion: Criterion = "average"
    m_low: int | None = None
    m_high: int | None = None
    alpha: tuple[float, float] = (0.5, 1.0)
    epsilon: tuple[float, float] = (1e-6, 0.5)
    growth: tuple[float, ...] = (1.0,)
    cost: tuple[float, float, float] = (0.0, 1.0, 0.0)
    rule: Rule = "metropolis"
    quantile: float = 0.95
    fixed_m: int = 500
    confidence: float = 0.95

    @property
    def space(self) -> Space:
        """Where to search."""
        return Space(self.m_low, self.m_high, self.alpha, self.growth, self.epsilon)

    def options(self, job: Job | None = None) -> Options:
        """The arguments of the library's search, with the progress and the cancel button of a job."""
        options: Options = {
            "space": self.space,
            "fixed_m": self.fixed_m,
            "cost": Cost(*self.cost),
            "rule": self.rule,
            "quantile": self.quantile,
            "confidence": self.confidence,
        }
        return options if job is None else options | {"progress": job.progress, "cancelled": job.cancelled}

    def key(self, trial: TrialRun) -> str:
        """What an answer depends on; begins with the digest of the trial run."""
        return f"{trial.digest} {self!r}"


class SearchAnswer(NamedTuple):
    """What a search found, for which question and trial run; if no design is feasible, what would help."""

    question: Question
    digest: str
    result: SearchResult
    advice: list[Relaxation]
    seconds: float = math.inf  # that the search took


def answer_question(question: Question, trial: TrialRun, job: Job) -> SearchAnswer:
    """Run the search; if no design is feasible, try what would help."""
    start = time.monotonic()
    result = search(trial, question.tolerance, question.criterion, **question.options(job))
    seconds, advice = time.monotonic() - start, list[Relaxation]()
    if result.best is None:
        job.progress(0, 1, "no design is feasible: trying which knob would help")
        advice = relaxations(trial, result, question.criterion, **question.options(job))
    return SearchAnswer(question, trial.digest, result, advice, seconds)
