"""The topic What it does to my posterior: what it shows is what the library says."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from designer import Design, TrialRun, posterior_error, tolerance_for
from tests.app.dashboard.driving import everything, figures, numbers, page, settled, trace
from tests.serving import PATIENCE

SMALL = {"source": "stationary", "trial_n": "5000", "acceptance": "0.4", "pairs": "30", "seed": "1"}
TRIAL = TrialRun.at_stationarity(5000, 0.4, 30, np.random.default_rng(1))


def test_the_topic_shows_the_librarys_numbers():
    knobs = {"topic": "posterior", "m": "200", "eps": "0.05", "pdim": "10", "pskew": "0.5", "pinfl": "0.1"}
    found = page("further", **SMALL, **knobs)
    said = everything(found)
    want = posterior_error(Design(5000, 200, 0.05), TRIAL, dimension=10, skewness=0.5)
    wish = tolerance_for(TRIAL, 0.1, 200, dimension=10)
    assert f"{want.sd_ratio:.3f} times as large" in said
    assert f"off by {want.bias:.3f}" in said
    assert f"mean |Δ| of **{wish.tolerance:.3g}**" in said
    star = trace(figures(found)[0], "your test")
    assert numbers(star["y"]) == pytest.approx([want.sd_ratio])


def test_a_ceiling_is_no_advice():
    """Where even ε = 0.5 is within the wish, its mean |Δ| is not what may be tolerated."""
    easy = {"source": "stationary", "trial_n": "5000", "acceptance": "0.95", "pairs": "30", "seed": "1"}
    said = everything(page("further", **easy, topic="posterior", m="2500", pinfl="1"))
    assert "**Any ε stays within a factor 2**" in said and "tolerate a mean |Δ|" not in said


def test_a_batch_that_the_pairs_do_not_support_is_told():
    said = everything(page("further", source="control", topic="posterior", m="100"))
    assert "m = 100: " in said and "too skewed or heavy-tailed for the normal theory used here" in said
    assert "normal theory used here" not in everything(page("further", **SMALL, topic="posterior", m="100"))


def test_how_much_wider_it_may_get_is_asked_once_for_all_pages():
    """One name, one default, one value."""
    script = "import streamlit as st; from app.dashboard.pages import further, start; "
    script += "(start if st.session_state.get('here') == 'start' else further).show()"
    found = AppTest.from_string(script, default_timeout=PATIENCE)
    for key, value in {**SMALL, "topic": "posterior", "m": "200"}.items():
        found.query_params[key] = value
    settled(found.run())
    number = found.number_input(key="pinfl")
    assert number.value == 0.01 and number.label.startswith("How much wider may posterior standard deviations get?")
    number.set_value(0.02)
    settled(found.run())
    found.session_state["here"] = "start"
    settled(found.run())
    (asked,) = found.segmented_control
    assert asked.label == "How much wider may posterior standard deviations get?" and asked.value == "2%"
    asked.set_value("5%")
    settled(found.run())
    found.session_state["here"] = "further"
    settled(found.run())
    assert found.number_input(key="pinfl").value == 0.05
