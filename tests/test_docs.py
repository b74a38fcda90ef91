"""The docs are true: their code runs and prints what they show, and their links and names exist."""

from __future__ import annotations

import doctest
import importlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from designer.core.validation import kinds_of
from docs import make_experiments
from samplers.config import schema as tables
from samplers.config.fit_config import FitTable
from tests import documents
from tests.documents import ROOT, Page, WrongPage, blocks, pages

NOT_RUN = {  # how many blocks of a page carry the marker: think twice before adding one
    "README.md": 1,
    "CONTRIBUTING.md": 1,
    "docs/cluster.md": 3,
    "docs/operation.md": 5,  # for a shell that serves, nginx (a test runs a real one), systemd, docker, Prometheus
    "docs/experiments.md": 13,  # each takes a minute to hours; the tests of the experiments run small ones
    "docs/programs.md": 1,  # needs a running server; the tests of it send the same requests
    "docs/pymc_stan_numpyro.md": 3,
    "docs/twelve_models.md": 1,
}
FOLDERS = ("app", "austerity", "benchmarks", "designer", "docs", "examples", "samplers", "tests")
MODULES = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
LINK = re.compile(r"(?:\]\(|src=\"|srcset=\")([^)\s\"]+)[)\"]")  # pictures for light and dark are HTML
NAME = re.compile(r"`((?:au|austerity|designer|samplers|app|benchmarks|tests)(?:\.\w+)+)(?:\([^`]*\))?`")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(path: Path) -> str:
    """A page without its blocks."""
    return documents.BLOCK.sub("", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", pages(), ids=name)
def test_code_runs_and_prints_what_is_shown(path, tmp_path):
    Page(path, tmp_path).verify()


@pytest.mark.parametrize("path", [page for page in pages() if page.name != "experiments.md"], ids=name)
def test_the_text_uses_the_terms_of_the_glossary(path):
    """Symbols and terms in running text; code and output keep their own spelling."""
    text = re.sub(r"`[^`]*`", "", prose(path))
    assert (
        re.findall(r"\bDelta\b|\btheta\b|\bl_i\b|\bminibatch|\bwarmup\b|\bfused\b|\banew\b|\bone's own\b", text) == []
    )


def test_few_blocks_are_not_run():
    marked = {name(path): [b.reason for b in blocks(path.read_text(encoding="utf-8")) if b.reason] for path in pages()}
    assert {page: len(reasons) for page, reasons in marked.items() if reasons} == NOT_RUN


@pytest.mark.parametrize("path", pages(), ids=name)
def test_links_lead_somewhere(path):
    for link in LINK.findall(prose(path)):
        target, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), link
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), link


