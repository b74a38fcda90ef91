"""Compiled code on disk that is damaged, stale, or cannot be written: the right numbers all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.commands import finished, with_mounts

ROOT = Path(__file__).parents[3]
MODULE = "from designer.core.jit import kernel\n\n@kernel\ndef tripled(x):\n    return 3 * x\n"
DAMAGE = """
import importlib, sys, warnings
from pathlib import Path
warnings.simplefilter("error")
import kernels
assert kernels.tripled(7) == 21
files = {path: path.read_bytes() for path in Path("__pycache__").glob("kernels.tripled-*.nb?")}
assert len(files) == 2  # an index, and the code

def again():
    module = importlib.reload(kernels)
    assert module.tripled(7) == 21
    return sum(module.tripled.stats.cache_hits.values())

assert again() == 1
for path, data in files.items():
    for damage in (b"", b"garbage", data[:-1], data[: len(data) // 2], data + b"x", bytes(len(data))):
        path.write_bytes(damage)
        assert again() == 0, (path, damage[:10])
        assert again() == 1, "mended"
    for place in range(0, len(data), max(1, len(data) // 10)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        assert again() == 0, (path, place)
    again()
    path.unlink()
    assert (again(), again()) == (0, 1)
print("good")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kernels.py").write_text(MODULE)
    return tmp_path


def python(folder, program, *, within=(), **more):
    """What a program says that finds the kernels in the folder; what goes wrong is told."""
    env = os.environ | {"PYTHONPATH": f"{ROOT}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"} | more
    env.pop("NUMBA_CACHE_DIR", None)
    command = [*within, sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


def test_damaged_files_are_never_believed(folder):
    """Truncated, garbage, one bit flipped, in the index and in the machine code: compiled anew, without a word."""
    ended = python(folder, DAMAGE)
    assert (ended.stdout, ended.stderr) == ("good\n", "")


KILLED_BETWEEN = """
import os, signal
from designer.core import numba_cache as _kept
_kept._Files._save_data = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
import kernels
kernels.tripled(7)
"""


def test_a_kill_between_index_and_code_does_not_bring_old_code_back(folder):
    """Numba writes the new index before the new code; the old code is still there under the same name."""
    count = "import kernels; print(kernels.tripled(7), sum(kernels.tripled.stats.cache_hits.values()))"
    assert python(folder, count).stdout == "21 0\n"
    assert python(folder, count).stdout == "21 1\n"
    (folder / "kernels.py").write_text(MODULE.replace("3 * x", "4 * x"))
    assert python(folder, KILLED_BETWEEN).returncode == -signal.SIGKILL
    assert len(list((folder / "__pycache__").glob("*.nb?"))) == 2
    ended = python(folder, count)
    assert (ended.stdout, ended.stderr) == ("28 0\n", "")


MOVED = """
import kernels
from {place} import Record
print(kernels.first(Record(5.0)), sum(kernels.first.stats.cache_hits.values()))
"""


def test_code_for_a_record_that_has_moved_is_made_anew(folder):
    """The kernel's own sources are as they were: what it was called with is known to the index alone."""
    record = "from typing import NamedTuple\n\nclass Record(NamedTuple):\n    value: float\n"
    (folder / "kernels.py").write_text(MODULE + "\n@kernel\ndef first(record):\n    return record[0]\n")
    (folder / "here.py").write_text(record)
    assert python(folder, MOVED.format(place="here")).stdout == "5.0 0\n"
    assert python(folder, MOVED.format(place="here")).stdout == "5.0 1\n"
    (folder / "here.py").write_text("")
    (folder / "there.py").write_text(record)
    ended = python(folder, MOVED.format(place="there"))
    assert (ended.stdout, ended.stderr) == ("5.0 0\n", "")
    assert python(folder, MOVED.format(place="there")).stdout == "5.0 1\n"


TWO = "import kernels; from samplers.decide import _permutation; print(kernels.tripled(7))"


def test_a_read_only_installation_works_with_one_warning(folder):
    """Everything mounted read-only: neither beside the code nor at home can anything be kept."""
    within = with_mounts('mount -o remount,bind,ro /; exec "$@"')
    ended = python(folder, TWO, within=within, HOME=str(folder), XDG_CACHE_HOME=str(folder))
    assert ended.stdout == "21\n", ended.stderr
    assert ended.stderr.count("Warning: compiled code cannot be cached, so every start compiles it again") == 1
    assert ended.stderr.count("Warning") == 1
    assert not (folder / "__pycache__").exists()


def test_a_user_who_may_write_nowhere_gets_one_warning():
    """As nobody, whose home does not exist."""
    within = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "kernels.py").write_text(MODULE)
        reads = f"import numba; open({str(folder / 'kernels.py')!r}); open({str(ROOT / 'designer' / '_jit.py')!r})"
        if os.getuid() != 0 or finished([*within, sys.executable, "-c", reads]).returncode:
            pytest.skip("NOT TESTED as another user: that needs root, setpriv, and files that others may read")
        ended = python(folder, TWO, within=within, HOME="/nonexistent")
    assert ended.stdout == "21\n", ended.stderr
    assert ended.stderr.count("Warning") == 1
    assert "NUMBA_CACHE_DIR" in ended.stderr


FULL = """
import resource, warnings
import kernels
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
print(kernels.tripled(7), kernels.tripled(7.5))
"""


def test_a_disk_that_is_full_when_code_is_to_be_kept(folder):
    ended = python(folder, FULL)
    assert ended.stdout == "21 22.5\n", ended.stderr
    assert ended.stderr.count("Warning: compiled code cannot be cached") == 1
    assert "File too large" in ended.stderr
    assert [path.name for path in folder.rglob("*.tmp*")] == []
