"""The Explore page: what it says and draws is what the library computes."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from app.dashboard.pages import explore
from designer import Design, characteristics, plotdata, stopping, worst_case
from designer.engine.predict import predict
from designer.pairs.examples import example
from tests.app.dashboard.driving import everything, figure, figures, numbers, open_page, trace
from tests.serving import PATIENCE

USUAL = Design(12_214, 500, 0.05)


def headline(test):
    return test.markdown[0].value


def button(test, label):
    (found,) = [each for each in test.button if each.label == label]
    return found


def link(test):
    return test.code[0].value


def test_the_first_paint_has_an_answer():
    test = open_page("explore")
    worst = worst_case(USUAL)
    assert not test.exception
    assert headline(test) == (
        f"## N = 12,214, m = 500, ε = 0.05: 25 looks, worst error {worst.error[0]:.2g}, "
        f"uses {worst.usage[0]:.0%} of the data at worst."
    )
    assert any("numerical error is below" in each.value for each in test.caption)


def test_the_curves_are_the_library_s():
    test = open_page("explore", m="600", eps="0.01", alpha="0.75")
    design, name = Design(12_214, 600, 0.01, 0.75), "m = 600, ε = 0.01, α = 0.75"
    above, below = (trace(figure(test, 0), name, axis) for axis in ("y", "y2"))
    mu_std = numbers(above["x"])
    curve = characteristics(design, mu_std)
    assert mu_std[0] == 0.0
    assert numbers(above["y"]) == pytest.approx(curve.error, abs=2e-6)
    assert numbers(below["y"]) == pytest.approx(curve.usage, abs=2e-6)


def test_where_it_stops_is_the_library_s():
    test = open_page("explore", mu="-1.5")
    where = stopping(USUAL, -1.5)
    drawn = figure(test, 1)
    assert numbers(trace(drawn, "reject (right)", "y2")["y"]) == pytest.approx(where.reject)
    assert numbers(trace(drawn, "accept (wrong)", "y2")["y"]) == pytest.approx(where.accept)
    assert numbers(trace(drawn, "bounds ±G")["y"]) == pytest.approx(where.upper[:-1])


def test_the_table_of_looks_is_the_library_s_and_thinned():
    closed, test = open_page("explore"), open_page("explore", table="true")
    assert not closed.dataframe
    assert "table" not in link(closed)
    assert "table=true" in link(test)
    table = plotdata.look_table(stopping(USUAL, 1.0), USUAL, 1.0)
    shown = test.dataframe[0].value
    assert shown["P(wrong)"].to_numpy() == pytest.approx(table.wrong)
    assert shown["stopped by then"].to_numpy() == pytest.approx(table.stopped)
    assert np.isnan(shown["bound G"].to_numpy()[-1])
    many = open_page("explore", n="1000000", m="100", table="true")
    assert len(many.dataframe[0].value) <= explore.ROWS
    notes = " ".join(each.value for each in many.caption)
    assert "the file has all of them" in notes
    assert "looks are merged" in notes


@pytest.mark.parametrize("query", [{}, {"n": "1000000", "m": "100", "alpha": "0.75"}], ids=["linear", "logarithmic"])
def test_the_figures_are_what_plotly_allows(query):
    """They are built unchecked, for speed."""
    for drawn in figures(open_page("explore", pin="12214,100,0.05,0.5,1.0", **query)):
        assert go.Figure(**drawn).to_plotly_json()["data"]
        assert drawn["layout"]["template"] == {}
        axes = {f"yaxis{each.get('yaxis', 'y')[1:]}" for each in drawn["data"]}
        assert axes <= drawn["layout"].keys()


def test_new_runs_change_the_picture_and_a_link_brings_them_back():
    def drawn(test):
        return [each["y"] for each in figure(test, 1)["data"] if each.get("mode") == "lines" and "name" not in each]

    test = open_page("explore")
    first = drawn(test)
    button(test, "New runs").click().run()
    second, seed = drawn(test), test.number_input(key="paths").value
    assert first != second
    assert f"paths={seed}" in link(test)
    assert drawn(open_page("explore", paths=str(seed))) == second


def test_pins_stay_while_knobs_turn_and_can_be_used_and_taken_away():
    test = open_page("explore")
    button(test, "Pin this design").click().run()
    assert button(test, "Pin this design").disabled
    test.number_input(key="m").set_value(100).run()
    drawn = figure(test, 0)
    assert numbers(trace(drawn, "m = 500, ε = 0.05")["y"])[0] == pytest.approx(worst_case(USUAL).error[0], abs=2e-6)
    colours = {trace(drawn, f"m = {m}, ε = 0.05")["line"]["color"] for m in (100, 500)}
    assert len(colours) == 2
    assert "pin=12214,500,0.05,0.5,1.0" in link(test)
    button(test, "Use this").click().run()
    assert test.number_input(key="m").value == 500
    button(test, "Unpin").click().run()
    assert "pin=" not in link(test)
    assert [each.label for each in test.button if each.label == "Unpin"] == []


def test_a_link_carries_everything():
    pins = ["12214,100,0.05,0.5,1.0", "5000,50,0.01,1.0,1.5"]
    test = open_page("explore", n="5000", m="50", eps="0.02", mu="2.5", pin=[*pins, "broken", "1,2,3,4,5"])
    assert headline(test).startswith("## N = 5,000, m = 50, ε = 0.02")
    assert [each.label for each in test.button].count("Unpin") == 2
    for part in ("n=5000", "m=50", "eps=0.02", "mu=2.5", *(f"pin={pin}" for pin in pins)):
        assert part in link(test)


def test_reset_puts_the_knobs_back():
    test = open_page("explore", m="600", eps="0.2", growth="1.5")
    button(test, "Reset to defaults").click().run()
    assert headline(test).startswith("## N = 12,214, m = 500, ε = 0.05: 25 looks")


def test_the_slider_moves_the_number():
    test = open_page("explore")
    (slider,) = [each for each in test.select_slider if each.label == "Threshold ε"]
    slider.set_value(0.1).run()
    assert test.number_input(key="eps").value == 0.1
    assert "ε = 0.1:" in headline(test)


@pytest.mark.parametrize("opened", [{}, {"step": "true"}], ids=["closed", "step"])
def test_knobs_that_do_not_fit_leave_the_page_and_themselves_in_place(opened):
    test = open_page("explore", **opened)
    before = len(figures(test))
    test.number_input(key="n").set_value(100).run()
    assert not test.error
    assert len(figures(test)) == before
    assert "500 is more than all the data, so m = N = 100 is used." in everything(test)
    assert test.number_input(key="m").value == 500
    assert "n=100&m=100&" in link(test)
    test.number_input(key="n").set_value(12_214).run()
    assert "is more than all" not in everything(test)
    assert "n=12214&m=500&" in link(test)


def test_a_growth_too_close_to_1_is_noted():
    test = open_page("explore", growth="1.01")
    assert not test.error
    assert "A growth of 1.01 is too close to 1, so 1.05 is used." in everything(test)
    assert headline(test).startswith("## N = 12,214, m = 500, ε = 0.05, growth 1.05:")


def test_on_a_logarithmic_axis_a_toss_up_is_marked_at_its_left_edge():
    drawn = figure(open_page("explore", n="1000000", m="100", mu="0"), 0)
    axis = drawn["layout"]["xaxis"]
    assert axis["type"] == "log"
    lines = [each["x0"] for each in drawn["layout"]["shapes"]]
    assert np.log10(lines) == pytest.approx(np.full(len(lines), axis["range"][0]))


def simulated(test):
    """The page once its simulation has ended."""
    assert test.session_state["job-explore-simulation"].wait(PATIENCE)
    return test.run()


def test_the_simulation_agrees_and_is_marked_when_stale():
    test = simulated(open_page("explore", sim="true", reps="1000"))
    points = trace(figure(test, 0), "simulated, 1,000 each")
    curve = characteristics(USUAL, numbers(points["x"]))
    assert np.all(np.abs(numbers(points["y"]) - curve.error) < 4 * numbers(points["error_y"]["array"]))
    assert "sim=true" in link(test)
    assert "reps=1000" in link(test)
    test.number_input(key="m").set_value(800).run()
    assert "has changed since" in test.info[0].value
    assert not [each for each in figure(test, 0)["data"] if each.get("name", "").startswith("simulated")]
    button(test, "Simulate this test").click().run()
    assert trace(figure(simulated(test), 0), "simulated, 1,000 each")


def test_a_simulation_beyond_the_limits_is_declined():
    test = simulated(open_page("explore", sim="true", n="1000000000"))
    assert not test.exception
    assert "use a smaller N" in test.error[0].value
    assert len(figures(test)) == 2


def test_the_knobs_can_become_the_design_in_use():
    found = open_page("explore", n="100000", m="700", eps="0.02", source="control")
    (use,) = [each for each in found.button if each.label.startswith("Use this design")]
    use.click().run()
    assert found.session_state["chosen"] == Design(100_000, 700, 0.02)
    assert "This is the design in use." in everything(found)
    other = open_page("explore", n="5000", source="control")
    assert not [each for each in other.button if each.label.startswith("Use this design")]


def test_beside_the_worst_case_it_says_what_the_test_does_on_the_pairs_in_use():
    trial = example("control")
    test = open_page("explore", source="control", n="100000", m="500", eps="0.05")
    step = predict(Design(trial.n_data, 500, 0.05), trial).step
    said = everything(test)
    assert "it reads **0.51%** of the data per step, which is worth it, and" in said
    assert f"the acceptance probability is off by **{step.mean_abs_delta:.2g}** on average" in said
    assert "At the pairs" not in everything(open_page("explore", source="control", n="12214"))  # of other data


def test_the_copied_link_names_the_trial_run_that_the_page_speaks_of():
    assert "source=control" in link(open_page("explore", source="control"))
