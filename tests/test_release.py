"""Wheel and sdist, built from the tree and unpacked elsewhere, are whole: they run without the tree.

The environment that installs them has nothing but pip; the dependencies are lent by the one that runs the tests.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest
import yaml

ROOT = Path(__file__).parent.parent
IN_THE_WHEEL = (
    "app/dashboard/pages/method.md",
    "app/dashboard/export/report.html.jinja",
    "app/dashboard/widgets/static/figure.js",
    "app/dashboard/widgets/static/plotly-basic.min.js",
    "app/dashboard/widgets/static/plotly-basic.LICENSE",
    "designer/check/reference.csv",
    "designer/pairs/examples/__init__.py",
    "designer/py.typed",
    "samplers/py.typed",
    "app/py.typed",
)
IN_THE_SDIST = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "Makefile", "tests/naive.py")
OF_THE_REPOSITORY_ONLY = (".ci/", ".github/", ".dockerignore", ".pre-commit-config.yaml")

pytestmark = pytest.mark.xdist_group("release")


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=1800, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The two files, from a copy of what is under version control or would be."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the package, is not installed")
    target = tmp_path_factory.mktemp("dist")
    hook = f"from hatchling import build; print(build.build_wheel({str(target)!r}), build.build_sdist({str(target)!r}))"
    wheel, sdist = run(sys.executable, "-c", hook, cwd=ROOT).split()[-2:]
    return target / wheel, target / sdist


def test_there_is_one_version(built):
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert version("austerity") == stated
    assert built[0].name.startswith(f"austerity-{stated}-")
    assert built[1].name == f"austerity-{stated}.tar.gz"
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == stated
    assert f"\n## {stated} – {cited['date-released']}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'{{% set version = "{stated}" %}}' in (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")


def test_the_conda_recipe_has_the_same_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    run_part = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    python, *others = [line.removeprefix("    - ").replace(" ", "", 1) for line in run_part.splitlines()]
    assert others == [stated for stated in project["dependencies"] if ";" not in stated]  # markers are for wheels
    assert f'{{% set python_min = "{project["requires-python"].removeprefix(">=")}" %}}' in recipe
    assert python == "python>={{ python_min }}"


def test_hooks_have_the_versions_of_make_lint():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = dict(one.split("==") for one in stated["optional-dependencies"]["test"] if "==" in one)
    path = ROOT / ".pre-commit-config.yaml"
    if not path.exists():
        pytest.skip("the sdist has no hooks")
    hooks = {
        repo["repo"].rpartition("/")[2]: repo for repo in yaml.safe_load(path.read_text(encoding="utf-8"))["repos"]
    }
    assert hooks["ruff-pre-commit"]["rev"] == f"v{pinned['ruff']}"
    assert hooks["mirrors-mypy"]["rev"] == f"v{pinned['mypy']}"
    typed = {"arviz-base", "arviz-stats", "jinja2", "numpy", "pydantic", "starlette", "streamlit", "tomli-w", "uvicorn"}
    assert {*typed, "xarray"} == set(hooks["mirrors-mypy"]["hooks"][0]["additional_dependencies"])


def test_the_wheel_has_every_file_that_the_product_reads(built):
    with zipfile.ZipFile(built[0]) as archive:
        names = set(archive.namelist())
    assert [name for name in IN_THE_WHEEL if name not in names] == []
    tree = [path for package in ("app", "designer", "samplers") for path in (ROOT / package).rglob("*")]
    read = [path for path in tree if path.is_file() and path.suffix not in {".pyc", ".nbi", ".nbc", ".tmp"}]
    assert {str(path.relative_to(ROOT)) for path in read} <= names
    assert not any(name.startswith(("tests/", "benchmarks/", "docs/")) for name in names)


def test_the_sdist_has_tests_and_docs(built):
    assert [name for name in IN_THE_SDIST if name not in unpacked_names(built[1])] == []


def unpacked_names(sdist):
    with tarfile.open(sdist) as archive:
        return {member.name.partition("/")[2] for member in archive.getmembers() if not member.isdir()}


def known_to_git(*which_files):
    if which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a clone of the repository")
    listed = run("git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--exclude-standard", *which_files, cwd=ROOT)
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def test_the_sdist_is_the_repository_and_nothing_else(built):
    packed = unpacked_names(built[1])
    tracked = {name for name in known_to_git("--cached") if not name.startswith(OF_THE_REPOSITORY_ONLY)}
    assert tracked - packed == set()
    assert packed - tracked - known_to_git("--others") == {"PKG-INFO"}  # others: files that are not committed yet


def test_the_wheel_has_no_stray_file(built):
    with zipfile.ZipFile(built[0]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        licences = {name.partition("/licenses/")[2] for name in archive.namelist() if "/licenses/" in name}
    assert licences == {"LICENSE", "app/dashboard/widgets/static/plotly-basic.LICENSE"}
    assert {name.partition("/")[0] for name in names} == {"app", "austerity", "designer", "samplers"}
    assert names - known_to_git("--cached", "--others") == set()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_built_runs_in_a_clean_environment(built, kind, tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    inside = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "--quiet", "--no-deps")
    lent = inside / "lent.pth"  # after the packages themselves, so that the installed one is found first
    lent.write_text(sysconfig.get_path("purelib") + "\n")
    run(*pip, "--no-index", "--no-build-isolation", built[0] if kind == "wheel" else built[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    options = {"cwd": tmp_path, "env": environment | {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}}
    where = run(
        home / "bin" / "python", "-c", "import app, designer; print(app.__file__, designer.__file__)", **options
    )
    assert all(Path(path).is_relative_to(inside) for path in where.split())
    for name in ("app", "designer", "samplers"):  # in somebody's folder, from which the command is called
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the current folder was imported')\n")
    assert run(home / "bin" / "austerity", "--version", **options) == f"austerity {version('austerity')}\n"
    if kind == "wheel":  # compiles the kernels: once is enough
        assert "all checks passed" in run(home / "bin" / "austerity", "selfcheck", **options)
