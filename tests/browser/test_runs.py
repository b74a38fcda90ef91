"""A run from the Monitor page: started, stopped, resumed and stopped again, in processes of its own."""

from __future__ import annotations

import re
from pathlib import Path

from designer.core.errors import BadInput
from samplers.runs.watch import watch
from tests.browser.test_explore import query

DRAWS = 5_000_000  # minutes: it does not end by itself


def choose_number(screen, name, value):
    box = screen.page.get_by_role("spinbutton", name=name)
    box.fill(str(value))
    box.press("Enter")
    return screen.settle()


def steps(screen):
    """Steps that the run in view has saved."""
    folder = re.search(r"Runs folder: (\S+)", screen.text())[1]
    try:
        return watch(Path(folder) / query(screen)["run"] / "output").steps.get(0, 0)
    except BadInput:  # nothing yet
        return 0


def stop_beyond(screen, least):
    """Stop the run once it has saved more steps than these; how many there are in the end."""
    screen.page.get_by_role("button", name="Stop").first.wait_for()
    screen.until(lambda: steps(screen) > least and "running" in screen.text())
    screen.page.get_by_role("button", name="Stop").first.click()
    screen.page.get_by_role("button", name="Resume").wait_for()
    screen.until(lambda: "stopped; its steps are saved" in screen.text()).settle()
    return steps(screen)


def test_a_run_starts_stops_and_goes_on_where_it_was(open_screen):
    screen = open_screen("monitor")
    assert "What this run promises" in screen.text()
    choose_number(screen, "Chains", 1)
    choose_number(screen, "Draws per chain", DRAWS)
    screen.page.get_by_role("button", name="Start", exact=True).click()
    first = stop_beyond(screen, 0)
    screen.page.get_by_role("button", name="Resume").click()
    assert first < stop_beyond(screen, first) < DRAWS
    assert screen.alarms() == [] and screen.wrong == []


def test_a_run_stays_in_view_on_other_pages(open_screen):
    """In the strip of this browser only, also after a reload; Monitor comes back to it."""
    screen = open_screen("monitor")
    choose_number(screen, "Chains", 1)
    choose_number(screen, "Draws per chain", DRAWS)
    screen.page.get_by_role("button", name="Start", exact=True).click()
    screen.page.get_by_role("button", name="Stop").first.wait_for()
    name = query(screen.settle())["run"]
    other = open_screen("method")
    assert name not in other.text()
    screen.turn("Method").page.locator("h1", has_text="Method").wait_for()
    screen.page.get_by_text(f"Run {name}: running").wait_for()
    screen.page.reload()
    screen.page.get_by_text(f"Run {name}: running").wait_for()
    screen.settle().turn("Monitor").page.locator("h1", has_text="Monitor").wait_for()
    screen.page.get_by_role("button", name="Stop").first.wait_for()
    assert query(screen.settle())["run"] == name and screen.page.get_by_role("combobox").first.input_value() == name
    screen.turn("Method").page.locator("h1", has_text="Method").wait_for()
    screen.page.get_by_role("button", name="Stop").first.click()
    screen.page.get_by_text(f"Run {name}: stopped").wait_for()
    screen.page.get_by_role("link", name="Open").first.click()
    screen.page.get_by_role("button", name="Resume").wait_for()
    assert query(screen.settle())["run"] == name
    screen.turn("Method").page.locator("h1", has_text="Method").wait_for()
    assert f"Run {name}" not in screen.settle().text(), "its end was seen"
    assert screen.alarms() == [] and screen.wrong == []
