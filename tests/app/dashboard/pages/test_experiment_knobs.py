"""The knobs of a live experiment reach the command line; what is refused cannot be started."""

from __future__ import annotations

from app.dashboard.jobs import jobs, live
from tests.app.dashboard.driving import button, everything, open_page


def test_knobs_reach_the_command(monkeypatch):
    page = open_page("experiments", experiment="e3")
    page.number_input(key="e3-chains").set_value(5)
    page.number_input(key="e3-seed").set_value(7)
    page.text_input(key="e3-epsilon").set_value("0.3, 0.03")
    page.radio(key="e3-size").set_value("tiny")
    page.radio(key="e3-start").set_value("far").run()
    started, asked = [], []
    monkeypatch.setattr(jobs, "start", lambda kind, key, work, **options: started.append(work))
    monkeypatch.setattr(live, "run_quick", lambda job, name, arguments: asked.append((name, " ".join(arguments))))
    button(page, "Run it now").click().run()
    assert not page.exception
    started[0](None)
    assert asked == [("e3", "--size tiny --chains 5 --seed 7 --epsilon 0.3,0.03 --start far")]


def test_what_is_refused_cannot_be_started():
    page = open_page("experiments", experiment="e6")
    page.text_input(key="e6-epsilon").set_value("0.01, much").run()
    assert "epsilon = nan: must lie in [1e-16, 0.5]" in everything(page)
    assert button(page, "Run it now").disabled


def test_an_experiment_without_knobs_has_sizes_only():
    page = open_page("experiments", experiment="e13")
    assert not page.exception and not page.number_input and not page.text_input
    assert page.radio(key="e13-size").options == ["quick", "tiny"]
