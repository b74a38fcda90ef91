"""TOML and JSON texts that people hand in, of bounded size and depth, and values as TOML writes them."""

from __future__ import annotations

import json
import os
import re
import tomllib
from typing import Any

from designer.core.errors import BadInput
from designer.core.files import shorten

MAX_TEXT = 2**20

# The parser takes time quadratic in the parts of a dotted key, so that a short text could keep it busy for hours.
_DEEP_KEY = re.compile(r"""(?<![\w\\-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text in a file, no more of it than shows a parser that it is too long (or endless, as /dev/zero is)."""
    with open(path, encoding="utf-8") as file:
        return file.read(MAX_TEXT + 1)


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text, or BadInput saying where it is broken."""
    document: dict[str, Any] = _parse("TOML", text)
    return document


def parse_json(text: str) -> Any:
    """What a JSON text holds, or BadInput saying where it is broken; no key may appear twice."""
    return _parse("JSON", text)


def toml_value(value: str | float | tuple[float, ...]) -> str:
    """A printable text, a number or numbers as TOML writes them, exactly."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(repr, value))}]"
    # Texts here are printable, so JSON's escapes are TOML's; repr gives back the very same float.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _parse(language: str, text: str) -> Any:
    if not isinstance(text, str):
        raise BadInput(f"{language} must be given as text, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise BadInput(f"{language} of more than {MAX_TEXT:,} characters: too long for a design or a config")
    text = text.removeprefix("\ufeff")
    try:
        if language == "JSON":
            return json.loads(text, object_pairs_hook=_unique)
        if _DEEP_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except RecursionError:
        raise BadInput(f"broken {language}: nested too deeply") from None
    except ValueError as error:
        raise BadInput(f"broken {language}: {shorten(str(error), 200)}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"key {shorten(key)} appears twice")
        table[key] = value
    return table
