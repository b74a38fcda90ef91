"""Files that cannot be written are refused before the work; a design is written as it is read."""

from __future__ import annotations

import os

import pytest

from app.cli.errors import UsageError
from app.cli.files import check_target, read_design, write_design, write_table
from designer import BadInput, Design


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="cannot be written in"):
        check_target(str(tmp_path / "design.toml"))
    tmp_path.chmod(0o700)


def test_targets_that_are_accepted(tmp_path):
    check_target(None, ".toml")
    check_target(str(tmp_path / "DESIGN.TOML"), ".toml")
    check_target("/dev/null")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["design.toml", "design.json", "design.JSON"])
def test_a_design_is_read_as_it_was_written(tmp_path, name):
    design, path = Design(5000, 200, 0.05, 0.7), str(tmp_path / name)
    write_design(path, design)
    assert read_design(path) == design
    assert read_design(None) is None


def test_a_design_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "design.toml"
    path.write_bytes(b"\xff")
    for place, message in ((path, "not UTF-8"), (tmp_path / "none.toml", "No such file")):
        with pytest.raises(BadInput, match=f"^{place}: cannot be read: {message}"):
            read_design(str(place))
    path.write_text("[test]\nm = 1\n")
    with pytest.raises(BadInput, match=f"^{path}: "):
        read_design(str(path))


def test_a_table_has_the_keys_as_its_head(tmp_path):
    write_table(str(tmp_path / "t.csv"), iter([{"a": 1, "b": None}, {"a": 2, "b": 0.1}]))
    assert (tmp_path / "t.csv").read_text().splitlines() == ["a,b", "1,", "2,0.1"]
