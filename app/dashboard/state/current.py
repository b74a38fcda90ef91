"""What all pages share: the trial run, the tolerance and the design in use.

The design in use is the one that the user has chosen, or else the one that the last search found for these pairs. When
it changes, the knobs of a test turn to it on every page; turned by hand, they ask what another test would do.
"""

from __future__ import annotations

import math

import streamlit as st

from app.dashboard.state.chosen import choose_design, chosen_design
from app.dashboard.state.design_text import design_text
from app.dashboard.state.question import Question, SearchAnswer
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design

TOLERANCE = "tol"  # its key, on every page and in the URL
USUAL = Question()


def tolerance() -> float:
    """The tolerance on mean |Δ| in use; a new session takes it from its URL."""
    value = st.session_state.get(TOLERANCE)
    if value is None:
        try:
            value = float(st.query_params.get(TOLERANCE, USUAL.tolerance))
        except ValueError:
            value = USUAL.tolerance
    return float(value) if math.isfinite(value) and 0.0 < value <= 1.0 else USUAL.tolerance


def last_answer(trial: TrialRun) -> SearchAnswer | None:
    """What the last search found, if it was for these pairs."""
    answer: SearchAnswer | None = st.session_state.get("answer")
    return answer if answer is not None and answer.digest == trial.digest else None


def current_design(trial: TrialRun) -> Design | None:
    """The design in use for these pairs; None if there is none yet."""
    chosen, answer = chosen_design(), last_answer(trial)
    if chosen is not None and chosen.n_data == trial.n_data:
        return chosen
    return None if answer is None else answer.result.best


def take_answer(answer: SearchAnswer) -> None:
    """Use what a search has found."""
    st.session_state["answer"] = answer


def use_design(design: Design) -> None:
    """Use this design on all pages, instead of the search's."""
    choose_design(design)


def follows(design: Design | None) -> bool:
    """Whether the knobs should turn to the design in use: once for each, unless the link has given them."""
    text = "" if design is None else design_text(design)
    before = st.session_state.get("knobs-follow")
    st.session_state["knobs-follow"] = text
    if design is None or design.explicit or before == text:
        return False
    return not any(name in st.query_params for name in ("m", "eps", "alpha", "growth"))
