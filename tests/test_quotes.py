"""Figures that README and docs quote from a benchmark are in its section of benchmarks/RESULTS.md.

A row of a table, or a paragraph of a page and the table after it, that names `python -m benchmarks SECTION`, or the
module of a section, quotes that section. Two commands measure what no section holds.
Each of its numbers with two digits or more must be one of the section's, rounded, or the same in percent or in
thousandths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from benchmarks.__main__ import BY_MODULE, RESULTS, SECTIONS, sections_of
from tests.documents import ROOT

MEASURED = sections_of(RESULTS.read_text(encoding="utf-8"))
NO_SECTION = ("trust --size 1000000", ".reliability.visits")
QUOTE = re.compile(r"python -m benchmarks(?:\.([a-z_.]+[a-z])| ([a-z_]+))([^`\n]*)")
STAMP = re.compile(r"^\d{4}-\d\d-\d\d, .*, Python .*$", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.,^])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+(?:e-?\d+)?)")
SCALES = (1.0, 100.0, 0.01, 1000.0, 0.001)


def numbers(text: str) -> list[str]:
    """Numbers of a text, without code and addresses."""
    plain = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", text)
    return [found.replace(",", "") for found in NUMBER.findall(plain)]


def rounding(number: str) -> float:
    """Half a unit of the last digit that is given; zeros at the end of a large number may be rounded."""
    mantissa, _, power = number.partition("e")
    if "." in mantissa:
        return 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    zeros = len(mantissa) - len(mantissa.rstrip("0")) if len(mantissa) > 2 else 0
    return 0.5 * 10.0 ** (int(power or 0) + zeros)


def missing(text: str, section: str) -> list[str]:
    """The numbers of a text that a section does not hold; date and versions are none of its figures."""
    known = [scale * float(number) for number in numbers(STAMP.sub("", section)) for scale in SCALES]
    asked = [number for number in numbers(text) if len(number.replace(".", "").lstrip("0")) >= 2]
    return [
        number for number in asked if not any(abs(float(number) - one) <= 1.001 * rounding(number) for one in known)
    ]


def quoted(text: str) -> list[str]:
    """The sections that a text names."""
    found = []
    for module, name, options in QUOTE.findall(text):
        if f"{'.' * bool(module)}{module or name}{options}" not in NO_SECTION:
            found.append(BY_MODULE[module] if module else name)
    return found


def quotes() -> Iterator[tuple[str, str, str]]:
    """(page, section, text) of everything that quotes a section."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        named: list[str] = []  # by the paragraph before a table, which quotes the same section
        for block in page.read_text(encoding="utf-8").split("\n\n"):
            is_table = block.startswith("|")
            for text in block.splitlines() if is_table else [block]:
                for name in quoted(text) or (named if is_table else []):
                    yield page.name, name, text
            named = [] if is_table else quoted(block)


def test_commands_name_sections():
    assert set(BY_MODULE.values()) == set(SECTIONS)
    assert quoted("`python -m benchmarks trust` and `python -m benchmarks.search.steps --draws 8000`") == [
        "trust",
        "steps",
    ]
    assert quoted("(`python -m benchmarks trust --size 1000000`)") == []
    assert {name for _, name, _ in quotes()} <= set(SECTIONS)


@pytest.mark.parametrize(("page", "section", "text"), list(quotes()), ids=lambda value: value[:20])
def test_quoted_figures_were_measured(page, section, text):
    assert section in MEASURED, f"`python -m benchmarks {section}` has not been run"
    assert missing(text, MEASURED[section]) == [], text


def test_a_figure_that_no_section_holds_is_found():
    section = "| 116,758.4 | 0.0153 | 1.25 ms | 3e-09 |"
    assert missing("116,758 steps/s reading 1.5% of the data in 1.3 ms, off by 3e-09", section) == []
    assert missing("Python 3.11", "2026-11-18, AMD EPYC, 2 cores, Python 3.11.7, numpy 2.4.6.") == ["3.11"]
    assert missing("117,000 steps/s, 1.6%", section) == ["1.6"]
    assert missing("116,759 steps/s (`m = 512`, see [page](x99.md))", section) == ["116759"]
