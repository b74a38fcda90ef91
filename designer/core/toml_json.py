"""Read TOML and JSON text of bounded size and depth; write TOML."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from designer.core.errors import BadInput
from designer.core.files import shorten

MAX_TEXT = 2**20

# The parser takes quadratic time in the number of parts of a dotted key: a short text could keep it busy for hours.
_DEEP_KEY = re.compile(r"""(?<![\w\\-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file; of one that is too long (or endless, like /dev/zero) only as much as shows that."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(MAX_TEXT + 1)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or shorten(error, 100)}") from None
    except UnicodeDecodeError:
        raise BadInput("cannot be read: not UTF-8") from None
    except ValueError:
        raise BadInput("cannot be read: the name contains a null character") from None


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; BadInput says where it is broken."""
    document: dict[str, Any] = _parse("TOML", text)
    return document


def parse_json(text: str) -> Any:
    """The value of a JSON text; BadInput says where it is broken. No key may appear twice."""
    return _parse("JSON", text)


def toml_text(document: Mapping[str, Any]) -> str:
    """A document as TOML text, which gives back every number exactly.

    Entries of tables that are None are left out, at any depth. A list must not contain None, for TOML cannot say it.

    Examples
    --------
    >>> print(toml_text({"format": 1, "test": {"kind": "sequential", "m": 500, "upper": None}}), end="")
    format = 1
    <BLANKLINE>
    [test]
    kind = "sequential"
    m = 500
    """
    return tomli_w.dumps(_without_none(document))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_none(entry) for name, entry in value.items() if entry is not None}
    return [_without_none(entry) for entry in value] if isinstance(value, (list, tuple)) else value


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
