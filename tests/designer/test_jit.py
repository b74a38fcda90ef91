"""Compiled code with and without a place to keep it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import designer._jit as jit

PROGRAM = """
import importlib.util
spec = importlib.util.spec_from_file_location("jit", {path!r})
jit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(jit)
def twice(x):
    return 2 * x
print(jit.kernel(twice)(21) if not jit.JIT["cache"] else "kept")
"""


@pytest.mark.parametrize("writable", [True, False])
def test_works_with_a_warning_where_nothing_can_be_written(tmp_path, writable):
    copy = tmp_path / "_jit.py"
    copy.write_text(Path(jit.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    blocked = tmp_path / "file"
    blocked.touch()
    (tmp_path / "__pycache__").touch()  # a file where the directory would be
    places = dict.fromkeys(
        ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), str(tmp_path / "new" if writable else blocked)
    )
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(path=str(copy))],
        env=os.environ | places,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.stdout.strip() == ("kept" if writable else "42"), found.stderr
    assert ("compiled code cannot be kept" in found.stderr) == (not writable)
    assert ("NUMBA_CACHE_DIR" in found.stderr) == (not writable)
