"""A boundary to drag: what each bound costs, and what it saves."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.dashboard import cached
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.draggable import draggable
from app.figures import learn as figures
from designer import plotdata
from designer.engine.predict import predict
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design
from designer.search.criteria import ENOUGH_PAIRS

LOOKS = 6  # the last one reads all data
LOW, HIGH = 0.2, 6.0
STATE = "learn-bounds"
EXAMPLE = "logistic"  # without control variates: there every bound matters
PRESETS = {
    "Equal bounds, ε = 0.05": (0.05, 0.5),
    "Equal bounds, ε = 0.01": (0.01, 0.5),
    "Reluctant at first, ε = 0.05": (0.05, 1.0),
}


def show() -> None:
    """Draw this part."""
    trial = cached.example(EXAMPLE)
    n_data = trial.n_data
    m = -(-n_data // LOOKS)
    first = _preset(n_data, m, *next(iter(PRESETS.values())))
    bounds: list[float] = st.session_state.setdefault(STATE, first)
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.caption(
            f"{LOOKS} looks of a random walk on logistic regression, N = {n_data:,}. Drag the dots: between the bounds "
            "the test reads on."
        )
        draggable(bounds, [min(n_data, m * (k + 1)) for k in range(LOOKS - 1)], LOW, HIGH, STATE)
        with st.container(horizontal=True):
            for label, (epsilon, alpha) in PRESETS.items():
                st.button(label, key=f"learn-{label}", on_click=_set, args=(_preset(n_data, m, epsilon, alpha),))
        with st.expander("The bounds as numbers"):
            for k, value in enumerate(bounds):
                key = f"learn-bound-{k}"
                st.session_state[key] = value
                st.slider(f"Look {k + 1}", LOW, HIGH, step=0.05, key=key, on_change=_slide, args=(k,))
    design = Design.with_bounds(n_data, m, [-value for value in bounds], bounds)
    with right:
        _answer(design, trial, Design.with_bounds(n_data, m, [-value for value in first], first))
        span = plotdata.span([design])
        captioned(
            figures.error_and_cost(cached.curve(design, tuple(span.mu_std))),
            "learn-boundary",
            "Probability of a wrong decision and data use, by how clear the right answer is (0: not at all).",
        )


def _answer(design: Design, trial: TrialRun, usual: Design) -> None:
    some = trial if len(trial) <= ENOUGH_PAIRS else trial.subset(list(range(ENOUGH_PAIRS)))
    now, before = (predict(test, some).step for test in (design, usual))
    with st.container(horizontal=True):
        st.metric(
            "Error of a step, mean |Δ|",
            f"{now.mean_abs_delta:.3g}",
            _change(now.mean_abs_delta, before.mean_abs_delta),
            delta_color="inverse",
            help="How far the acceptance probability is off, on average over the proposals of the bundled trial run.",
        )
        st.metric(
            "Data read",
            f"{now.mean_usage:.1%}",
            _change(now.mean_usage, before.mean_usage),
            delta_color="inverse",
            help="Mean share of the data per step, over the same proposals.",
        )
    st.caption("The small figures compare with equal bounds, ε = 0.05. Wider bounds: fewer errors, more data.")


def _change(now: float, before: float) -> str | None:
    """None if it is nothing, up to rounding."""
    return None if not before or abs(now / before - 1.0) < 0.005 else f"{now / before - 1.0:+.0%}"


def _preset(n_data: int, m: int, epsilon: float, alpha: float) -> list[float]:
    """The bounds of a usual design at these looks."""
    where = cached.stops(Design(n_data, m, epsilon, alpha), 0.0)
    return [round(min(max(float(bound), LOW), HIGH), 2) for bound in where.upper[:-1]]


def _set(bounds: Sequence[float]) -> None:
    st.session_state[STATE] = list(bounds)


def _slide(place: int) -> None:
    bounds = list(st.session_state[STATE])
    bounds[place] = st.session_state[f"learn-bound-{place}"]
    st.session_state[STATE] = bounds
