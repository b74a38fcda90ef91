"""The only `st.cache_data` of the dashboard: numbers of the library, kept by what they depend on.

Designs enter without their notes (`Design.without_notes`). Arrays never do: a trial run is known by its digest, and
itself passed in an argument that is not hashed.
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
    acceptance,
    bootstrap,
    characteristics,
    plotdata,
    stopping,
)
from designer.check.selfcheck import Check, selfcheck
from designer.engine.step_error import Predictions, Rule
from designer.engine.step_error import predictions as with_and_without_skewness
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
from designer.rule.plan import as_plan
from designer.search.criteria import Criterion, DesignScore, measure_of
from designer.search.resample import Bootstrap
from designer.search.search import ACCURACY
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
    """Where the test stops."""
    return stopping(design, mu_std)


@st.cache_data(show_spinner="Comparing with the reference values …")
def engine_checks() -> list[Check]:
    """The engine against its reference values."""
    return selfcheck()


@st.cache_data(show_spinner=False)
def stored_experiment(name: str) -> tuple[dict[str, Any], Report] | None:
    """The full-size result that comes with the product, if there is one."""
    return shipped(name)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def predictions(digest: str, tests: Candidates, _trial: TrialRun) -> list[Prediction]:
    """What each acceptance test does on the pairs of a trial run."""
    return predict(_trial, tests)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def summary(design: Design) -> plotdata.DesignSummary:
    """One test in a sentence."""
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
    """Pairs for when there is no trial run yet."""
    return TrialRun.at_stationarity(n_data, acceptance, pairs, np.random.default_rng(seed), spread)


@st.cache_data(max_entries=50, show_spinner=False)
def summary_of(digest: str, rule: Rule, _trial: TrialRun) -> TrialSummary:
    """What the pairs of a trial run look like."""
    return summarise(_trial, rule)


@st.cache_data(max_entries=50, show_spinner=False)
def histograms(digest: str, _trial: TrialRun) -> dict[str, Histogram]:
    """Histograms of A, kappa, the acceptance probability and, if known, the skewness of the pairs."""
    return histograms_of(_trial)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def tails(digest: str, m: int, epsilon: float, _trial: TrialRun) -> TailCheck | None:
    """How skewness distorts the error rates of a look, at the most skewed pair."""
    return worst_tail_check(_trial, m, epsilon)


@st.cache_data(max_entries=50, show_spinner=False)
def student(digest: str, m: int, epsilon: float, _trial: TrialRun) -> StudentCheck | None:
    """The t statistic on made-up data as skewed as the most skewed pair."""
    return worst_student_check(np.random.default_rng(0), _trial, m, epsilon)


@st.cache_data(max_entries=20, show_spinner=False)  # several numbers for each pair, of which there may be many
def steps(design: Design, digest: str, rule: Rule, _trial: TrialRun) -> Acceptance:
    """What a test does to the acceptance probability of every pair."""
    return acceptance(design, _trial, rule)


@st.cache_data(max_entries=20, show_spinner=False)
def skewed(design: Design, digest: str, rule: Rule, _trial: TrialRun) -> Predictions:
    """The same with and without what the skewness of the pairs does to it."""
    return with_and_without_skewness(design, _trial, rule)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def bands(design: Design, digest: str, rule: Rule, _trial: TrialRun) -> Bootstrap:
    """Bootstrap bands of error and data use, from the same random numbers as on the command line."""
    return bootstrap(np.random.default_rng(0), design, _trial, rule=rule)


@st.cache_data(max_entries=ENTRIES, show_spinner=False)
def judged(
    design: Design, digest: str, criterion: Criterion, rule: Rule, quantile: float, _trial: TrialRun
) -> DesignScore:
    """Error, data use and looks of a design, as a search with this criterion would count them."""
    return measure_of(criterion, _trial, rule, quantile)(as_plan(design), ACCURACY)
