"""The progress bar: who sees it, what it tells, and whether the time left is that of the latest speed."""

from __future__ import annotations

import argparse
import io
import re
import threading
from types import SimpleNamespace

import pytest

from app.cli.terminal import chain_progress, progress_bar, say, status
from samplers import RunProgress

WATCHED = argparse.Namespace(quiet=False, json=False)


class Terminal(io.StringIO):
    """Standard error as a terminal that remembers what was drawn."""

    def isatty(self) -> bool:
        return True

    def drawn(self) -> list[str]:
        return [line.rstrip() for line in re.split(r"\r|\n", self.getvalue()) if line.strip()]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr("app.cli.terminal.sys", SimpleNamespace(stderr=terminal))
    monkeypatch.setenv("COLUMNS", "100")
    return terminal


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the bar sees, in seconds."""
    now = [1000.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    return now


def test_a_bar_tells_share_time_left_and_counts(terminal, clock):
    with progress_bar(WATCHED) as show:
        assert terminal.drawn() == ["starting …"]
        for done in (100, 200, 300):
            clock[0] += 10.0
            show(done, 1_000, "with control variates")
    last = terminal.drawn()[-1]
    assert last.startswith(" 30% |")
    assert last.endswith("| 01:10 left, 300/1,000, with control variates")
    assert terminal.getvalue().endswith("\r")  # nothing remains of it


def test_the_time_left_follows_the_speed(terminal, clock):
    """The latest speed counts."""
    with progress_bar(WATCHED) as show:
        clock[0] += 600.0
        show(10, 1_000)
        assert "16:30:00 left" in terminal.drawn()[-1]  # a minute for each of 990
        for step in range(1, 191):
            clock[0] += 1.0
            show(10 + step, 1_000)
    minutes, seconds = re.search(r"(\d+):(\d+) left", terminal.drawn()[-1]).groups()
    assert 800 <= 60 * int(minutes) + int(seconds) < 820  # 800 steps, one a second; by the average it is 3160


def test_start_up_does_not_count(terminal, clock):
    """Loading data and compiling take a minute, then a step takes a second."""
    with progress_bar(WATCHED) as show:
        clock[0] += 60.0
        show(1, 1_000)
        assert terminal.drawn()[-1].endswith("| ? left, 1/1,000")
        for done in range(2, 52):
            clock[0] += 1.0
            show(done, 1_000)
    minutes, seconds = re.search(r"(\d+):(\d+) left", terminal.drawn()[-1]).groups()
    assert 920 <= 60 * int(minutes) + int(seconds) <= 949


def test_a_new_part_starts_the_clock_again(terminal, clock):
    with progress_bar(WATCHED) as show:
        for step in range(1, 6):
            clock[0] += 1.0
            show(2_000 * step, 10_000, "first")
        for step in range(1, 5):
            clock[0] += 5.0
            show(step, 8, "second")
    assert any("10,000/10,000, first" in line for line in terminal.drawn())
    assert re.search(r"\| 00:(19|20) left, 4/8, second$", terminal.drawn()[-1])  # four steps of five seconds


def test_a_total_may_shrink(terminal, clock):
    """Chains of a resumed run find their earlier steps one after the other."""
    with progress_bar(WATCHED) as show:
        clock[0] += 1.0
        show(10, 100)
        clock[0] += 1.0
        show(20, 40)
    assert terminal.drawn()[-1].startswith(" 50% |")
    assert terminal.drawn()[-1].endswith("| 00:02 left, 20/40")


def test_chains_tell_speed_acceptance_and_data_use(terminal, clock):
    with progress_bar(WATCHED, counts=False) as show:
        clock[0] += 2.0
        chain_progress(show)(RunProgress(done=5_000, total=20_000, seconds=2.0, acceptance=0.2345, usage=0.0412))
    assert terminal.drawn()[-1].endswith("| 00:06 left, 2,500 steps/s, acceptance 0.23, data use 4.12%")
    assert len(terminal.drawn()[-1]) <= 100


@pytest.mark.parametrize("options", [{"quiet": True, "json": False}, {"quiet": False, "json": True}])
def test_quiet_and_json_show_nothing(terminal, options):
    with progress_bar(argparse.Namespace(**options)) as show:
        assert show is None
        assert chain_progress(show) is None
    with status("reading", argparse.Namespace(**options)):
        pass
    assert terminal.getvalue() == ""


def test_a_file_or_a_pipe_shows_nothing(capsys):
    with progress_bar(WATCHED) as show, status("reading", WATCHED):
        assert show is None
    assert capsys.readouterr().err == ""


def test_a_status_line_disappears(terminal):
    with status("reading posterior.nc", WATCHED):
        assert terminal.drawn() == ["reading posterior.nc …"]
    assert terminal.getvalue().endswith("\r")


def test_no_thread_is_left_behind(terminal):
    before = threading.active_count()
    with progress_bar(WATCHED) as show:
        show(1, 2)
        assert threading.active_count() == before


def test_what_the_encoding_lacks_is_escaped():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    say("mean |Δ| \udcff", file)
    file.seek(0)
    assert file.read() == "mean |\\u0394| \\udcff\n"
