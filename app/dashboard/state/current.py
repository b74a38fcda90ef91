"""What all pages share: the trial run, the tolerance and the design in use.

The design in use is the one that the user has chosen, or else the one that the last search found for these pairs. When
it changes, the knobs of a test turn to it on every page; turned by hand, they ask what another test would do.
"""

from __future__ import annotations

import math
from contextlib import suppress

import streamlit as st
from streamlit.errors import StreamlitAPIException

from app.dashboard.state import belongings
from app.dashboard.state.belongings import kept
from app.dashboard.state.chosen import choose_design, chosen_design
from app.dashboard.state.design_text import design_text
from app.dashboard.state.question import Question, SearchAnswer
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design

TOLERANCE = "tol"  # its key, on every page and in the URL
DERIVED = "start-derived"  # what the Start page has derived a tolerance from, and that tolerance
USUAL = Question()
GROW, GROW_SEEN = "grow", "grow-seen"  # how much wider the posterior may get: in words, and as last taken over
WIDER = "How much wider may posterior standard deviations get?"
MOST_EXACT, WIDEST = 1e-4, 5.0  # that the posterior may get wider
ROWS, ROWS_FOLLOW = "n", "rows-follow"  # the keys of the knob of N, and of what it follows


def tolerance() -> float:
    """The tolerance on mean |Δ| in use; a new session takes it from its URL."""
    value = st.session_state.get(TOLERANCE)
    if value is None:
        try:
            value = float(st.query_params.get(TOLERANCE, USUAL.tolerance))
        except ValueError:
            value = USUAL.tolerance
    return float(value) if math.isfinite(value) and 0.0 < value <= 1.0 else USUAL.tolerance


def tolerance_given() -> bool:
    """Whether this session or its URL says which tolerance is in use."""
    return st.session_state.get(TOLERANCE) is not None or TOLERANCE in st.query_params


def name_tolerance(*, derived: bool) -> None:
    """Name the tolerance in use in the URL, for F5; a page with its knob does so itself.

    `derived`: the page derives it from its own questions, which the URL has, unless it was set by hand.
    """
    if not tolerance_given():
        return
    st.session_state.setdefault(TOLERANCE, tolerance())  # a change of page empties the URL
    usual = kept(DERIVED)[1] if derived and kept(DERIVED) is not None else USUAL.tolerance
    wanted = None if tolerance() == usual else repr(tolerance())
    with suppress(StreamlitAPIException):  # the page has its knob
        if wanted is None and TOLERANCE in st.query_params:
            del st.query_params[TOLERANCE]
        elif wanted is not None and st.query_params.get(TOLERANCE) != wanted:
            st.query_params[TOLERANCE] = wanted


def last_answer(trial: TrialRun) -> SearchAnswer | None:
    """What the last search for these pairs found, in this session or before the page was loaded again."""
    return belongings.mine().answers.get(trial.digest)


def current_design(trial: TrialRun) -> Design | None:
    """The design in use for these pairs; None if there is none yet."""
    chosen, answer = chosen_design(), last_answer(trial)
    if chosen is not None and chosen.n_data == trial.n_data:
        return chosen
    if answer is not None:
        return answer.result.best
    found = belongings.mine().designs.get(trial.digest)
    return found if found is not None and found.n_data == trial.n_data else None


def take_answer(answer: SearchAnswer) -> None:
    """Use what a search has found."""
    answers = belongings.mine().answers
    answers.pop(answer.digest, None)  # the latest comes last
    answers[answer.digest] = answer
    for oldest in list(answers)[: -belongings.MOST_ANSWERS]:
        del answers[oldest]


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


def follow_rows(n_data: int | None) -> None:
    """Turn the knob of N to the data of the trial run in use when these have changed, unless the link has given it."""
    is_new, before = ROWS_FOLLOW not in st.session_state, st.session_state.get(ROWS_FOLLOW)
    st.session_state[ROWS_FOLLOW] = n_data
    by_hand = is_new and any(ROWS in given for given in belongings.mine().addresses.values())  # before a reload
    if n_data is not None and n_data != before and ROWS not in st.query_params and not by_hand:
        st.session_state[ROWS] = n_data


def usual_rows() -> int | None:
    """The data of the trial run in use, which the knob of N begins with; None if there is none."""
    found: int | None = st.session_state.get(ROWS_FOLLOW)
    return found


def growth_of(text: str) -> float | None:
    """A share that is written like 5%; None if it is not."""
    try:
        share = float(text.removesuffix("%")) / 100.0
    except ValueError:
        return None
    return share if text.endswith("%") and MOST_EXACT <= share <= WIDEST else None


def take_growth(key: str) -> None:
    """Set the knob of this key to how much wider the posterior may get, if that was said on another page since."""
    text = st.session_state.get(GROW)
    if text is None or text == st.session_state.get(GROW_SEEN) or key in st.query_params:
        return
    if (share := growth_of(text)) is not None:
        st.session_state[key] = share


def say_growth(share: float) -> None:
    """Tell all pages how much wider the posterior may get."""
    st.session_state[GROW] = st.session_state[GROW_SEEN] = f"{100.0 * share:.6g}%"
