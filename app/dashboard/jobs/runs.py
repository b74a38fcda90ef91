"""Runs that the dashboard starts: `austerity run` in processes of their own, in one folder.

A run has a folder of its own there: its config, its log, and the output folder that `austerity run` writes. Its process
outlives the page, and is stopped by SIGINT, so that it saves. It ends with the server (`app.cli.child`).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from designer.core.errors import BadInput
from designer.core.files import shorten, write_whole
from samplers.config.config import PLACES, SamplerConfig
from samplers.runs.saved_run import RESULTS

FOLDER = "austerity-runs"  # in the folder where `austerity app` was started, unless it is told another
MOST_RUNNING = 2  # at once, over all sessions
MOST_RUNS = 50  # in the folder
MOST_STEPS = 20_000_000  # of all chains of a run
MOST_CHAINS = 16
LONGEST = 24 * 3600.0  # seconds; then a run is stopped, and can be resumed
LAST_LINES = 12  # of a log
CONFIG, OUTPUT, LOG = "config.toml", "output", "log.txt"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")

State = Literal["running", "stopping", "finished", "stopped"]


class _Child(NamedTuple):
    process: subprocess.Popen[bytes]
    started: float
    owner: str  # who started it


class Place:
    """Where runs are kept, and whether the pages are for this machine alone: then a config may name any file."""

    def __init__(self) -> None:
        self.folder, self.local = Path(FOLDER), True


place = Place()
_children: dict[str, _Child] = {}
_asked: set[str] = set()  # to stop
_seen: set[str] = set()  # whose end somebody has seen
_lock = threading.Lock()


def use(folder: str | os.PathLike[str], *, local: bool) -> None:
    """Keep runs in this folder; it is made when the first run starts."""
    found = Path(folder).expanduser().resolve()
    if found.exists() and not found.is_dir():
        raise BadInput(f"runs = {str(folder)!r}: is a file; must be a folder")
    place.folder, place.local = found, local


# --- what is there ----------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """The runs in the folder, the newest first: those started here, and output folders of `austerity run`."""
    try:
        inside = [entry for entry in place.folder.iterdir() if _NAME.fullmatch(entry.name) and _is_run(entry)]
    except OSError:
        return []
    return [entry.name for entry in sorted(inside, key=_age)[:MOST_RUNS]]


def _is_run(entry: Path) -> bool:
    return not entry.is_symlink() and ((entry / CONFIG).is_file() or (entry / "run.bin").is_file())


def _age(entry: Path) -> float:
    try:
        return -entry.stat().st_mtime
    except OSError:
        return 0.0


def folder_of(name: str) -> Path:
    """The folder of a run; BadInput for a name that is none, or leads out of the runs folder."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"name = {shorten(name)!r}: must have up to 60 letters, digits, '.', '-' and '_', and begin with a letter "
            "or a digit"
        )
    folder = place.folder / name
    if folder.is_symlink() or folder.resolve().parent != place.folder.resolve():
        raise BadInput(f"name = {shorten(name)!r}: leads out of the runs folder")
    return folder


def output_of(name: str) -> Path:
    """The folder that `austerity run` writes."""
    folder = folder_of(name)
    return folder / OUTPUT if (folder / CONFIG).is_file() else folder


def started_here(name: str) -> bool:
    """Whether a page started this run, so that it can be resumed from a page."""
    return (folder_of(name) / CONFIG).is_file()


def state(name: str) -> State:
    """What the run does now, as far as this server started it."""
    with _lock:
        child = _children.get(name)
        if child is not None and child.process.poll() is None:
            return "stopping" if name in _asked else "running"
    return "finished" if (output_of(name) / RESULTS).is_file() else "stopped"


def running() -> int:
    """How many runs are under way."""
    return sum(child.process.poll() is None for child in list(_children.values()))


def of(owner: str) -> list[str]:
    """The runs that somebody has started: those under way, and those whose end nobody has seen; the latest first."""
    with _lock:
        own = [name for name, child in _children.items() if child.owner == owner and name not in _seen]
    return own[::-1]


def see(name: str, owner: str) -> None:
    """Somebody looks at a run; if it is theirs and has ended, that is seen."""
    with _lock:
        child = _children.get(name)
        if child is not None and child.owner == owner and child.process.poll() is not None:
            _seen.add(name)


def seconds_running(name: str) -> float | None:
    """How long its process has been running."""
    child = _children.get(name)
    return None if child is None or child.process.poll() is not None else time.monotonic() - child.started


def last_words(name: str) -> list[str]:
    """The last lines of its log."""
    try:
        with open(folder_of(name) / LOG, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 8192))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [shorten(line, 400) for line in text.splitlines()[-LAST_LINES:]]


