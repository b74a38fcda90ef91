"""In which entries two runs differ, for the line that refuses to continue one as the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from designer.core.files import shorten

MOST_NAMED = 8  # entries in one message
LONGEST = 44  # characters of a value
PARTS = "parts"  # of an entry that is a digest: what it is made of, each with its own size or digest
FILES = "files"  # where such a part is from


def differences(known: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    """The settings of two runs that differ; if only their digests are known, those.

    Where an entry is a digest and both runs know its parts (the arrays of the data, the fields of a test), those parts
    are named that differ.

    Examples
    --------
    >>> before = {"digest": "a", "config": {"run.seed": 5, "data": "1f"}, "parts": {"data": {"labels": "9 values"}}}
    >>> now = {"digest": "b", "config": {"run.seed": 6, "data": "2e"}, "parts": {"data": {"labels": "8 values"}}}
    >>> differences(before, now | {"files": {"labels": "y.npy"}})
    'labels of y.npy was 9 values, is 8 values, run.seed was 5, is 6'
    """
    match known.get("config"), meta.get("config"):
        case dict(before), dict(now) if before != now:
            found = list(_named(before, now, known.get(PARTS, {}), meta.get(PARTS, {}), meta.get(FILES, {})))
            more = f", and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
            return ", ".join(found[:MOST_NAMED]) + more
    return f"{shorten(known['digest'], 13)}, not {shorten(meta['digest'], 13)}"


def changed(
    before: Mapping[str, Any], now: Mapping[str, Any], files: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Entry by entry what was and what is; `files` say where an entry is from.

    Examples
    --------
    >>> list(changed({"seed": 1, "scale": 2.0}, {"seed": 1, "scale": 3.0, "more": 4}))
    ['more was not given, is 4', 'scale was 2.0, is 3.0']
    """
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            was, new = (str(entries[name]) if name in entries else "not given" for entries in (before, now))
            label = f"{name} of {files[name]}" if name in files else name
            yield f"{shorten(label, 300)} was {_around(was, new)}, is {_around(new, was)}"


def _named(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    parts: Mapping[str, Any],
    new_parts: Mapping[str, Any],
    files: Mapping[str, str],
) -> Iterator[str]:
    for name in sorted({*before, *now}):
        finer = list(changed(parts[name], new_parts[name], files)) if name in parts and name in new_parts else []
        alone = [{key: value for key, value in entries.items() if key == name} for entries in (before, now)]
        if alone[0] != alone[1]:
            yield from finer or changed(*alone)


def _around(text: str, other: str) -> str:
    """A long value, cut so that the place where it differs from the other one can be seen."""
    same = next((k for k, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    hidden = same - LONGEST // 4 if same > LONGEST // 2 and max(len(text), len(other)) > LONGEST else 0
    return shorten(("…" if hidden else "") + text[hidden:], LONGEST)
