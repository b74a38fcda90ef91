"""Go further: designs by kappa."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.session import Loaded
from designer import TrialRun, stratified
from designer.examples import example
from tests.app.pages import LONG, everything, figures, numbers, page, settled, trace


@pytest.fixture(scope="module")
def shown():
    return page("further", topic="strata", source="control", strtol="0.02", strnum="2")


def test_the_page_shows_the_library_s_numbers(shown):
    trial = example("control")
    found = stratified(trial, 0.02, 2)
    words = everything(shown)
    assert found.edges == ()
    assert "designs by κ save nothing" in words
    (drawn,) = figures(shown)
    step = found.acceptance(trial)
    assert np.array_equal(numbers(trace(drawn, "by κ")["x"]), trial.kappa)
    assert np.allclose(numbers(trace(drawn, "by κ")["y"]), step.usage)
    (table,) = [frame.value for frame in shown.dataframe]
    assert table["m"].tolist() == [design.m for design in found.designs]
    assert table["data per step"].tolist() == pytest.approx([step.mean_usage])


def test_strata_that_save_are_told_with_their_gain():
    """An uploaded trial run whose kappa spreads over more than a decade."""
    rng = np.random.default_rng(2)
    kappa = np.exp(rng.uniform(np.log(0.1), np.log(5.0), 60))
    trial = TrialRun(2000, rng.normal(-(kappa**2) / 2.0, kappa) / 2000, kappa * 1999**0.5 / 2000)
    shown = AppTest.from_string("from app.views import further; further.show()", default_timeout=LONG)
    shown.session_state["kept-runs"] = {trial.digest: Loaded("mine", trial, "a file")}
    for name, value in {"topic": "strata", "source": "upload", "digest": trial.digest, "strtol": "0.05"}.items():
        shown.query_params[name] = value
    settled(shown.run())
    found = stratified(trial, 0.05, 3)
    assert len(found.edges) >= 1
    assert f"they save **{found.gain:.2%}**" in everything(shown)
    (drawn,) = figures(shown)
    assert [line["x0"] for line in drawn["layout"]["shapes"]] == list(found.edges)
    assert [frame.value["m"].tolist() for frame in shown.dataframe] == [[design.m for design in found.designs]]
