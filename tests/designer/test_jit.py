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


KERNELS = {
    "inner.py": "from designer._jit import kernel\n\n@kernel\ndef inner(x):\n    return 1 * x\n",
    "records.py": "from typing import NamedTuple\n\nSHIFT = 0\n\nclass Pair(NamedTuple):\n    a: float\n",
    "middle.py": "from designer._jit import kernel_with\nfrom inner import inner\n\n"
    "@kernel_with(fastmath={'contract'})\ndef middle(x):\n    return inner(x)\n",
    "outer.py": "from designer._jit import kernel\nfrom middle import middle\nfrom records import SHIFT, Pair\n\n"
    "@kernel\ndef outer(x):\n    return middle(x) + SHIFT\n\nprint(outer(7), sum(outer.stats.cache_hits.values()))\n",
}


def test_compiled_code_is_made_anew_when_a_file_that_it_uses_has_changed(tmp_path):
    for name, text in KERNELS.items():
        (tmp_path / name).write_text(text)

    def printed() -> str:
        command = [sys.executable, "-c", "import outer"]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
        return found.stdout.strip()

    assert printed() == "7 0"
    assert printed() == "7 1"  # kept
    (tmp_path / "inner.py").write_text(KERNELS["inner.py"].replace("1 * x", "2 * x"))
    assert printed() == "14 0"
    (tmp_path / "records.py").write_text(KERNELS["records.py"].replace("SHIFT = 0", "SHIFT = 5"))
    assert printed() == "19 0"
    assert printed() == "19 1"
