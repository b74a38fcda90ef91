"""Compiled code with and without a place to keep it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import designer.core.jit as jit

PROGRAM = """
import importlib.util
spec = importlib.util.spec_from_file_location("jit", {path!r})
jit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(jit)
from doubled import twice
twice = jit.kernel(twice)
print(twice(21), "kept" if twice._cache.cache_path else "not kept")
"""


@pytest.mark.parametrize("writable", [True, False])
def test_works_with_a_warning_where_nothing_can_be_written(tmp_path, writable):
    copy = tmp_path / "_jit.py"
    copy.write_text(Path(jit.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "doubled.py").write_text("def twice(x):\n    return 2 * x\n")
    blocked = tmp_path / "file"
    blocked.touch()
    (tmp_path / "__pycache__").touch()  # a file where the directory would be
    places = dict.fromkeys(
        ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), str(tmp_path / "new" if writable else blocked)
    )
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(path=str(copy))],
        env=os.environ | places | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.stdout.strip() == ("42 kept" if writable else "42 not kept"), found.stderr
    assert ("compiled code cannot be cached" in found.stderr) == (not writable)
    assert ("NUMBA_CACHE_DIR" in found.stderr) == (not writable)


KERNELS = {
    "__init__.py": "",
    "inner.py": "from designer.core.jit import kernel\n\n@kernel\ndef inner(x):\n    return 1 * x\n",
    "records.py": "from typing import NamedTuple\n\nSHIFT = 0\n\nclass Pair(NamedTuple):\n    a: float\n",
    "chosen.py": "from numba.extending import overload\n\ndef chosen(x): ...\n\n"
    "@overload(chosen)\ndef _chosen(x):\n    return lambda x: x + 100\n",
    "middle.py": "from designer.core.jit import kernel_with\nfrom many.inner import inner\n\n"
    "@kernel_with(fastmath={'contract'})\ndef middle(x):\n    return inner(x)\n",
    "outer.py": "from designer.core.jit import kernel\nfrom many.chosen import chosen\nfrom many.middle import middle\n"
    "from many.records import SHIFT, Pair\n\n@kernel\ndef outer(x):\n    return chosen(middle(x)) + SHIFT\n\n"
    "print(outer(7), sum(outer.stats.cache_hits.values()))\n",
}


def test_compiled_code_is_made_anew_when_a_file_that_it_uses_has_changed(tmp_path):
    package = tmp_path / "many"
    package.mkdir()
    for name, text in KERNELS.items():
        (package / name).write_text(text)

    def change(name: str, old: str, new: str) -> None:
        (package / name).write_text(KERNELS[name].replace(old, new))

    def printed() -> str:
        command = [sys.executable, "-c", "import many.outer"]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
        return found.stdout.strip()

    assert printed() == "107 0"
    assert printed() == "107 1"  # kept
    change("inner.py", "1 * x", "2 * x")
    assert printed() == "114 0"
    change("records.py", "SHIFT = 0", "SHIFT = 5")
    assert printed() == "119 0"
    change("chosen.py", "100", "200")
    assert printed() == "219 0"
    assert printed() == "219 1"
