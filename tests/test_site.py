"""The site: every page has a place in its menu, and what is added to the pages is right."""

import doctest
import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from docs.site import content, notebooks
from tests.documents import FILE_NAME, ROOT, blocks, commands

PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_the_menu_has_every_page():
    (text, _, menu) = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
    assert text
    named = [page for part in yaml.safe_load(f"nav:\n{menu}")["nav"] for page in _pages(part)]
    pages = [path.name for path in (ROOT / "docs").glob("*.md")] + list(content.ELSEWHERE.values())
    assert sorted(named) == sorted([*pages, "api/index.md"])


def _pages(part):
    if isinstance(part, str):
        return [part]
    return [
        page
        for below in part.values()
        for one in ([below] if isinstance(below, str) else below)
        for page in _pages(one)
    ]


def test_the_tutorial_comes_first():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert _pages(yaml.safe_load(menu)[0])[0] == "tutorial.md"
    first = (ROOT / "docs" / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert "(tutorial.md)" in first


@pytest.mark.parametrize("module", [content, notebooks], ids=lambda module: module.__name__)
def test_examples_of_what_is_added(module):
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 3) == (0, True)


def test_every_public_name_has_a_place_in_the_reference():
    rooms = content.public_names()
    known = {path.rpartition(".")[2] for paths in rooms.values() for path in paths}
    assert {"sample", "search", "Design", "glm"} <= known
    assert all(path in content.described(room, paths) for room, paths in rooms.items() for path in paths)


@pytest.mark.parametrize("path", [path for path in PAGES if "```python" in path.read_text(encoding="utf-8")], ids=str)
def test_a_notebook_has_all_that_its_page_runs(path):
    """In the order of the page; so it runs from top to bottom, as the page does in its test."""
    text = path.read_text(encoding="utf-8")
    cells = json.loads(notebooks.notebook(text))["cells"]
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    assert code == [line for block in blocks(text) if block.reason is None for line in _run_of(block)]
    words = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    assert re.findall(r"\]\((?!https?:)[^)]*\)|<picture|<!--", words) == []  # nothing that leads nowhere
    shown = [line for block in blocks(text) if block.language == "text" for line in block.body.splitlines()]
    printed = [line for cell in cells for out in cell.get("outputs", []) for line in out["text"].splitlines()]
    assert all(line in words or line in printed for line in shown)


def _run_of(block):
    if block.language == "python":
        return [block.body.strip()]
    if block.language == "toml" and (named := FILE_NAME.match(block.body.partition("\n")[0])):
        return [f"%%writefile {named[1]}\n{block.body.strip()}"]
    return [f"!{command}" for _, command, _ in commands(block.body)] if block.language == "console" else []


def test_a_notebook_shows_what_its_page_shows():
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```console\n$ a \\\n  b\n2\n$ c\n```\n\n```text\n3\n```\n"
    cells = json.loads(notebooks.notebook(page))["cells"]
    code = [(cell["source"], "".join(out["text"] for out in cell["outputs"])) for cell in cells if "outputs" in cell]
    assert code == [("print(1)", "1\n"), ("!a b", "2\n"), ("!c", "")]
    assert cells[-1]["source"] == "```text\n3\n```"


def test_what_a_page_does_not_run_is_no_cell():
    page = "<!-- not run: needs a cluster -->\n```python\nfar()\n```\n\n```toml\n[part]\n```\n\n```sh\nmake\n```\n"
    cells = json.loads(notebooks.notebook(page))["cells"]
    assert {cell["cell_type"] for cell in cells} == {"markdown"}
    assert all(words in cells[0]["source"] for words in ("far()", "[part]", "make"))


def test_every_picture_in_two_themes_follows_the_site():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        shown = content.with_themes(text)
        assert "<picture" not in shown
        assert shown.count("#only-dark") == shown.count("#only-light") == text.count("<picture>")


def test_programs_find_every_schema():
    text = content.with_links((ROOT / "docs" / "programs.md").read_text(encoding="utf-8"), "programs.md")
    files = content.for_programs()
    assert all(f"]({place})" in text for place in files)
    assert json.loads(files["schemas/1/openapi.json"])["openapi"].startswith("3.1")
    assert {json.loads(file).get("$schema") for place, file in files.items() if "openapi" not in place} == {
        "https://json-schema.org/draft/2020-12/schema"
    }


def test_the_site_builds_without_a_warning(tmp_path):
    """Strict: every link and every anchor leads somewhere."""
    for needed in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        pytest.importorskip(needed)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    options = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 1800}
    done = subprocess.run(command, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    made = {str(path.relative_to(tmp_path / "site")) for path in (tmp_path / "site").rglob("*")}
    assert {"index.html", "tutorial.html", "notebooks/tutorial.ipynb", "schemas/1/openapi.json"} <= made
    assert "design-dark.png#only-dark" in (tmp_path / "site" / "tutorial.html").read_text(encoding="utf-8")
