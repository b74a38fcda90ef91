"""Knobs: a slider with an exact number beside it, both in the URL under one key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import streamlit as st

from app.dashboard.state.current import usual_rows
from designer.rule.boundary import LEAST_EPSILON
from designer.rule.design import Design
from designer.rule.looks import MAX_N_DATA, MIN_GROWTH


class Knob(NamedTuple):
    """One quantity: its key in the URL, label, help, limits, default, stops of the slider, and number format."""

    key: str
    label: str
    help: str
    low: float
    high: float
    default: float
    stops: Sequence[float]
    shape: str = "%d"

    @property
    def whole(self) -> bool:
        """Whether its values are integers."""
        return self.shape == "%d"


def _decades(low: int, high: int, steps: Sequence[float]) -> list[float]:
    """steps x 10^low ... 10^high, exactly as a person would write them."""
    return [float(f"{step}e{power}") for power in range(low, high + 1) for step in steps]


_FINE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)

N_DATA = Knob(
    "n",
    "Number of data N",
    "Rows in the data set. With more data, each look is a smaller share of them.",
    2,
    MAX_N_DATA,
    12_214,
    _decades(2, 9, (1, 2, 5)),
)
BATCH = Knob(
    "m",
    "Mini-batch size m",
    "Data read before the first look, and before each further one if mini-batches are equal. A larger m makes each "
    "look more reliable, but costs more when the decision is easy. Below about 100 do not trust the normal theory.",
    2,
    MAX_N_DATA,
    500,
    _decades(1, 5, _FINE),
)
EPSILON = Knob(
    "eps",
    "Threshold ε",
    "The test decides at a look when the p-value of the other decision is below ε. A larger ε stops earlier: less "
    "data, more wrong decisions. $G = \\Phi^{-1}(1-\\varepsilon)$.",
    LEAST_EPSILON,
    0.5,
    0.05,
    [*_decades(-6, -2, _FINE), 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5],
    "%.6g",
)
ALPHA = Knob(
    "alpha",
    "Shape of the bounds α",
    "0.5: the same bound at every look (Pocock). 1: reluctant to stop early (O'Brien–Fleming). In between: "
    "Wang–Tsiatis, $G_j = G_0\\,\\pi_j^{0.5-\\alpha}$, with $\\pi_j$ the share of the data read, as in the paper.",
    0.5,
    1.0,
    0.5,
    [round(0.5 + 0.025 * k, 3) for k in range(21)],
    "%.4g",
)
GROWTH = Knob(
    "growth",
    "Growth of the looks",
    "1: equal mini-batches. 1.05 or more: each look has this many times the data of the one before, which saves looks "
    "when N is very large.",
    1.0,
    100.0,
    1.0,
    [1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0],
    "%.4g",
)
TOLERANCE = Knob(
    "tol",
    "Tolerance Δ*",
    "How far the acceptance probability may be off, on average over the pairs or by another criterion: 0.01 means one "
    "percentage point. A larger tolerance saves data, but the chain's distribution then differs more from the exact "
    "one. All pages share it.",
    1e-6,
    1.0,
    0.01,
    [float(f"{step}e{power}") for power in (-5, -4, -3, -2) for step in (1, 1.5, 2, 3, 5, 7)] + [0.1, 0.15, 0.2],
    "%.6g",
)
NO_SWITCHES: Mapping[str, object] = MappingProxyType({})
TEST_KNOBS = (N_DATA, BATCH, EPSILON, ALPHA, GROWTH)


def knob(spec: Knob, *, most: float = math.inf) -> float:
    """Draw one knob and return its value.

    The slider has no stops beyond `most`. All pages with this key share the value.
    """
    number_key, kind = spec.key, int if spec.whole else float
    slider_key = f"{number_key}-slider"
    damaged = spec.whole and _drop_infinite(number_key)
    left, right = st.columns([3, 2], vertical_alignment="bottom", gap="small")
    value: float = right.number_input(
        f"{spec.label}, exactly",
        kind(spec.low),
        kind(spec.high),
        kind(spec.default),
        step=1 if spec.whole else None,
        format=spec.shape,
        key=number_key,
        bind=None if damaged else "query-params",
        persist_state="session",
        label_visibility="collapsed",
    )
    st.session_state[slider_key] = value
    left.select_slider(
        spec.label,
        sorted({*(kind(stop) for stop in spec.stops if stop <= most), value}),
        key=slider_key,
        help=spec.help,
        format_func=lambda stop: shown(stop, whole=spec.whole),
        on_change=_copy,
        args=(slider_key, number_key),
    )
    return value


def batch_knob(spec: Knob, n_data: int) -> int:
    """Draw the knob of a mini-batch size; a value above N is replaced by N, with a note."""
    asked = int(knob(spec, most=n_data))
    if asked > n_data:
        st.caption(f":material/info: {asked:,} is more than all the data, so m = N = {n_data:,} is used.")
    return min(asked, n_data)


def test_knobs() -> Design:
    """Draw all knobs of a sequential test, the most used first.

    If their values do not fit together, the nearest valid test is used, with a note. The knobs keep their values, so
    that a slider dragged too far and back leaves no trace.
    """
    specs = _test_knobs()
    n_data = int(knob(specs[0]))
    m, epsilon = batch_knob(BATCH, n_data), knob(EPSILON)
    alpha, growth = shape_knobs()
    reset_button(specs)
    return Design(n_data, m, epsilon, alpha, growth)


def _test_knobs() -> tuple[Knob, ...]:
    """The knobs of a test; N is by default that of the trial run in use."""
    return N_DATA._replace(default=usual_rows() or N_DATA.default), *TEST_KNOBS[1:]


def shape_knobs() -> tuple[float, float]:
    """Draw the knobs of the bounds' shape and of the looks' growth, folded; a growth too close to 1 is replaced."""
    with st.expander("Shape and growth of the looks"):
        alpha, growth = knob(ALPHA), knob(GROWTH)
    if 1.0 < growth < MIN_GROWTH:
        st.caption(f":material/info: A growth of {growth:g} is too close to 1, so {MIN_GROWTH:g} is used.")
        growth = MIN_GROWTH
    return alpha, growth


def knob_values(design: Design) -> dict[str, float]:
    """The values of the test knobs for a design, by their keys in the URL."""
    values = (design.n_data, design.m, design.epsilon, design.alpha, design.growth)
    return {spec.key: value for spec, value in zip(TEST_KNOBS, values, strict=True)}


def turn_to(design: Design) -> None:
    """Set the test knobs to a design."""
    for key, value in knob_values(design).items():
        st.session_state[key] = value


def turned() -> dict[str, str]:
    """The test knobs that this session has turned away from their defaults, as texts of the URL."""
    values = [(spec, st.session_state.get(spec.key, spec.default)) for spec in _test_knobs()]
    return {spec.key: repr(value) for spec, value in values if value is not None and value != spec.default}


def reset_button(specs: Sequence[Knob], switches: Mapping[str, object] = NO_SWITCHES) -> None:
    """A button that resets knobs to their defaults, and switches to the given values."""
    st.button("Reset to defaults", icon=":material/restart_alt:", on_click=reset, args=(specs, switches))


def reset(specs: Sequence[Knob], switches: Mapping[str, object] = NO_SWITCHES) -> None:
    """Reset knobs to their defaults, and switches to the given values."""
    for spec in specs:
        st.session_state[spec.key] = int(spec.default) if spec.whole else float(spec.default)
    for key, usual in switches.items():
        st.session_state[key] = usual


def shown(value: float, *, whole: bool = False) -> str:
    """A number as a person writes it: 12,214 or 0.05."""
    return f"{int(value):,}" if whole else f"{value:.6g}"


def _drop_infinite(key: str) -> bool:
    """Remove an infinite number, which Streamlit cannot convert to an integer, from the URL; whether there was one."""
    try:
        infinite = math.isinf(float(st.query_params.get(key, "")))
    except ValueError:  # Streamlit refuses it
        return False
    if infinite:
        del st.query_params[key]
    return infinite


def _copy(source: str, target: str) -> None:
    st.session_state[target] = st.session_state[source]
