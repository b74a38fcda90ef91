"""What the fuzzer must notice: inputs that take long, or much memory, whether or not the parser catches everything."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz.bounds import TooLong, TooMuch, bounded
from tests.fuzz.damage import Limits

ROOT = Path(__file__).parents[2]
PROGRAM = """
import hashlib, time
from tests.fuzz.damage import Limits, fuzz

def target(data):
    if data != b"seed":
        {0}

fuzz("dummy", target, [b"seed"], Limits({1!r}, {2!r}, {3!r}, {4!r}, seed=3))
"""


def campaign(folder: Path, does: str, seconds: float = 30.0, slowest: float = 60.0, megabytes: float = 200.0):
    """The fuzzer in a process of its own on a parser of one line: how it ended, and the names of what it kept."""
    program = PROGRAM.format(does, seconds, slowest, megabytes, f"{folder}/dummy-")
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    return done, sorted(path.name.split("-")[1] for path in folder.iterdir())


@pytest.mark.parametrize(
    ("does", "kept", "said"),
    [
        ("time.sleep(60)", "timeout", "more than 0.3 s"),
        ("while True: pass", "timeout", "more than 0.3 s"),
        ("len(b'x' * (300 << 20))", "oom", "more than 200"),
        ("len(b'x' * (4 << 30))", "crash", "MemoryError"),  # and the machine is spared
        ("raise KeyError('why')", "crash", "KeyError: 'why'"),
        ("hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)", "running", "Timeout"),  # minutes, and no alarm gets in
    ],
)
def test_what_an_input_may_not_do_ends_the_campaign_and_the_input_is_kept(tmp_path, does, kept, said):
    done, names = campaign(tmp_path, does, slowest=0.3 if kept in ("timeout", "running") else 60.0)
    assert done.returncode != 0
    assert names == [kept]
    assert said in done.stderr, done.stderr
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() != b"seed"


def test_a_good_parser_comes_through_and_nothing_is_kept(tmp_path):
    done, names = campaign(tmp_path, "pass", seconds=0.3)
    assert (done.returncode, names) == (0, []), done.stderr
    assert done.stdout == "dummy: --seed 3\n"


@pytest.mark.parametrize("catches", [Exception, BaseException])
def test_an_alarm_that_a_parser_catches_still_counts(catches):
    def parse():
        try:
            time.sleep(60)
        except catches:
            return

    with pytest.raises(TooLong), bounded(0.2, 1000):
        parse()


def test_memory_counts_from_where_it_begins():
    """Also if there was more before: the mark of that is forgotten."""
    with bounded(60, 1000):
        assert len(b"x" * (500 << 20)) == 500 << 20
    with pytest.raises(TooMuch), bounded(60, 200):
        assert len(b"x" * (300 << 20)) == 300 << 20
    with bounded(60, 200):
        assert len(b"x" * (50 << 20)) == 50 << 20


def test_every_run_has_inputs_of_its_own_unless_told(tmp_path):
    options = ["-max_total_time=1", "-timeout=2", "-rss_limit_mb=3", "-artifact_prefix=a=b-", "-other=x"]
    assert Limits.of([*options, "-seed=7"]) == (1.0, 2.0, 3.0, "a=b-", 7)
    assert Limits.of(options).seed == 0
    program = f"from tests.fuzz.damage import *; l = Limits(0, 1, 100, '{tmp_path}/x-'); fuzz('x', len, [b''], l)"
    said = [subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True) for _ in range(2)]
    assert said[0] != said[1] and all(line.startswith("x: --seed ") for line in said)
