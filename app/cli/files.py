"""Files that commands write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from app.cli.errors import UsageError

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


def write_table(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows with the same keys as a CSV file."""
    from designer.core.files import csv_text, write_whole

    rows = list(rows)
    write_whole(path, csv_text(rows[0], (row.values() for row in rows)))
