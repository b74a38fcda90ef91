"""The whole way through the dashboard: a file, its checks, a design, its export, and a sampler that takes it."""

from __future__ import annotations

import numpy as np
import pytest

from app.dashboard.serve.server import MOST_MEGABYTES
from designer import Design, TrialRun, search
from tests import commands

CONFIG = """
[data]
path = "data.npz"

[model]
kind = "logistic"
prior_precision = 1.0
control = 0

[proposal]
kind = "random-walk"
scale = 0.1

[run]
draws = 40
chains = 1
seed = 3
"""
TOLERANCE = 0.02
LONG_SEARCH = "design?source=stationary&trial_n=1000000000&pairs=20000"


def austerity(*arguments):
    found = commands.finished(commands.austerity(*arguments))
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A folder with somebody's data and config, and the trial run of their chain."""
    folder, rng = tmp_path_factory.mktemp("chain"), np.random.default_rng(8)
    x = rng.normal(size=(3000, 3))
    y = rng.random(3000) < 1.0 / (1.0 + np.exp(-x @ [1.0, -0.5, 0.2]))
    np.savez(folder / "data.npz", x=x, y=y.astype(float))
    (folder / "config.toml").write_text(CONFIG)
    austerity("trial", folder / "config.toml", "--pairs", 60, "--output", folder / "trial.csv")
    return folder


def offer(screen, path):
    """Put a file into the page's uploader."""
    screen.page.locator("input[type=file]").first.set_input_files(path)
    return screen.settle(800)


def choose(screen, label, option):
    """Choose from a list, by keyboard."""
    box = screen.page.get_by_role("combobox", name=label)
    box.click()
    box.fill(option)
    box.press("Enter")
    return screen.settle(600)


def visit(screen, name):
    """Go to another page in the same session."""
    screen.turn(name)
    screen.page.locator("h1", has_text=name).wait_for()
    return screen.settle(800)


def download(screen, name):
    with screen.page.expect_download() as waiting:
        screen.page.get_by_role("button", name=name).click()
    return waiting.value.path().read_text(encoding="utf-8")


def wait_for(screen, text):
    screen.page.get_by_text(text).first.wait_for()
    return screen.settle()


def test_from_a_file_to_a_running_sampler(open_screen, chain):
    trial = TrialRun.load(str(chain / "trial.csv"))
    best = search(trial, TOLERANCE).best

    screen = choose(open_screen("trial-run"), "Trial run from", "Upload a file")
    (chain / "bad.csv").write_text("# n_data: 100\nmu,sigma\n0.1,0.2\n0.1,minus one\n")
    offer(screen, chain / "bad.csv")
    wait_for(screen, "Nothing was loaded from this file")
    assert "bad.csv" in screen.alarms()[0]
    assert "Logistic regression, control variates: 200 pairs" in screen.text(), (
        "the trial run that was in use must stay"
    )
    offer(screen, chain / "trial.csv")
    wait_for(screen, f"trial.csv: {len(trial):,} pairs, N = {trial.n_data:,}, digest {trial.digest[:12]}")
    assert "Is the normal approximation good enough?" in screen.text()

    wait_for(visit(screen, "Design"), "Find the design")
    number = screen.page.get_by_role("spinbutton", name="Tolerance Δ*, exactly")
    number.fill(str(TOLERANCE))
    number.press("Enter")
    wait_for(screen.settle(600), f"Read {best.m:,} data")  # by itself, or after a while if the machine is busy
    wait_for(screen, "Take it away")
    found = f"bound of ε = {best.epsilon:.3g}"
    screen.until(lambda: found in screen.text() or "Stale:" in screen.text())
    if "Stale:" in screen.text():  # a busy machine: the search took more than a second
        screen.press("Find the design")
    screen.until(lambda: found in screen.text() and "Stale:" not in screen.text()).settle()

    wait_for(screen.press("Pin this design"), "Unpin this design")
    assert "<html" in download(screen, "Report (HTML)")  # first: a browser may ask before a second late download
    (chain / "design.toml").write_text(download(screen, "Design (TOML)"))
    assert Design.from_toml((chain / "design.toml").read_text()).without_notes == best.without_notes

    screen.page.get_by_text("Load a design").click()
    offer(screen, chain / "design.toml")
    wait_for(screen, "The design that you loaded")
    assert screen.alarms() == []

    visit(screen, "Explore")
    assert screen.page.locator("strong", has_text=f"m = {best.m:,}").count() == 1
    in_use = screen.page.locator(".strip").inner_text()
    assert "Trial run trial.csv" in in_use and f"mini-batches of {best.m:,}" in in_use and "ε" not in in_use
    assert screen.wrong == []

    austerity("run", chain / "config.toml", "--design", chain / "design.toml", "--output", chain / "out", "--quiet")
    assert (chain / "out" / "results.nc").exists()


def test_a_long_search_shows_progress_and_can_be_cancelled(open_screen):
    screen = open_screen(LONG_SEARCH)
    screen.page.get_by_role("progressbar").first.wait_for()
    screen.page.get_by_text("Searching: ").first.wait_for()
    screen.page.get_by_role("button", name="Cancel").click()
    screen.page.get_by_text("The search was cancelled").wait_for()
    assert screen.settle().page.get_by_role("progressbar").count() == 0
    assert screen.alarms() == []


def test_a_file_that_is_too_large_is_refused_in_words(open_screen, tmp_path):
    huge = tmp_path / "huge.csv"
    with huge.open("wb") as file:
        file.truncate((MOST_MEGABYTES + 1) * 2**20)
    screen = offer(open_screen("trial-run?source=upload"), huge)
    screen.page.get_by_role("alert").filter(has_text=f"File must be {MOST_MEGABYTES}").wait_for()
    assert "Links do not carry files" in screen.text()
