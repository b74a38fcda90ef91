"""What holds for every experiment: sizes, texts, part names that are file names everywhere, known data sets."""

from __future__ import annotations

import re
import unicodedata

import pytest

from designer.core.errors import BadInput
from samplers.data.sources import NAMES as DATA_SETS
from samplers.experiments import NAMES, experiment

EVERY = [pytest.param(name, id=name) for name in NAMES]
FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]')  # on Windows; others forbid less
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@pytest.mark.parametrize("name", EVERY)
def test_it_says_what_it_is(name):
    found = experiment(name)
    assert found.name == name
    assert list(found.sizes) in (["tiny", "quick", "full"], ["tiny", "quick", "full", "paper"])
    assert len({type(settings) for settings in found.sizes.values()}) == 1
    assert all(text.strip() and "\n" not in text for text in (found.title, found.source, found.question))
    assert found.question.endswith("?")
    assert set(found.data) <= set(DATA_SETS)


@pytest.mark.parametrize("name", EVERY)
def test_settings_are_plain(name):
    """They are written to JSON, and their text is part of what identifies a stored part."""

    def plain(value):
        return isinstance(value, (int, float, str, type(None))) or (
            isinstance(value, tuple) and all(plain(entry) for entry in value)
        )

    assert all(plain(settings) for settings in experiment(name).sizes.values())


@pytest.mark.parametrize("name", EVERY)
def test_parts_are_files(name):
    """Unique also where case and Unicode forms are one, and nothing that any system refuses as NAME.npz."""
    found = experiment(name)
    for settings in found.sizes.values():
        parts = list(found.parts(settings))
        assert parts
        assert len({unicodedata.normalize("NFD", part).casefold() for part in parts}) == len(parts)
        for part in parts:
            file = f"{part}.npz"
            assert not FORBIDDEN.search(file) and not RESERVED.fullmatch(part)
            assert part == part.strip() and part[0] not in ".-~" and len(file.encode()) < 200
            assert list(found.parts(settings)) == parts


def test_an_unknown_name_is_refused():
    with pytest.raises(BadInput, match="e13"):
        experiment("e14")
