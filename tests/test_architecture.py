"""The house's rules: which package may import which, what start-up may load, how long a file may be."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "designer": {"designer"},
    "samplers": {"samplers", "designer"},
    "app": {"app", "samplers", "designer"},
    "austerity": {"samplers", "designer"},
}
FILES = [path for package in ALLOWED for path in sorted((ROOT / package).rglob("*.py"))]
LONGEST = 500


def imported(path):
    """Top-level names of everything a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield (node.module or "").split(".")[0]


def name(path):
    return str(path.relative_to(ROOT))


def test_all_packages_are_seen():
    assert {name(path).split("/")[0] for path in FILES} == set(ALLOWED)


@pytest.mark.parametrize("path", FILES, ids=name)
def test_arrows(path):
    """app -> samplers -> designer, app -> designer; austerity, the front door, -> samplers, designer."""
    ours = set(imported(path)) & {*ALLOWED, "tests", "benchmarks", "examples"}
    assert ours <= ALLOWED[path.relative_to(ROOT).parts[0]]


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_arrow_by_path(path):
    """The product does not run the benchmarks' scripts either, which a test of imports cannot see."""
    assert "benchmarks" not in path.read_text()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_file_is_read_in_one_sitting(path):
    assert len(path.read_text().splitlines()) <= LONGEST


def test_importing_the_designer_is_light():
    code = "import sys, designer, designer.engine.walk, designer.engine.step_error; print(*sys.modules, sep='\\n')"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    loaded = set(run.stdout.split())
    assert "designer.engine.walk" in loaded
    assert loaded & {"scipy.stats", "pandas", "streamlit", "plotly", "pyarrow"} == set()
