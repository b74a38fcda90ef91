"""The knobs of the Design page: tolerance, criterion, and the search space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import streamlit as st

from app.dashboard.state.question import Question
from app.dashboard.widgets.knobs import TOLERANCE, knob
from designer.core.errors import BadInput
from designer.engine.step_error import Rule
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import LEAST_EPSILON
from designer.rule.looks import MAX_N_DATA
from designer.search.criteria import Criterion
from designer.search.relaxations import Relaxation

CRITERIA: dict[Criterion, str] = {
    "average": "mean |Δ| over the pairs is within the tolerance (K14 Eqn 7): the usual choice",
    "worst-case": "even the error of the hardest decision (μ_std = 0) is within the tolerance: safe "
    "for any chain, but costs more",
    "fixed-m": "the papers' heuristic: a given mini-batch size, constant bounds, and the largest ε "
    "with mean |Δ| within the tolerance",
    "quantile": "a quantile of |Δ| over the pairs is within the tolerance: only a few proposals exceed it",
}
GROWTHS = [1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0]
USUAL = Question()


def ask(trial: TrialRun) -> Question:
    """Draw the knobs and return their question; BadInput if they contradict each other."""
    tolerance = knob(TOLERANCE)
    criterion = st.selectbox(
        "Criterion",
        get_args(Criterion),
        key="criterion",
        bind="query-params",
        persist_state="session",
        help="What must stay within the tolerance. "
        + " ".join(f"**{name}**: {text}." for name, text in CRITERIA.items()),
    )
    st.caption(f"{criterion}: {CRITERIA[criterion]}.")
    with st.expander("Where to search, and what to minimise"):
        m_low, m_high, fixed_m = _batches(trial, fixed=criterion == "fixed-m")
        alpha, epsilon, growth = _bounds(fixed=criterion == "fixed-m")
        rule, quantile, cost = _judgement(criterion)
        confidence = _confidence(criterion)
    ranges = Question(tolerance, criterion, m_low, m_high, alpha, epsilon, growth)
    question = ranges._replace(cost=cost, rule=rule, quantile=quantile, fixed_m=fixed_m, confidence=confidence)
    if problems := list(misfits(question, trial.n_data)):
        raise BadInput("; ".join(problems))
    question.space.checked(trial.n_data)
    return question


def misfits(question: Question, n_data: int) -> Iterator[str]:
    """What is wrong with the knobs, in the words of the page."""
    for name, m in (("from", question.m_low), ("to", question.m_high)):
        if m is not None and m > n_data:
            yield f"Mini-batch size m, {name}: {m:,} is more than the N = {n_data:,} data"
    low, automatic = question.m_low, USUAL.space.checked(n_data).m_low
    if question.m_high is not None and low is not None and low > question.m_high:
        yield f"Mini-batch size m: “from” must not exceed “to”, but {low:,} > {question.m_high:,}"
    elif question.m_high is not None and low is None and automatic is not None and automatic > question.m_high:
        yield (
            f"Mini-batch size m, to: {question.m_high:,} is below {automatic:,}, the default of “from” for N = "
            f"{n_data:,}: means of fewer data are far from normal. Fill in “from” to search below"
        )
    for name, (first, last) in (("Shape of the bounds α", question.alpha), ("Threshold ε", question.epsilon)):
        if first > last:
            yield f"{name}: “from” must not exceed “to”, but {first:g} > {last:g}"
    if not question.growth:
        yield "Growth of the looks: choose at least one value"
    if question.cost[1] == question.cost[2] == 0:
        yield "Cost of a step: the cost per datum or per look must be above 0"


def values(question: Question) -> dict[str, Any]:
    """The values of the knobs for a question, by their keys in the URL."""
    return {
        "tol": question.tolerance,
        "criterion": question.criterion,
        "mlow": question.m_low,
        "mhigh": question.m_high,
        "alow": question.alpha[0],
        "ahigh": question.alpha[1],
        "elow": question.epsilon[0],
        "ehigh": question.epsilon[1],
        "growths": list(question.growth),
        "drule": question.rule,
        "q": question.quantile,
        "conf": question.confidence,
        "fixedm": question.fixed_m,
        "cost_fixed": question.cost[0],
        "cost_datum": question.cost[1],
        "cost_look": question.cost[2],
    }


def turn_to(question: Question) -> None:
    """Set the knobs to a question."""
    for key, value in values(question).items():
        st.session_state[key] = value


def reset() -> None:
    """Reset all knobs of the page to their defaults."""
    turn_to(USUAL)


def relax(question: Question, advice: Relaxation) -> None:
    """Follow a piece of advice: set its knob, set the others to its question, and search again."""
    changed: dict[str, dict[str, Any]] = {
        "tolerance": {"tolerance": advice.value},
        "m_high": {"m_high": advice.value},
        "fixed_m": {"fixed_m": advice.value},
        "alpha": {"alpha": advice.value},
        "epsilon_low": {"epsilon": (advice.value, question.epsilon[1])},
    }
    turn_to(question._replace(**changed[advice.knob]))
    st.session_state["search-now"] = True


def _batches(trial: TrialRun, *, fixed: bool) -> tuple[int | None, int | None, int]:
    """The range of m, and the m of the fixed-m rule."""
    automatic = USUAL.space.checked(trial.n_data)
    st.markdown(
        "**Mini-batch size m**",
        help="Smaller mini-batches read less for easy decisions, but below a few hundred do not trust the normal "
        "theory. Default: from 500, or N/20 if that is less, to half of the data.",
    )
    limits = []
    for place, label, key, usual in zip(
        st.columns(2), ("from", "to"), ("mlow", "mhigh"), (automatic.m_low, automatic.m_high), strict=True
    ):
        with place:
            given = _number(label, key, (2, MAX_N_DATA), None, disabled=fixed, placeholder=f"{usual:,}")
            limits.append(None if given is None else int(given))
    usual_m, words = min(USUAL.fixed_m, trial.n_data), "Only for the criterion fixed-m; 500 or 600 in the paper."
    fixed_m = _number("Fixed m", "fixedm", (2, MAX_N_DATA), usual_m, disabled=not fixed, help=words)
    return limits[0], limits[1], int(fixed_m or usual_m)


def _bounds(*, fixed: bool) -> tuple[tuple[float, float], tuple[float, float], tuple[float, ...]]:
    """Ranges of α and ε, and growth factors."""
    words = "0.5: constant (Pocock). 1: reluctant to stop early (O'Brien–Fleming)."
    alpha = _range("Shape of the bounds α", words, ("alow", "ahigh"), (0.5, 1.0), USUAL.alpha, disabled=fixed)
    words = "A look decides when its p-value is below ε. Below 1e-6 tails are not normal at any m."
    epsilon = _range("Threshold ε", words, ("elow", "ehigh"), (LEAST_EPSILON, 0.5), USUAL.epsilon)
    growth = st.multiselect(
        "Growth of the looks",
        GROWTHS,
        list(USUAL.growth),
        key="growths",
        bind="query-params",
        persist_state="session",
        disabled=fixed,
        help="1: equal mini-batches. Others: each look has this many times the data of the one "
        "before. The search tries all that you choose.",
    )
    return alpha, epsilon, tuple(sorted(growth))


def _judgement(criterion: Criterion) -> tuple[Rule, float, tuple[float, float, float]]:
    """The acceptance rule, the quantile, the cost of a step."""
    rule = st.selectbox(
        "Acceptance rule",
        get_args(Rule),
        key="drule",
        bind="query-params",
        persist_state="session",
        help="metropolis: min(1, e^A). barker: 1/(1 + e^−A), as in Gibbs steps.",
    )
    words = "Only for the criterion quantile: this share of the proposals must be within the tolerance."
    off = criterion != "quantile"
    quantile = _number("Quantile of |Δ|", "q", (0.0, 1.0), USUAL.quantile, disabled=off, help=words)
    st.markdown(
        "**Cost of a step**",
        help="The search minimises fixed + per datum × data read + per look × looks. The default counts data only; "
        "looks have an overhead that may matter on a GPU or over a network.",
    )
    keys, labels, cost = ("cost_fixed", "cost_datum", "cost_look"), ("fixed", "per datum", "per look"), []
    for place, key, label, usual in zip(st.columns(3), keys, labels, USUAL.cost, strict=True):
        with place:
            cost.append(_number(label, key, (0.0, 1e9), usual) or 0.0)
    return rule, quantile or 0.0, (cost[0], cost[1], cost[2])


def _confidence(criterion: Criterion) -> float:
    """The probability with which the tolerance holds on all pairs of the chain."""
    words = (
        "A trial run has only some of the pairs that the chain will meet. With this probability the error over all of "
        "them is within the tolerance. 0.5: only the error over the recorded pairs is. The worst case needs no pairs."
    )
    ends, off = (0.5, 0.9999), criterion == "worst-case"
    return _number("Confidence", "conf", ends, USUAL.confidence, disabled=off, help=words) or USUAL.confidence


def _range(
    label: str,
    words: str,
    keys: tuple[str, str],
    ends: tuple[float, float],
    usual: tuple[float, float],
    *,
    disabled: bool = False,
) -> tuple[float, float]:
    """Two numbers: from and to."""
    st.markdown(f"**{label}**", help=words)
    values = []
    for place, name, value, key in zip(st.columns(2), ("from", "to"), usual, keys, strict=True):
        with place:
            values.append(_number(name, key, ends, value, disabled=disabled) or value)
    return values[0], values[1]


def _number(label: str, key: str, ends: tuple[float, float], usual: float | None, **more: Any) -> float | None:
    """A number with its value in the URL under its key; an integer if its limits are."""
    form = "%d" if isinstance(ends[0], int) else "%.6g"
    number: float | None = st.number_input(
        label, *ends, usual, key=key, bind="query-params", persist_state="session", format=form, **more
    )
    return number