# --- start and stop ---------------------------------------------------------------------------------------------------


def start(name: str, config: SamplerConfig, owner: str = "") -> None:
    """Start a run with a new name, for somebody."""
    folder = folder_of(name)
    if folder.exists():
        raise BadInput(f"name = {name!r}: there is a run of this name; resume it, or choose another name")
    if len(names()) >= MOST_RUNS:
        raise BadInput(f"{place.folder}: has {MOST_RUNS} runs already; remove or move some")
    _check(config)
    config = _placed(config)
    with _lock:
        _refuse_more()
        try:
            folder.mkdir(parents=True)
            write_whole(folder / CONFIG, config.to_toml())
        except OSError as error:
            raise BadInput(f"{folder}: cannot be written: {error.strerror}; choose another --runs") from None
        _launch(name, owner, resume=False)


def resume(name: str, owner: str = "") -> None:
    """Continue a run that was stopped, for somebody."""
    if not started_here(name):
        raise BadInput(f"{name}: was not started here; resume it with the command that started it, and --resume")
    _check(SamplerConfig.load(folder_of(name) / CONFIG))
    with _lock:
        child = _children.get(name)
        if child is not None and child.process.poll() is None:
            raise BadInput(f"{name}: is running")
        _refuse_more()
        _launch(name, owner, resume=output_of(name).is_dir())


def stop(name: str) -> None:
    """Ask a run to stop; it saves what it has, which may take a few seconds."""
    with _lock:
        child = _children.get(name)
        if child is None or child.process.poll() is not None:
            return
        _asked.add(name)
        child.process.send_signal(signal.SIGINT)


def end_all(seconds: float) -> None:
    """The server ends: all runs save and stop; one that has not after so many seconds is killed."""
    with _lock:
        going = [child.process for child in _children.values() if child.process.poll() is None]
        for process in going:
            process.send_signal(signal.SIGINT)
        end = time.monotonic() + seconds
        for process in going:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
        for process in going:
            if process.poll() is None:
                process.kill()
                process.wait()
        for child in _children.values():
            _close(child)


def _launch(name: str, owner: str, *, resume: bool) -> None:
    folder = place.folder / name
    # -P: a file app.py in the current folder must not take the place of our package
    command = [sys.executable, "-P", "-m", "app.cli.child", repr(LONGEST), "run", CONFIG, "--output", OUTPUT]
    with open(folder / LOG, "ab") as log:
        process = subprocess.Popen(
            [*command, *(["--resume"] if resume else [])],
            stdin=subprocess.PIPE,  # closes when this server ends
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,  # Ctrl-C in the terminal reaches the server, which stops its runs
        )
    _asked.discard(name)
    _seen.discard(name)
    if (previous := _children.get(name)) is not None:
        _close(previous)
        del _children[name]  # the latest comes last
    _children[name] = _Child(process, time.monotonic(), owner)


def _close(child: _Child) -> None:
    """Close the pipe to a process that has ended."""
    if child.process.stdin is not None:
        child.process.stdin.close()


def _refuse_more() -> None:
    running = [name for name, child in _children.items() if child.process.poll() is None]
    if len(running) >= MOST_RUNNING:
        raise BadInput(f"{', '.join(running)}: are running, and no more than {MOST_RUNNING} at once; stop one, or wait")


def _check(config: SamplerConfig) -> None:
    """Refuse runs that are too long for a page."""
    run = config.run
    if run.chains > MOST_CHAINS:
        raise BadInput(f"run.chains = {run.chains:,}: a page starts at most {MOST_CHAINS}; use `austerity run`")
    if (steps := run.chains * (run.warmup + run.draws)) > MOST_STEPS:
        raise BadInput(f"{steps:,} steps of all chains: a page starts at most {MOST_STEPS:,}; use `austerity run`")


def reads_files(config: str) -> bool:
    """Whether a config, as its text, names files of this machine."""
    data = SamplerConfig.from_toml(config, exact=True).data
    return any(getattr(data, entry, None) is not None for entry in PLACES)


def _placed(config: SamplerConfig) -> SamplerConfig:
    """With the places of its data made absolute: relative ones are in the runs folder.

    Where others can reach the pages, only files in the runs folder may be read.
    """
    home, update = place.folder.resolve(), {}
    for entry in sorted(PLACES):
        given = getattr(config.data, entry)
        if given is None:
            continue
        path = (home / Path(given).expanduser()).resolve()
        if not place.local and not path.is_relative_to(home):
            raise BadInput(f"data.{entry} = {shorten(given)!r}: this server reads data only from {home}")
        update[entry] = str(path)
    return config.model_copy(update={"data": config.data.model_copy(update=update)})
