"""Back, Forward, a reload, a second window and a second browser: what is kept, and who sees it."""

from __future__ import annotations

import json
import re

import numpy as np

from designer import TrialRun

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

    screen.page.get_by_role("button", name="Session").click()
    with screen.page.expect_download() as waiting:
        screen.page.get_by_role("button", name="Save the session").click()
    saved = tmp_path / "session.json"
    saved.write_bytes(waiting.value.path().read_bytes())
    content = json.loads(saved.read_text(encoding="utf-8"))
    assert content["page"] == "trial-run" and trial.digest in content["pages"]["trial-run"]
    other.page.get_by_role("button", name="Session").click()
    other.page.locator("[data-testid=stPopoverBody] input[type=file]").set_input_files(saved)
    other.page.get_by_text("mine.csv: 40 pairs").first.wait_for()
    other.until(lambda: "check_m=300" in other.page.url).settle()
    assert screen.wrong == [] and other.wrong == [] and other.alarms() == []


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
