"""The topic Best possible boundary: what it shows is what the library says, and its file is loaded back."""

from __future__ import annotations

import numpy as np
import pytest

from app.dashboard.export import exports
from app.dashboard.state.design_text import design_text, parse_design
from designer import Design, TrialRun, acceptance, optimal_boundary
from tests.app.dashboard.driving import everything, figures, numbers, page, trace

SMALL = {"source": "stationary", "trial_n": "5000", "acceptance": "0.4", "pairs": "30", "seed": "1"}
TRIAL = TrialRun.at_stationarity(5000, 0.4, 30, np.random.default_rng(1))


@pytest.mark.parametrize("asymmetric", [False, True])
def test_the_topic_shows_the_librarys_numbers(asymmetric):
    link = SMALL | {"topic": "boundary", "tol": "0.05", "bndm": "1000", "bndasym": str(asymmetric).lower()}
    found, want = page("further", **link), optimal_boundary(TRIAL, 0.05, 1000, symmetric=not asymmetric)
    said = everything(found)
    assert f"less than {want.lower_bound:.2%}" in said and f"reads {want.usage:.2%}" in said
    (table,) = [frame.value for frame in found.dataframe]
    assert list(table["data per step"]) == pytest.approx([want.usage, *(rival.usage for rival in want.rivals)])
    assert list(table["above the bound"])[1:] == pytest.approx([want.excess(rival) for rival in want.rivals])
    assert table["largest |Δ|"].iloc[0] == pytest.approx(want.largest)
    drawn = [one for one in figures(found)[0]["data"] if one["name"] == "best boundary"]
    assert numbers(drawn[0]["y"]) == pytest.approx(want.design.upper)
    assert numbers(drawn[1]["y"]) == pytest.approx(want.design.lower)
    assert numbers(trace(figures(found)[1], "data")["x"])[0] == pytest.approx(want.usage)


def test_its_looks_are_those_of_the_design_in_use():
    chosen = design_text(Design(5000, 250, 0.05, growth=1.5))
    found = page("further", **SMALL, topic="boundary", tol="0.05", chosen=chosen)
    assert (found.number_input(key="bndm").value, found.number_input(key="bndgrowth").value) == (250, 1.5)


def test_its_box_is_coloured_by_what_it_costs():
    found = page("further", **SMALL, topic="boundary", tol="0.05", bndm="1000")
    want = optimal_boundary(TRIAL, 0.05, 1000)
    assert want.usage > 1 / 3  # of the data, each of which is evaluated twice
    assert not found.success and "not worth it" in found.warning[0].value
    cheap = page("further", source="control", topic="boundary", tol="0.05", bndm="20000")
    assert cheap.success and "not worth it" not in cheap.success[0].value


def test_the_page_design_shows_a_boundary_of_its_own():
    design = Design.with_bounds(5000, 1000, [-2.5, -2.0, -1.8, -1.7], [4.0, 3.0, 2.5, 2.0])
    found = page("design", **SMALL, chosen=design_text(design), tol="0.05")
    step = acceptance(design, TRIAL)
    said = everything(found)
    assert "Decide once z is beyond the bounds of the look" in said
    assert f"**{step.mean_abs_delta:.3g}**" in said and f"**{step.mean_usage:.1%}**" in said
    looks = next(frame.value for frame in found.dataframe if "reject below" in frame.value)
    assert list(looks["reject below"])[:-1] == list(design.lower)
    assert list(looks["bound G"])[:-1] == list(design.upper)


def test_a_link_and_the_lines_carry_the_bounds():
    design = Design.with_bounds(5000, 1000, [-2.5, -2.0, -1.8, -1.7], [4.0, 3.0, 2.5, 2.0])
    assert parse_design(design_text(design)) == design
    assert parse_design(design_text(design) + ",1.0") is None
    assert eval(exports.constructor(design), {"Design": Design}) == design
