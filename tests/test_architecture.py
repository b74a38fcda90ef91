"""The house's rules: which package may import which, what start-up may load, how long a file may be."""

import ast
import subprocess
import sys
from collections import Counter
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
MOST_MODULES = 20  # in one folder
ROOMS = {  # of each package, from the ground up: a room imports only the rooms before it
    "designer": ["core", "rule", "pairs", "engine", "check", "search", "further", "plotdata"],
    "samplers": [
        *("data", "decide", "models", "proposals", "compiled", "chains", "fit"),
        *("config", "study", "adapt", "runs", "flow", "experiments", "cluster"),
    ],
    "app": ["league", "figures", "dashboard", "cli"],
}
UPWARD = {  # the only exceptions; add none
    "designer": {("rule", "pairs"), ("pairs", "engine"), ("pairs", "check"), ("pairs", "search")},
    "samplers": {("data", "models"), ("data", "config"), ("models", "compiled"), ("study", "runs")},
    "app": set(),
}


def imported(path):
    """Dotted names of everything a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(package):
    """(room, room it imports) of all modules of a package, except for the names that the package itself exports."""
    for path in (ROOT / package).rglob("*.py"):
        room = path.relative_to(ROOT / package).parts[0].removesuffix(".py")
        for first, *rest in (module.split(".") for module in imported(path)):
            if first == package and rest[0] in ROOMS[package] and room not in ("__init__", rest[0]):
                yield room, rest[0]


def name(path):
    return str(path.relative_to(ROOT))


def test_all_packages_are_seen():
    assert {name(path).split("/")[0] for path in FILES} == set(ALLOWED)


@pytest.mark.parametrize("path", FILES, ids=name)
def test_arrows(path):
    """app -> samplers -> designer, app -> designer; austerity, the front door, -> samplers, designer."""
    ours = {module.split(".")[0] for module in imported(path)} & {*ALLOWED, "tests", "benchmarks", "examples"}
    assert ours <= ALLOWED[path.relative_to(ROOT).parts[0]]


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_arrow_by_path(path):
    """The product does not run the benchmarks' scripts either, which a test of imports cannot see."""
    assert "benchmarks" not in path.read_text()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_file_is_read_in_one_sitting(path):
    assert len(path.read_text().splitlines()) <= LONGEST


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_import_the_rooms_below_them(package):
    order = ROOMS[package]
    folders = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    modules = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}
    assert set(order) == folders | modules
    upward = {(room, other) for room, other in rooms_imported(package) if order.index(other) > order.index(room)}
    assert upward == UPWARD[package]


def test_no_folder_is_crowded():
    modules = Counter(name(path.parent) for path in FILES if path.name != "__init__.py")
    assert {folder: count for folder, count in modules.items() if count > MOST_MODULES} == {}


def test_importing_the_designer_is_light():
    code = "import sys, designer, designer.engine.walk, designer.engine.step_error; print(*sys.modules, sep='\\n')"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    loaded = set(run.stdout.split())
    assert "designer.engine.walk" in loaded
    assert loaded & {"scipy.stats", "pandas", "streamlit", "plotly", "pyarrow"} == set()
