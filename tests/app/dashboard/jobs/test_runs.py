"""Runs started by the dashboard: real processes that save when they are stopped, and end with their server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from app.dashboard.jobs import runs
from designer import Design
from samplers import SamplerConfig
from samplers.runs.watch import watch
from tests.serving import PATIENCE

SERVER = """
import sys, time
from app.dashboard.jobs import runs
from samplers import SamplerConfig
runs.use(sys.argv[1], local=True)
runs.start("orphan", SamplerConfig.from_toml(open(sys.argv[2]).read()))
print("started", flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path):
    before = runs.place.folder, runs.place.local
    runs.use(tmp_path / "runs", local=True)
    yield tmp_path / "runs"
    runs.end_all(20.0)
    runs.place.folder, runs.place.local = before


@pytest.fixture
def config(tmp_path):
    """A run that takes long, and saves often."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((500, 2))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(500) < 0.5)
    text = f'[data]\npath = "{tmp_path}/data.npz"\n[model]\ncontrol = 0\n[proposal]\nkind = "random-walk"\n'
    text += "[run]\ndraws = 10000000\nchains = 1\ncheckpoint_seconds = 0.1\n"
    return SamplerConfig.from_toml(text, Design(500, 100, 0.05))


def until(happens, what: str):
    end = time.monotonic() + PATIENCE
    while not (found := happens()):
        assert time.monotonic() < end, what
        time.sleep(0.05)
    return found


def saved(folder) -> int:
    """Steps of the run that are on disk."""
    if not (folder / "run.bin").exists():
        return 0
    return sum(watch(folder, 10).steps.values())


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat") as status:  # a zombie has ended
        return status.read().rpartition(")")[2].split()[0] == "Z"


def test_start_stop_and_resume(folder, config, refuses):
    runs.start("first", config)
    output = folder / "first" / "output"
    assert (runs.state("first"), runs.names(), runs.output_of("first")) == ("running", ["first"], output)
    refuses(lambda: runs.start("first", config), "there is a run of this name")
    refuses(lambda: runs.resume("first"), "is running")
    until(lambda: saved(output), "nothing was saved")
    pid = runs._children["first"].process.pid
    runs.stop("first")
    assert runs.state("first") in ("stopping", "stopped")
    until(lambda: runs.state("first") == "stopped", "it does not stop")
    assert gone(pid)
    assert any("interrupted. Progress is saved" in line for line in runs.last_words("first"))
    before = saved(output)
    runs.resume("first")
    until(lambda: saved(output) > before, "it does not go on")
    assert watch(output).process == runs._children["first"].process.pid
    runs.end_all(30.0)  # the server ends
    assert runs.state("first") == "stopped"


def test_no_orphan_is_left_when_the_server_is_killed(folder, config, tmp_path):
    (tmp_path / "config.toml").write_text(config.to_toml())
    command = [sys.executable, "-c", SERVER, str(folder), str(tmp_path / "config.toml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == "started\n"
        output = folder / "orphan" / "output"
        until(lambda: saved(output), "nothing was saved")
        pid = watch(output).process
        assert not gone(pid)
        server.send_signal(signal.SIGKILL)
    until(lambda: gone(pid), "the run outlives its server")
    assert saved(output) > 0
    assert runs.state("orphan") == "stopped"


def test_a_run_that_cannot_begin_says_why(folder, config):
    missing = config.model_copy(update={"data": config.data.model_copy(update={"path": "nowhere.npz"})})
    runs.start("wrong", missing)
    until(lambda: runs.state("wrong") == "stopped", "it does not end")
    assert runs.last_words("wrong") == [f"austerity: data.path: {folder}/nowhere.npz: no such file"]


@pytest.mark.parametrize("name", ["", "..", "a/b", "../a", ".hidden", "a b", "x" * 61, "-x", "é"])
def test_names_that_are_none(folder, name, refuses):
    refuses(lambda: runs.folder_of(name), "name = ")


def test_links_do_not_lead_out(folder, tmp_path, refuses):
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "config.toml").write_text("")
    (folder / "inside").symlink_to(tmp_path / "outside")
    assert runs.names() == []
    refuses(lambda: runs.folder_of("inside"), "leads out of the runs folder")


def test_limits(folder, config, refuses, monkeypatch):
    def sized(**sizes):
        return config.model_copy(update={"run": config.run.model_copy(update=sizes)})

    refuses(lambda: runs.start("many", sized(chains=17)), "run.chains = 17: a page starts at most 16")
    refuses(lambda: runs.start("long", sized(draws=20_000_000, chains=2)), "40,000,000 steps", "at most 20,000,000")
    monkeypatch.setattr(runs, "MOST_RUNNING", 0)
    refuses(lambda: runs.start("more", config), "no more than 0 at once")
    monkeypatch.setattr(runs, "MOST_RUNS", 0)
    refuses(lambda: runs.start("more", config), "has 0 runs already")
    assert not folder.exists()  # nothing was made


def test_data_of_other_places(folder, config, refuses):
    """Relative places are in the runs folder; others are read only where nobody else reaches the pages."""

    def of(path):
        return config.model_copy(update={"data": config.data.model_copy(update={"path": path})})

    assert runs._placed(of("data.npz")).data.path == str(folder / "data.npz")
    assert runs._placed(of("/etc/x.npz")).data.path == "/etc/x.npz"
    runs.use(folder, local=False)
    assert runs._placed(of("data.npz")).data.path == str(folder / "data.npz")
    for path in ("/etc/x.npz", "../x.npz"):
        refuses(lambda path=path: runs._placed(of(path)), "this server reads data only from")


def test_runs_of_the_command_line_are_listed(folder):
    (folder / "elsewhere").mkdir(parents=True)
    (folder / "elsewhere" / "run.bin").write_bytes(b"")
    (folder / "notes").mkdir()
    assert runs.names() == ["elsewhere"]
    assert runs.output_of("elsewhere") == folder / "elsewhere"
    assert not runs.started_here("elsewhere")
    with pytest.raises(Exception, match="was not started here"):
        runs.resume("elsewhere")


def test_a_file_is_no_folder(tmp_path, refuses):
    (tmp_path / "file").write_text("")
    refuses(lambda: runs.use(tmp_path / "file", local=True), "is a file")
