"""Files that cannot be written are refused before the work, not after it."""

from __future__ import annotations

import os

import pytest

from app.cli.errors import UsageError
from app.cli.files import check_target, write_table


@pytest.mark.parametrize(
    ("name", "suffixes", "message"),
    [
        ("design.yaml", (".toml", ".json"), r"must end in \.toml or \.json$"),
        ("no/design.toml", (".toml",), "there is no directory .*/no$"),
        ("folder", (), "is a directory; must be a file$"),
    ],
)
def test_targets_that_are_refused(tmp_path, name, suffixes, message):
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=message):
        check_target(str(tmp_path / name), *suffixes)


def test_places_without_permission_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write anywhere
    with pytest.raises(UsageError, match=f"cannot be written in {tmp_path}$"):
        check_target(str(tmp_path / "design.toml"))
    with pytest.raises(UsageError, match=r"^/dev/null: cannot be written$"):
        check_target("/dev/null")


def test_targets_that_are_accepted(tmp_path):
    check_target(None, ".toml")
    check_target(str(tmp_path / "DESIGN.TOML"), ".toml")
    check_target("/dev/null")
    assert list(tmp_path.iterdir()) == []


def test_a_table_has_the_keys_as_its_head(tmp_path):
    write_table(str(tmp_path / "t.csv"), iter([{"a": 1, "b": None}, {"a": 2, "b": 0.1}]))
    assert (tmp_path / "t.csv").read_text().splitlines() == ["a,b", "1,", "2,0.1"]
