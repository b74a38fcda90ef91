"""What a trial run says about where its pairs come from: a few named values, in files of every kind."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from designer.core.errors import BadInput, integer, real
from designer.core.files import shorten
from designer.rule.looks import MAX_N_DATA

Note: TypeAlias = str | int | float

# kind of proposal, accepted steps; rows read always, why; why residuals are missing; of the exact mini-batch test:
# rows, acceptance, rows read always, best step
NAMES = (
    *("proposal", "chain_acceptance", "n_heavy", "heavy", "no_residuals"),
    *("minibatch_rows", "minibatch_acceptance", "minibatch_heavy", "minibatch_step"),
)
TEXTS = {
    "proposal": 100,
    "heavy": 300,
    "no_residuals": 100,
    "minibatch_step": 100,
}  # those in words, and their greatest lengths
REALS = {"chain_acceptance": 1.0, "minibatch_rows": 1e15, "minibatch_acceptance": 1.0}  # from 0 to this
COUNTS = ("n_heavy", "minibatch_heavy")
_LINE = re.compile(rf"#\s*({'|'.join(NAMES)})\s*:\s*(.*)")


def checked_notes(notes: Mapping[str, Note]) -> Mapping[str, Note]:
    """The notes, if they are allowed: read-only."""
    checked: dict[str, Note] = {}
    for name, value in notes.items():
        if name in TEXTS:
            if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= TEXTS[name]:
                raise BadInput(f"notes: {name} = {shorten(repr(value))}: must be in words")
            checked[name] = value.strip()
        elif name in REALS:
            checked[name] = real(name, value, 0.0, REALS[name])
        elif name in COUNTS:
            checked[name] = integer(name, value, 0, MAX_N_DATA)
        else:
            raise BadInput(f"notes: {shorten(name)!r} is not one of {', '.join(NAMES)}")
    return MappingProxyType(checked)


def as_text(notes: Mapping[str, Note]) -> dict[str, str]:
    """The notes as they are written to a file."""
    return {name: value if isinstance(value, str) else repr(value) for name, value in notes.items()}


def from_text(texts: Mapping[str, str]) -> dict[str, Note]:
    """The notes in a file; those that cannot be understood are left out, since nothing depends on them."""
    notes: dict[str, Note] = {}
    for name in NAMES:
        if name not in texts:
            continue
        text = texts[name].strip()
        try:
            value: Note = text if name in TEXTS else float(text) if name in REALS else int(text)
            notes |= checked_notes({name: value})
        except (BadInput, ValueError):
            continue
    return notes


def from_json(text: str) -> dict[str, Note]:
    """The notes in a NumPy archive."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return from_text({str(name): str(value) for name, value in given.items()}) if isinstance(given, dict) else {}


def in_comment(line: str) -> tuple[str, str] | None:
    """The note that a comment line of a text table states."""
    found = _LINE.fullmatch(line.strip())
    return None if found is None else (found[1], found[2])
