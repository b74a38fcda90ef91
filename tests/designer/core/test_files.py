"""Tables as text; whole files, and places that are no files."""

import csv
import io
import os
import stat
import threading

import numpy as np
import pytest

from designer.core.files import csv_text, is_special, replacing, write_whole


def test_csv_text_keeps_numbers_and_quotes_texts():
    rows = zip(np.array([1, 2]), [0.1, np.nan], ["x, y", None], [True, False], strict=True)
    text = csv_text(["a", "b", "c", "d"], rows)
    assert text == 'a,b,c,d\n1,0.1,"x, y",true\n2,,,false\n'
    assert float(next(csv.DictReader(io.StringIO(csv_text(["x"], [[0.1 + 0.2]]))))["x"]) == 0.1 + 0.2


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def read_in_background(path):
    """A function that waits for all that is written into a pipe."""
    found = []

    def read():
        found.append(path.read_bytes())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def wait():
        reader.join(60.0)
        return found[0]

    return wait


def test_a_pipe_is_written_into_and_stays(pipe, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for target in (pipe, str(link)):
        assert is_special(target)
        read = read_in_background(pipe)
        write_whole(target, "μ\n" * 100_000)  # more than a pipe holds
        assert read() == "μ\n".encode() * 100_000
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_terminal_is_written_into():
    ours, theirs = os.openpty()
    try:
        write_whole(os.ttyname(theirs), b"a,b")
        assert os.read(ours, 100) == b"a,b"
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_pipe_whose_reader_has_seen_enough_is_named(pipe):
    def read():
        with open(pipe, "rb", buffering=0) as file:
            file.read(10)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    with pytest.raises(BrokenPipeError) as caught:
        write_whole(pipe, bytes(10**7))
    assert caught.value.filename == str(pipe)
    reader.join(60.0)


def test_no_file_takes_the_place_of_a_pipe(pipe):
    with pytest.raises(OSError, match="is a pipe or a device") as caught, replacing(pipe):
        pytest.fail("was asked to write")
    assert caught.value.filename == str(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_files_and_directories_are_not_special(tmp_path):
    (tmp_path / "file").write_text("old")
    assert not any(map(is_special, (tmp_path, tmp_path / "file", tmp_path / "none")))
    write_whole(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "new")
