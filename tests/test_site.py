"""The site: every page has a place in its menu, and what is added to the pages is right."""

import doctest
import json

import pytest
import yaml

from docs.site import content
from tests.documents import ROOT, blocks


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


def test_examples_of_what_is_added():
    failed, tried = doctest.testmod(content)
    assert (failed, tried > 3) == (0, True)


def test_every_public_name_has_a_place_in_the_reference():
    rooms = content.public_names()
    known = {path.rpartition(".")[2] for paths in rooms.values() for path in paths}
    assert {"sample", "search", "Design", "glm"} <= known
    assert all(path in content.described(room, paths) for room, paths in rooms.items() for path in paths)


@pytest.mark.parametrize("name", ["tutorial", "jax"])
def test_a_notebook_has_the_code_of_its_page(name):
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    cells = json.loads(content.notebook(text))["cells"]
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.body.strip() for block in blocks(text) if block.language == "python"]
