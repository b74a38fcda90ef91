"""Part of the page Explore: the error of one accept/reject step, and its worst effect on the posterior."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import streamlit as st

from app.dashboard import cached
from app.dashboard.state import share
from app.dashboard.state.in_use import loaded_run
from app.dashboard.widgets.captioned import captioned
from app.dashboard.widgets.chrome import problems_in_words
from app.dashboard.widgets.knobs import Knob, knob
from app.figures import step_error as figures
from designer import plotdata, stationary_bound, summarise
from designer.core.errors import BadInput, real
from designer.engine.step_error import Rule, check_rule
from designer.rule.design import Design

OPEN = "step"  # in the URL: whether the part is open
ADDRESS = "step-error"  # where it used to be
TABS = ("Error", "Approximate against exact")
KAPPAS = ["0.3", "0.5", "1", "1.5", "2", "2.4", "3", "5", "10", "20"]
USUAL = ["0.5", "1", "2", "5"]

ETA = Knob(
    "eta",
    "Contraction η of the exact chain",
    "The share of the difference between two starting points that remains after one exact step: 0 forgets the start at "
    "once, near 1 mixes slowly. It is a property of your chain and rarely known; try values to see the bound.",
    0.0,
    0.999999,
    0.5,
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999],
    "%.6g",
)


def part(design: Design) -> dict[str, Any]:
    """Draw the part for a test, if it is open; what a link must carry of it."""
    if OPEN not in st.session_state:  # a link of the page that it used to be, or with its knobs
        here = (st.context.url or "").partition("?")[0].rstrip("/").endswith(f"/{ADDRESS}")
        if here or {"rule", "kappa", "eta", "picture"} & {*st.query_params}:
            st.session_state[OPEN] = True
    box = st.expander("What does it do to a step?", key=OPEN, bind="query-params", on_change="rerun")
    if not box.open:
        return {}
    with box, problems_in_words():
        return {OPEN: True, **_open(design)}
    return {OPEN: True}


def _open(design: Design) -> dict[str, Any]:
    st.caption(
        "A wrong decision accepts a move that should be rejected, or the reverse. Averaged over the random number u "
        "of a step, the two kinds partly cancel, so the acceptance error is smaller than the worst case."
    )
    answer = st.container()
    left, right = st.columns([2, 3], gap="large")
    with left:
        rule, kappa = _rule(), _kappa()
        eta = knob(ETA)
    curves = cached.step_curves(design, kappa, rule)
    with answer:
        _answer(curves, eta)
    with right:
        _figures(curves)
        one, two = st.columns(2)
        with one:
            share.download_csv("Curves of a step as CSV", "step_error.csv", lambda: _columns(curves))
        with two.popover("The formulas of a step", icon=":material/function:"):
            _formulas(rule)
    values = {"rule": rule, "kappa": st.session_state["kappa"], "eta": eta}
    return values | {"picture": st.session_state["picture"]}


def _rule() -> Rule:
    rule = st.segmented_control(
        "Acceptance rule",
        get_args(Rule),
        default="metropolis",
        required=True,
        key="rule",
        bind="query-params",
        persist_state="session",
        help="Metropolis accepts with probability min(1, e^A); Barker's rule, which is also Gibbs sampling of a binary "
        "variable, with 1/(1 + e^−A). A is the log acceptance ratio.",
    )
    return check_rule(rule or "metropolis")  # a link may leave it out


def _kappa() -> tuple[float, ...]:
    chosen = st.multiselect(
        "Noise scale κ",
        KAPPAS,
        USUAL,
        key="kappa",
        bind="query-params",
        persist_state="session",
        accept_new_options=True,
        max_selections=plotdata.MOST_KAPPAS,
        help="κ is about √N times the standard deviation of the log-likelihood differences. Larger steps raise it: a "
        "well-tuned random walk has about 1 to 2.4, control variates bring it far below 1. Type any other value.",
    )
    run = loaded_run()
    if run is not None:
        least, *_, most = summarise(run.trial).kappa.quantiles
        st.caption(f"The trial run in use ({run.name}) has κ from {least:.3g} to {most:.3g}.")
    return tuple(sorted({_number(text) for text in chosen}))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise BadInput(f"κ = {text!r}: is not a number") from None
    return real("κ", value, plotdata.SMALLEST_KAPPA, plotdata.LARGEST_KAPPA)


def _answer(curves: plotdata.StepCurves, eta: float) -> None:
    listed = ", ".join(f"{kappa:g}" for kappa in curves.kappa)
    st.markdown(
        f"**With κ = {listed}, the acceptance probability is off by at most {curves.delta_max:.2g}; "
        f"the worst-case bound is {curves.worst:.2g}.**"
    )
    bound, worst_bound = stationary_bound(curves.delta_max, eta), stationary_bound(curves.worst, eta)
    st.markdown(
        f"If every move has such a κ, and one exact step shrinks differences by η = {eta:g}, the sampled distribution "
        f"is within **{bound:.2g}** of the posterior in total variation (from the worst case: {worst_bound:.2g})."
        + (" A distance is never above 1, so this bound says nothing." if bound >= 1 else "")
    )
    st.caption(f"Theorem 1: at most Δ_max/(1 − η). Numerical error: {curves.estimate:.1g}.")


def _figures(curves: plotdata.StepCurves) -> None:
    errors, accepted = st.tabs(TABS, key="picture", bind="query-params", on_change="rerun")
    if errors.open:
        words = (
            "Top: the acceptance error Δ, between dashed lines at the worst case. Middle: the probability of a wrong "
            "decision; Δ is smaller, because errors cancel. Bottom: data use."
        )
        with errors:
            captioned(figures.errors(curves), "errors", words)
    if accepted.open:
        words = "The acceptance probability of the test against the exact one. On the dashed line there is no error."
        with accepted:
            captioned(figures.acceptances(curves), "accepted", words)


def _columns(curves: plotdata.StepCurves) -> dict[str, Any]:
    """Long form: one row per κ and acceptance probability."""
    points, count = curves.probability.size, len(curves.kappa)
    return {
        "kappa": np.repeat(curves.kappa, points),
        "probability": np.tile(curves.probability, count),
        "delta": curves.delta.ravel(),
        "wrong": curves.wrong.ravel(),
        "usage": curves.usage.ravel(),
    }


def _formulas(rule: Rule) -> None:
    st.markdown("A pair (θ, θ′) enters only through $A$, the log acceptance ratio, and $\\kappa$:")
    st.latex(r"A = N\mu - c,\qquad \kappa = \frac{N\sigma}{\sqrt{N-1}}")
    if rule == "metropolis":
        st.latex(r"P_a = \min(1, e^A),\qquad \mu_{\rm std}(u) = \frac{A-\log u}{\kappa}")
    else:
        st.latex(r"P_a = \frac{1}{1+e^{-A}},\qquad \mu_{\rm std}(u) = \frac{A-\log\frac{u}{1-u}}{\kappa}")
    st.markdown("Acceptance error (K14 Eqns 6, 21) and its effect on the posterior (Theorem 1):")
    st.latex(
        r"\Delta = \int_{P_a}^1 \mathcal{E}(\mu_{\rm std}(u))\,du - \int_0^{P_a} \mathcal{E}(\mu_{\rm std}(u))\,du"
    )
    st.latex(r"d_{TV}(S_0, S_\varepsilon) \le \frac{\Delta_{\max}}{1-\eta}")
