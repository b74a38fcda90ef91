"""Go further: design while it runs."""

from __future__ import annotations

import pytest

from samplers.adapt.redesign import Change, follow_from
from samplers.config.built_in import built_in
from samplers.config.schema import RedesignTable
from tests.app.dashboard.driving import button, everything, figures, numbers, page, settled, trace

QUERY = {"tol": "0.05", "redm": "6000", "redeps": "0.0001", "redevery": "500", "redsteps": "500"}


def test_nothing_runs_before_it_is_asked_for():
    found = page("further", topic="redesign", **QUERY)
    assert not figures(found)
    assert "does not use the trial run" in everything(found)


def test_the_chain_s_designs_are_shown():
    found = page("further", topic="redesign", **QUERY)
    settled(button(found, "Run the chain").click().run())
    table = RedesignTable(tolerance=0.05, every=500, until=500)
    expected = follow_from(built_in("e3"), 6000, 1e-4, table, 500)
    (change,) = expected.log
    words = everything(found)
    assert f"the last one {change.usage:.2%}" in words
    assert f"{expected.passes:,} passes, {expected.share:.1%} of all data read" in words
    over_time, pairs = figures(found)
    assert numbers(trace(over_time, "predicted after")["y"]).tolist() == [change.usage]
    read = trace(over_time, "read")
    assert numbers(read["y"]).tolist() == pytest.approx([window.usage for window in expected.windows])
    for name, path in (("m", [6000, change.m]), ("ε", [1e-4, change.epsilon])):
        assert numbers(trace(over_time, name, "y3")["y"]).tolist() == path  # from the design it began with
    assert numbers(pairs["data"][0]["x"]).tolist() == pytest.approx(expected.trial.kappa.tolist())
    (shown,) = [frame.value for frame in found.dataframe]
    assert list(shown.columns) == list(Change._fields)
    assert shown["m"].tolist() == [change.m]
    found.number_input(key="tol").set_value(0.5).run()
    assert "for other settings" in everything(found)
    lines = [shape["y0"] for shape in figures(found)[0]["layout"]["shapes"]]
    assert lines == [0.05]  # the tolerance of the run that is shown


def test_settings_that_do_not_fit_are_told():
    found = page("further", topic="redesign", **(QUERY | {"redevery": "2000"}))
    assert "must be at most 500, the steps" in everything(found)
