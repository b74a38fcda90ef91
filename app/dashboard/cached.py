"""All `st.cache_data` of the dashboard: numbers of the library, cached by what they depend on.

Designs enter without their notes (`Design.without_notes`). Arrays never do: a trial run is identified by its
digest, and passed in an argument that is not hashed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from designer import (
    Acceptance,
    Characteristics,
    Design,
    TrialRun,
    bootstrap,
    characteristics,
    plotdata,
    stopping,
)
from designer.check.selfcheck import Check, selfcheck
from designer.engine.predict import batch_problem as problem_of_batch
from designer.engine.predict import predict as predicted_steps
from designer.engine.step_error import Rule
from designer.engine.walk import Stopping
from designer.pairs.diagnostics import (
    Histogram,
    StudentCheck,
    TailCheck,
    TrialSummary,
    histograms_of,
    summarise,
    worst_student_check,
    worst_tail_check,
)
from designer.pairs.examples import example as bundled
from designer.pairs.notes import Note
from designer.rule.plan import as_plan
from designer.search.annotate import hardest_error as hardest
from designer.search.criteria import Criterion, DesignScore, measure_of
from designer.search.resample import Bootstrap
from designer.search.search import SEARCH_ACCURACY
from samplers.experiments.framework.report import Report
from samplers.experiments.framework.running import shipped
from samplers.study.compare_tests import Candidates, Prediction, predict

ENTRIES = 100  # of each kind, some tens of kilobytes each


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def curve(design: Design, mu_std: tuple[float, ...], tolerance: float = 1e-10) -> Characteristics:
    """Error and data use at each standardised mean."""
    return characteristics(design, mu_std, tolerance)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def stops(design: Design, mu_std: float) -> Stopping:
    """The probabilities of stopping at each look."""
    return stopping(design, mu_std)


@st.cache_data(show_spinner="Comparing with the reference values …")
def engine_checks() -> list[Check]:
    """The engine compared with its reference values."""
    return selfcheck()


@st.cache_data(show_spinner=False)
def stored_experiment(name: str) -> tuple[dict[str, Any], Report] | None:
    """The full-size result that comes with the package, if there is one."""
    return shipped(name)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def predictions(
    digest: str, notes: tuple[tuple[str, Note], ...], tests: Candidates, _trial: TrialRun
) -> list[Prediction]:
    """Predictions for each acceptance test on the pairs of a trial run; its notes are not part of its digest."""
    return predict(_trial, tests)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def summary(design: Design) -> plotdata.DesignSummary:
    """Looks, worst error and worst data use of a test."""
    return plotdata.summary(design)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def step_curves(design: Design, kappa: tuple[float, ...], rule: Rule) -> plotdata.StepCurves:
    """Error of one step against the acceptance probability."""
    return plotdata.step_curves(design, kappa, rule)


@st.cache_data(show_spinner=False)
def example(name: str) -> TrialRun:
    """A bundled trial run."""
    return bundled(name)


@st.cache_data(max_entries=50, show_spinner=False)
def at_stationarity(n_data: int, acceptance: float, pairs: int, seed: int, spread: float) -> TrialRun:
    """Synthetic pairs, for when there is no trial run yet."""
    return TrialRun.at_stationarity(n_data, acceptance, pairs, np.random.default_rng(seed), spread)


@st.cache_data(max_entries=50, show_spinner=False)
def summary_of(digest: str, rule: Rule, _trial: TrialRun) -> TrialSummary:
    """A summary of the pairs of a trial run."""
    return summarise(_trial, rule)


@st.cache_data(max_entries=50, show_spinner=False)
def histograms(digest: str, _trial: TrialRun) -> dict[str, Histogram]:
    """Histograms of A, κ, the acceptance probability and, if recorded, the skewness of the pairs."""
    return histograms_of(_trial)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def tails(digest: str, m: int, epsilon: float, _trial: TrialRun) -> TailCheck | None:
    """The effect of skewness on the error rates of a look, at the most skewed pair."""
    return worst_tail_check(_trial, m, epsilon)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def batch_problem(digest: str, m: int, _trial: TrialRun) -> str | None:
    """Why the normal theory is not to be trusted at this mini-batch size."""
    return problem_of_batch(_trial, m)


@st.cache_data(max_entries=50, show_spinner=False)
def student(digest: str, m: int, epsilon: float, _trial: TrialRun) -> StudentCheck | None:
    """The t statistic on simulated data as skewed as those of the most skewed pair."""
    return worst_student_check(np.random.default_rng(0), _trial, m, epsilon)


@st.cache_data(max_entries=20, show_spinner=False)  # several numbers for each pair
def steps(design: Design, digest: str, rule: Rule, _trial: TrialRun) -> Acceptance:
    """Acceptance error and data use of a test at every pair, each from the source that supports it."""
    return predicted_steps(design, _trial, rule).step


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def hardest_error(design: Design, digest: str, rule: Rule, _trial: TrialRun) -> float | None:
    """Error of the hardest decision for the most skewed pair; None where the theory does not hold."""
    return hardest(design, _trial, rule)


@st.cache_data(max_entries=20, show_spinner=False)
def sources(design: Design, digest: str, rule: Rule, _trial: TrialRun) -> str:
    """Where these numbers come from, in words."""
    return predicted_steps(design, _trial, rule).words


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def bands(design: Design, digest: str, rule: Rule, _trial: TrialRun) -> Bootstrap:
    """Bootstrap intervals of error and data use, with the same random numbers as on the command line."""
    return bootstrap(np.random.default_rng(0), design, _trial, rule=rule)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def judged(
    design: Design,
    digest: str,
    criterion: Criterion,
    rule: Rule,
    quantile: float,
    confidence: float | None,
    _trial: TrialRun,
) -> DesignScore:
    """Error, data use and looks of a design, by this criterion, and the error's upper limit."""
    measure = measure_of(criterion, _trial, rule, quantile, skew=None, confidence=confidence)
    return measure(as_plan(design), SEARCH_ACCURACY)
