"""What a recipe is."""

from __future__ import annotations

from typing import NamedTuple


class Recipe(NamedTuple):
    """A text to copy, its language, the file to save it in, and what to know before using it."""

    file: str
    language: str
    about: str
    code: str
