"""Files that commands read and write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.errors import UsageError

if TYPE_CHECKING:
    from designer.rule.design import Design

DESIGN_FILES = (".toml", ".json")


def check_target(path: str | None, *suffixes: str) -> None:
    """Refuse a file that could not be written, or has none of these suffixes, before the work and not after."""
    from designer.core.files import is_special

    if path is None:
        return
    if suffixes and not path.lower().endswith(suffixes):
        raise UsageError(f"output = {path!r}: must end in {' or '.join(suffixes)}")
    if is_special(path):
        if not os.access(path, os.W_OK):
            raise UsageError(f"{path}: cannot be written")
        return
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise UsageError(f"{path}: there is no directory {folder}")
    if Path(path).is_dir():
        raise UsageError(f"{path}: is a directory; must be a file")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: cannot be written in {folder}")


def write_design(path: str, design: Design) -> None:
    """Write a design in the format of the file's suffix, as `read_design` reads it."""
    from designer.core.files import write_whole

    write_whole(path, design.to_json() if path.lower().endswith(".json") else design.to_toml())


def read_design(path: str | None) -> Design | None:
    """Read the design in a file. Error messages begin with the file's name."""
    from designer.core.errors import BadInput
    from designer.core.toml_json import read_text
    from designer.rule.design import Design

    if path is None:
        return None
    try:
        text = read_text(path)
        return Design.from_json(text) if path.lower().endswith(".json") else Design.from_toml(text)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: cannot be read: not UTF-8") from None
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def write_table(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows with the same keys as a CSV file."""
    from designer.core.files import csv_text, write_whole

    rows = list(rows)
    write_whole(path, csv_text(rows[0], (row.values() for row in rows)))