def anchors(text: str) -> set[str]:
    """Anchors of a page: its headings as GitHub spells them, and explicit ones."""
    headings = re.findall(r"^#+ (.+)$", documents.BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(
        re.findall(r'<a id="([^"]+)">', text)
    )


def test_every_picture_is_shown():
    where = [*pages(), ROOT / "benchmarks" / "RESULTS.md"]
    shown = {(path.parent / link).resolve() for path in where for link in LINK.findall(prose(path))}
    assert {*(ROOT / "docs" / "pictures").rglob("*.png")} - shown == set()


def test_the_index_has_every_page():
    index = ROOT / "docs" / "README.md"
    listed = prose(index).partition("## All pages")[2].partition("## By question")[0]
    linked = Counter((index.parent / link).resolve() for link in LINK.findall(listed))
    assert {path for path in pages() if linked[path.resolve()] == 0} == {index}
    assert max(linked[path.resolve()] for path in pages() if path.parent == index.parent) == 1


PRINTED = {  # words in the answers, apart from the labels of their lines
    "run": ("acceptance", "data per step", "steps in", "mcse", "ess_bulk", "ess_tail", "r_hat"),
    "audit": ("audited steps", "by normal theory", "at most", "within", "would have been noticed", "largest bias"),
    "certify": ("certified", "wish", "passes", "effective exact draws", "mean off, sd", "sd off", "distance at most"),
}


def test_the_glossary_explains_what_is_printed():
    """The tutorial shows what commands print, and running it proves that they do."""
    shown: dict[str, str] = {}
    for block in blocks((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")):
        for _, command, output in documents.commands(block.body) if block.language == "console" else []:
            shown[command.split()[1]] = shown.get(command.split()[1], "") + output
    labels = {re.sub(r" \(\w+\)$", " (", label) for label in re.findall(r"^(\S.*?)  +\S", shown["design"], re.M)}
    assert {"error (", "mean |Δ|", "source"} <= labels
    assert [word for command, words in PRINTED.items() for word in words if word not in shown[command]] == []
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## Glossary")[0].replace("\\|", "|")
    assert [
        word for word in (*labels, *(word for words in PRINTED.values() for word in words)) if word not in text
    ] == []


@pytest.mark.parametrize("path", pages(), ids=name)
def test_names_in_the_text_exist(path):
    for dotted in NAME.findall(prose(path)):
        assert exists(dotted), dotted


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module or a name in one; `au` stands for the front door, `austerity`."""
    parts = ["austerity" if part == "au" else part for part in dotted.split(".")]
    for count in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return part in getattr(found, "__annotations__", {})
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("path", pages(), ids=name)
def test_modules_in_the_text_exist(path):
    for file in re.findall(r"`([\w/]+\.py)`", prose(path)):
        assert any(f"/{module}".endswith(f"/{file}") for module in MODULES), file


@pytest.mark.parametrize("path", pages(), ids=name)
def test_folders_in_the_text_exist(path):
    for folder in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w/]*)`", prose(path)):
        assert (ROOT / folder).is_dir(), folder


def test_every_room_is_on_the_map():
    """The tree at the top of CONTRIBUTING.md has every sub-package, and every row of its table leads to a room."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree, table = blocks(text)[0].body, text.partition("| a line that … |")[2].partition("\n\n")[0]
    drawn, package = set(), ""
    for line in tree.splitlines():
        package = package if line.startswith(" ") else line.split("/")[0]
        drawn |= {f"{package}/{line.split('/')[0].strip()}"} if line.startswith(" ") and "/ " in line else set()
    rooms = {
        path.parent.relative_to(ROOT).as_posix()
        for package in ("app", "designer", "samplers")
        for path in (ROOT / package).glob("*/__init__.py")
    }
    assert drawn == rooms
    assert {room for room in rooms if f"`{room}/" not in table} == set()
    assert {room for room in rooms if not (ROOT / "tests" / room).is_dir()} <= {"app/figures"}  # tested by the pages


def equations() -> list[tuple[str, list[str], list[str]]]:
    """Rows of docs/equations.md: equation, functions, tests."""
    text = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ") and "`" in line]
    return [(row[0], re.findall(r"`([\w.]+)", row[2]), re.findall(r"`([\w.]+)`", row[3])) for row in rows]


@pytest.mark.parametrize(("equation", "functions", "tests"), equations())
def test_an_equation_has_its_function_and_its_test(equation, functions, tests):
    assert functions and tests
    assert [function for function in functions if not exists(function)] == []
    files = {file: [*(ROOT / "tests").rglob(file)] for file in tests}
    assert all(files.values()), files
    text = "".join(path.read_text(encoding="utf-8") for paths in files.values() for path in paths)
    assert any(re.search(rf"\b{function.rpartition('.')[2]}\b", text) for function in functions), "named by no test"


def test_there_are_equations():
    assert len(equations()) >= 30


def test_the_page_of_configs_has_every_entry():
    text = (ROOT / "docs" / "configs.md").read_text(encoding="utf-8")
    kinds = kinds_of(tables.ModelTable) | kinds_of(tables.ProposalTable) | kinds_of(tables.TestTable)
    others = (tables.DataTable, tables.RunTable, tables.RedesignTable, FitTable)
    entries = {entry for table in (*kinds.values(), *others) for entry in table.model_fields}
    words = set(re.findall(r"[\w-]+", text))
    assert sorted({*kinds, *entries} - words) == []


def test_each_measured_figure_names_a_command_that_exists():
    from benchmarks.__main__ import SECTIONS

    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    table = text.partition("| what | measured | command |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(table) >= 5
    for row in table:
        command = row.rsplit("|", 2)[1].strip().strip("`")
        section = re.search(r"python -m benchmarks (\w+)$", command)
        assert section[1] in SECTIONS if section else command.startswith("austerity experiment "), row


def test_examples_of_the_helpers():
    for module in (documents, make_experiments):
        result = doctest.testmod(module)
        assert result.attempted and not result.failed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "really:\n1"),
        (
            "```console\n$ austerity evaluate --n-data 9 --m 3 --epsilon 0.1\nnothing\n```\n",
            "does not show what is printed",
        ),
        ("```console\n$ austerity evaluate --n-data 1 --m 3 --epsilon 0.1\n```\n", "exit code 2"),
        ("```console\n$ rm file\n```\n", "pages call"),
        ("```sh\nls\n```\n", "neither run nor marked"),
        ("```\nls\n```\n", "neither run nor marked"),
    ],
)
def test_a_false_page_fails(text, message, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(text)
    with pytest.raises(WrongPage) as caught:
        Page(path, tmp_path).verify()
    assert message in str(caught.value)


def test_repairing_a_page_makes_it_true(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "```python\nprint(1)\n```\n\n```text\n2\n```\n\n```console\n$ austerity --help\nx\n$ cat a.txt\n?\n```\n"
    )
    path.write_text(path.read_text().replace("$ austerity --help\nx\n", ""))
    (tmp_path / "a.txt").write_text("three\n")
    page = Page(path, tmp_path)
    page.run()
    assert page.repaired() == "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```console\n$ cat a.txt\nthree\n```\n"


@pytest.mark.parametrize(
    "text",
    [
        '```toml\n[proposal]\nkind = "no such"\n```\n',
        "<!-- not run: long -->\n```python\nfrom designer import nothing\n```\n",
    ],
)
def test_bad_configs_and_names_fail(text, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(text)
    with pytest.raises((AssertionError, ValueError)):
        Page(path, tmp_path).run()
