"""Back, Forward, a reload, a second window and a second browser: what is kept, and who sees it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from designer import TrialRun
from samplers.fit.examples import example_csv
from tests.browser.test_runs import choose_number

LONG_SEARCH = "design?source=stationary&trial_n=1000000000&pairs=20000"


def number(screen, name):
    return screen.page.get_by_role("spinbutton", name=f"{name}, exactly").first


def test_back_and_forward_restore_the_knobs(open_screen):
    """From an address of the old first page; typed and slid numbers alike; also across pages, and by Undo."""
    screen = open_screen("?n=20000&eps=0.05&m=500")
    assert "/explore?" in screen.page.url
    screen.slide("Threshold ε", -1)
    number(screen, "Mini-batch size m").fill("1234")
    number(screen, "Mini-batch size m").press("Enter")
    screen.until(lambda: "m = 1,234" in screen.text()).settle()
    screen.turn("Method").page.locator("h1", has_text="Method").wait_for()
    screen.settle().page.go_back()
    screen.until(lambda: "m = 1,234" in screen.text() and "N = 20,000" in screen.text()).settle()
    screen.page.go_back()
    screen.until(lambda: number(screen, "Mini-batch size m").input_value() == "500").settle()
    assert number(screen, "Threshold ε").input_value() == "0.04"
    screen.press("Undo the last change").until(lambda: number(screen, "Threshold ε").input_value() == "0.05")
    screen.settle().page.go_forward()
    screen.until(lambda: number(screen, "Threshold ε").input_value() == "0.04").settle()
    assert screen.wrong == [] and screen.alarms() == []


def pick(screen, place):
    """Choose another entry of the first list of a page."""
    option = screen.page.get_by_role("option")
    wanted = option.nth(place) if isinstance(place, int) else option.filter(has_text=place)
    screen.choose(screen.page.get_by_role("combobox").first, wanted)


def listed(screen):
    return screen.page.get_by_role("combobox").first.input_value()


def checked(screen):
    return screen.page.locator("input[type=radio]:checked").evaluate_all("all => all.map((one) => one.value)")


# a page, a change by the user, and what shows it
UNBOUND = {
    "start": ("?source=control", lambda screen: screen.page.get_by_text("Unmixing sounds").click(), checked),
    "learn": ("learn", lambda screen: screen.page.get_by_text("Stories").click(), lambda screen: screen.text()),
    "experiments": ("experiments", lambda screen: pick(screen, 1), listed),
    "league": (
        "league",
        lambda screen: screen.slide("Error that you allow", 1),
        lambda screen: screen.page.get_by_role("slider").first.get_attribute("aria-valuetext"),
    ),
    "monitor": ("monitor", lambda screen: pick(screen, "Upload results.nc"), listed),
    "topic": ("further", lambda screen: pick(screen, 2), listed),
}


@pytest.mark.parametrize("name", UNBOUND)
def test_back_and_forward_restore_choices_that_are_no_knobs(open_screen, name):
    address, change, shown = UNBOUND[name]
    screen = open_screen(address)
    first, at_first = shown(screen), screen.page.url
    change(screen)
    screen.until(lambda: screen.page.url != at_first).settle()
    second = shown(screen)
    assert second != first
    screen.page.go_back()
    screen.until(lambda: screen.page.url == at_first and shown(screen) == first).settle()
    screen.page.go_forward()
    screen.until(lambda: screen.page.url != at_first and shown(screen) == second).settle()
    assert screen.wrong == [] and screen.alarms() == []


def test_a_reload_keeps_uploads_for_this_browser_only_and_a_session_is_a_file(open_screen, tmp_path):
    trial = TrialRun.at_stationarity(5_000, 0.4, 40, np.random.default_rng(7))
    trial.to_csv(tmp_path / "mine.csv")
    screen = open_screen("trial-run?source=upload&check_m=300")
    screen.page.locator("input[type=file]").first.set_input_files(tmp_path / "mine.csv")
    screen.page.get_by_text("mine.csv: 40 pairs").first.wait_for()
    screen.settle().page.reload()
    screen.page.get_by_text("mine.csv: 40 pairs").first.wait_for()
    address = screen.settle().page.url.removeprefix(screen.address)
    other = open_screen(address)
    assert "Links do not carry files" in other.text() and "mine.csv" not in other.text()

    saved = save_session(screen, tmp_path / "session.json")
    content = json.loads(saved.read_text(encoding="utf-8"))
    assert content["page"] == "trial-run" and trial.digest in content["pages"]["trial-run"]
    load_session(other, saved)
    other.page.get_by_text("mine.csv: 40 pairs").first.wait_for()
    other.until(lambda: "check_m=300" in other.page.url).settle()
    assert screen.wrong == [] and other.wrong == [] and other.alarms() == []


def save_session(screen, path):
    screen.page.get_by_role("button", name="Session").click()
    with screen.page.expect_download() as waiting:
        screen.page.get_by_role("button", name="Save the session").click()
    path.write_bytes(waiting.value.path().read_bytes())
    return path


def load_session(screen, path):
    screen.page.get_by_role("button", name="Session").click()
    screen.page.locator("[data-testid=stPopoverBody] input[type=file]").set_input_files(path)


def test_the_table_of_a_fit_and_its_knobs_are_kept_too(open_screen, tmp_path):
    """By a reload, by Back, and in the session file."""
    table = "\n".join(example_csv("wages").splitlines()[:501])
    (tmp_path / "pay.csv").write_text(table, encoding="utf-8")
    screen = open_screen("fit?table=upload")

    def loss():
        return screen.page.get_by_role("combobox", name="What to explain").input_value()

    screen.page.locator("input[type=file]").first.set_input_files(tmp_path / "pay.csv")
    screen.page.get_by_text("pay.csv: 4 columns").first.wait_for()
    screen.settle()
    first = loss()
    screen.page.get_by_role("combobox", name="What to explain").click()
    screen.page.get_by_role("option", name="Another quantile").click()
    screen.until(lambda: screen.page.get_by_role("spinbutton", name="Quantile").count()).settle()
    choose_number(screen, "Quantile", 0.8)
    screen.page.reload()
    screen.page.get_by_text("pay.csv: 4 columns").first.wait_for()
    screen.settle()
    assert loss() == "Another quantile"
    assert screen.page.get_by_role("spinbutton", name="Quantile").input_value() == "0.80"
    saved = save_session(screen, tmp_path / "session.json")
    screen.page.keyboard.press("Escape")
    screen.page.go_back()
    screen.until(lambda: screen.page.get_by_role("spinbutton", name="Quantile").input_value() == "0.90").settle()
    screen.page.go_back()
    screen.until(lambda: loss() == first).settle()
    other = open_screen("method")
    load_session(other, saved)
    other.page.get_by_text("pay.csv: 4 columns").first.wait_for()
    assert other.settle().page.get_by_role("spinbutton", name="Quantile").input_value() == "0.80"
    assert screen.wrong == [] and other.wrong == [] and screen.alarms() == []


def strip(screen):
    return str(screen.page.locator(".strip").inner_text())


def test_a_reload_keeps_the_design_in_use_and_its_tolerance(open_screen):
    """Found on Start, with a tolerance that follows from its questions; never shown for other pairs."""
    screen = open_screen("?source=logistic&grow=5%25").drawn()
    screen.until(lambda: "mini-batches of" in strip(screen))
    for page in ("Explore", "Compare tests"):
        screen.turn(page).page.locator("h1", has_text=page).wait_for()
        before = strip(screen.settle())
        assert "mini-batches of" in before and "Tolerance 0.01\n" not in before
        screen.page.reload()
        screen.settle()
        assert strip(screen) == before
    screen.turn("Monitor").page.locator("h1", has_text="Monitor").wait_for()
    screen.until(lambda: "The design in use, with its chain" in screen.page.content())
    screen.go("explore?source=control")
    assert "Design none yet" in strip(screen), "an answer for other pairs"
    screen.turn("Start").drawn().until(lambda: "mini-batches of" in strip(screen))
    assert screen.wrong == [] and screen.alarms() == []


def test_a_job_survives_a_reload_and_is_seen_on_other_pages(open_screen):
    screen = open_screen("method")  # its self-check is then done
    screen.page.goto(f"{screen.address}/{LONG_SEARCH}")
    screen.page.get_by_role("button", name="Cancel").first.wait_for()
    screen.page.get_by_text(re.compile(r"Searching: \d+%")).first.wait_for()
    screen.page.reload()
    screen.page.get_by_text(re.compile(r"Searching: \d+%")).first.wait_for()
    screen.turn("Method").page.locator("h1", has_text="Method").wait_for()
    screen.page.get_by_text(re.compile(r"Searching: \d+%")).first.wait_for()
    screen.page.get_by_role("button", name="Cancel").first.click()
    screen.until(lambda: screen.page.get_by_text(re.compile(r"Searching: \d+%")).count() == 0)
    assert screen.alarms() == []
