"""Files of trial runs: exact round trips, sources and targets of every kind, Parquet files and NumPy archives."""

import csv
import io
import os
import pickle
import stat
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from designer.pairs import files, limits, text
from designer.pairs.columns import BadFile
from designer.pairs.trial_run import TrialRun

TRIAL = TrialRun(12214, [-6.1e-05, 2.3e-05, -1.7e-04], [0.0118, 0.0097, 0.0152], [0, -0.02, 0.11], [0.41, -0.13, 0.27])
FORMATS = ["csv", "parquet", "npz"]
N_RANGE = "must be a whole number from 2 to 1,000,000,000,000,000"


def refusal(call, *args, **kwargs):
    with pytest.raises(BadFile) as caught:
        call(*args, **kwargs)
    assert all(line.isprintable() for line in str(caught.value).split("\n"))
    return caught.value


def packed(trial, kind):
    sink = io.BytesIO()
    getattr(trial, f"to_{kind}")(sink)
    return sink.getvalue()


def reader(kind):
    return getattr(TrialRun, f"from_{kind}")


# --- round trips ------------------------------------------------------------------------------------------------------

entries = st.floats(-1e100, 1e100)


@st.composite
def trials(draw):
    pairs = draw(st.integers(1, 12))
    some = st.lists(entries, min_size=pairs, max_size=pairs)
    sigma = draw(st.lists(st.floats(1e-100, 1e100), min_size=pairs, max_size=pairs))
    return TrialRun(draw(st.integers(2, 10**15)), draw(some), sigma, draw(entries | some), draw(st.none() | some))


@pytest.mark.parametrize("kind", FORMATS)
@settings(deadline=None, max_examples=60)
@given(trials())
def test_round_trip_is_exact(kind, trial):
    again = reader(kind)(packed(trial, kind))
    assert (again.n_data, again.digest) == (trial.n_data, trial.digest)
    assert [c.tobytes() for c in again.columns.values()] == [c.tobytes() for c in trial.columns.values()]


@pytest.mark.parametrize("kind", FORMATS)
def test_paths_buffers_and_names(kind, tmp_path):
    path = tmp_path / f"trial.{kind.upper()}"
    getattr(TRIAL, f"to_{kind}")(path)
    assert TrialRun.load(path) == TRIAL
    assert TrialRun.load(str(path), n_data=12214) == TRIAL
    assert path.read_bytes()[:8] == packed(TRIAL, kind)[:8]
    with open(path, "rb", buffering=0) as file:
        assert reader(kind)(file) == TRIAL
    assert "n_data is 5 in the argument but 12,214" in str(refusal(TrialRun.load, path, n_data=5))


def test_text_buffers(tmp_path):
    sink = io.StringIO()
    TRIAL.to_csv(sink)
    assert sink.getvalue().startswith("# n_data: 12214\nmu,sigma,log_ratio,skew\n-6.1e-05,0.0118,0.0,0.41\n")
    assert TrialRun.from_csv(io.StringIO(sink.getvalue())) == TRIAL
    with open(tmp_path / "trial.csv", "w+") as file:
        TRIAL.to_csv(file)
        file.seek(0)
        assert TrialRun.from_csv(file) == TRIAL
    assert list(csv.reader(sink.getvalue().splitlines()))[1] == ["mu", "sigma", "log_ratio", "skew"]


def test_short_reads_are_completed():
    class Trickle(io.RawIOBase):
        def __init__(self, data):
            self.data = io.BytesIO(data)

        def read(self, size=-1):
            return self.data.read(min(size, 7))

    assert TrialRun.from_csv(Trickle(packed(TRIAL, "csv"))) == TRIAL


@pytest.mark.parametrize("kind", FORMATS)
def test_writing_replaces_a_file_or_leaves_it(kind, tmp_path, monkeypatch):
    path = tmp_path / "trial"
    path.write_text("old")
    write = getattr(TRIAL, f"to_{kind}")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(path)
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]
    monkeypatch.undo()
    umask = os.umask(0o022)
    try:
        write(path)
    finally:
        os.umask(umask)
    assert [*tmp_path.iterdir()] == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert reader(kind)(path) == TRIAL


@pytest.mark.parametrize("place", ["nowhere/trial.csv", "file/trial.csv", "folder"])
def test_failure_to_write_names_the_path_and_leaves_nothing(place, tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match=r"^\[Errno \d+\] ") as caught:
        TRIAL.to_csv(tmp_path / place)
    assert str(caught.value).endswith(f": {str(tmp_path / place)!r}")
    assert sorted(tmp_path.rglob("*")) == before


def test_writing_follows_links(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    TRIAL.to_csv(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert TrialRun.load(tmp_path / "real.csv") == TRIAL


# --- what cannot be read ----------------------------------------------------------------------------------------------


def test_unreadable_sources(tmp_path):
    assert str(refusal(TrialRun.from_csv, tmp_path / "no.csv")).endswith(
        "no.csv: cannot be read: No such file or directory"
    )
    assert "Is a directory" in str(refusal(TrialRun.from_csv, str(tmp_path)))
    assert "embedded null byte" in str(refusal(TrialRun.from_csv, "a\0b"))
    assert str(refusal(TrialRun.load, "trial.xlsx")) == (
        "trial.xlsx: the name must end in .csv, .tsv, .txt, .parquet, .npz"
    )
    closed = io.BytesIO(b"")
    closed.close()
    assert "the data: cannot be read: I/O operation on closed file" in str(refusal(TrialRun.from_csv, closed))


@pytest.mark.parametrize("kind", FORMATS)
def test_large_files_are_refused_before_parsing(kind, tmp_path, monkeypatch):
    data = packed(TRIAL, kind)
    path = tmp_path / f"trial.{kind}"
    path.write_bytes(data)
    monkeypatch.setattr(limits, "MAX_BYTES", len(data))
    assert TrialRun.load(path) == TRIAL
    monkeypatch.setattr(limits, "MAX_BYTES", len(data) - 1)
    for module, parser in ((text, "parse"), (files, "_parse_parquet"), (files, "_parse_npz")):
        monkeypatch.setattr(module, parser, None)
    sources = [path, data, io.BytesIO(data)] + ([io.StringIO(data.decode())] if kind == "csv" else [])
    for source in sources:
        assert "larger than the limit of" in str(refusal(reader(kind), source))


def test_an_archive_of_bytes_is_refused_before_they_become_numbers(monkeypatch):
    pairs, sink = 20 * 10**6, io.BytesIO()
    np.savez_compressed(sink, mu=np.zeros(pairs, dtype=np.int8), sigma=np.int8(1))
    assert sink.tell() < 50_000
    monkeypatch.setattr(np, "full", lambda *_, **__: pytest.fail("memory was taken"))
    found = refusal(TrialRun.from_npz, sink.getvalue(), n_data=100)
    assert str(found) == "the data: 20,000,000 rows, more than the limit of 5,000,000"


def test_endless_sources_are_given_up():
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size=-1):
            self.given += size
            return b"1" * size

    source = Endless()
    assert "larger than the limit of 256 MiB" in str(refusal(TrialRun.from_csv, source))
    assert source.given <= limits.MAX_BYTES + 2**25


@pytest.mark.parametrize("kind", FORMATS)
def test_too_many_rows_are_refused(kind, monkeypatch):
    data = packed(TRIAL, kind)
    monkeypatch.setattr(parquet.ParquetFile, "read", None)
    monkeypatch.setattr(limits, "MAX_PAIRS", 2)
    text = str(refusal(reader(kind), data))
    assert text == "the data: 3 rows, more than the limit of 2"


# --- Parquet and NumPy archives ---------------------------------------------------------------------------------------


def table(**columns):
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def archive(**arrays):
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


def test_parquet_of_others():
    data = table(label=["a", "b"], Mean=pa.array([1, 2], pa.float32()), SD=[3, 4], N=[9, 9])
    assert TrialRun.from_parquet(data) == TrialRun(9, [1, 2], [3, 4])
    sink = io.BytesIO()
    pd.DataFrame({"mu": [1.0], "sigma": [2.0], "skew": [3.0]}).to_parquet(sink)
    assert TrialRun.from_parquet(sink.getvalue(), n_data=9) == TrialRun(9, [1], [2], 0, [3])


def test_npz_of_others():
    assert TrialRun.from_npz(archive(mean=[1, 2], std=[3.0, 4.0], c=0.5, N=9, junk=["x"])) == TrialRun(
        9, [1, 2], [3, 4], 0.5
    )
    assert TrialRun.from_npz(archive(mu=[1, 2], sigma=[3, 4]), 9).log_ratio.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (table(mu=["1"], sigma=[1.0]), "column 'mu' holds string, not numbers"),
        (table(mu=[True], sigma=[1.0]), "column 'mu' holds bool, not numbers"),
        (table(mu=[1.0]), "no column sigma (found: 'mu')"),
        (table(mu=[1.0], sigma=[1.0], sd=[1.0]), "columns 'sigma' and 'sd' both mean sigma"),
        (table(mu=pa.array([], pa.float64()), sigma=pa.array([], pa.float64())), "no rows"),
        (table(mu=[1.0, None], sigma=[0.0, 1.0]), "2 problems, nothing loaded\nrow 1, column sigma: '0.0': must be "
         "greater than 0\nrow 2, column mu: 'nan': must be finite"),
        (table(mu=[1, 2], sigma=[1, 1], N=[9, 8]), "row 2, column n_data: '8.0': differs from the 9 of the first row"),
        (table(mu=[2**60 + 1], sigma=[1]), "not a Parquet file that can be read: Integer value"),
        (b"mu,sigma\n1,2\n", "not a Parquet file that can be read: Parquet magic bytes not found"),
        (b"", "not a Parquet file that can be read:"),
    ],
)  # fmt: skip
def test_refusals_of_parquet(data, text):
    assert text in str(refusal(TrialRun.from_parquet, data, 9))


def test_damaged_parquet_is_noticed():
    trial = TrialRun(9, np.random.default_rng(0).normal(size=2000), np.ones(2000))
    data = bytearray(packed(trial, "parquet"))
    data[len(data) // 4] ^= 1
    text = str(refusal(TrialRun.from_parquet, bytes(data)))
    assert "not a Parquet file that can be read: could not verify page integrity" in text


def zipped(**members):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "."), content)
    return sink.getvalue()


def npy(array, **changes):
    sink = io.BytesIO()
    np.save(sink, array)
    data = sink.getvalue()
    for old, new in changes.values():
        assert old in data
        data = data.replace(old, new)
    return data


ONE = npy(np.ones(1))
FALSE_SIZE = npy(np.ones(1), shape=(b"(1,), }" + b" " * 14, b"(1" + b"0" * 14 + b",), }"))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (archive(mu=[1.0]), "no column sigma (found: 'mu')"),
        (archive(mu=["a"], sigma=[1.0]), "mu.npy holds <U1 of shape (1,), not 1 numbers"),
        (archive(mu=[1j], sigma=[1.0]), "mu.npy holds complex128 of shape (1,), not 1 numbers"),
        (archive(mu=[1.0, 2.0], sigma=[1.0]), "sigma.npy holds float64 of shape (1,), not 2 numbers"),
        (archive(mu=[[1.0]], sigma=[1.0]), "mu.npy holds float64 of shape (1, 1), not 1 numbers"),
        (archive(mu=[], sigma=[]), "no rows"),
        (archive(mu=[1.0], sigma=[-1.0]), "row 1, column sigma: '-1.0': must be greater than 0"),
        (archive(mu=[1.0], sigma=[1.0], n_data=9.5), f"n_data in the column = 9.5: {N_RANGE}"),
        (zipped(mu__npy=pickle.dumps([1.0]), sigma__npy=ONE), "mu.npy holds |S24 of shape (), not 1 numbers"),
        (zipped(mu__npy=FALSE_SIZE, sigma__npy=ONE), "not a NumPy archive that can be read: "),
        (zipped(mu=b"x", sigma__npy=ONE), "no column mu (found: 'sigma')"),
        (b"mu,sigma\n1,2\n", "not a NumPy archive that can be read: File is not a zip file"),
        (packed(TRIAL, "npz")[:-30], "not a NumPy archive that can be read: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # archives hold the time, and names must not
)
def test_refusals_of_npz(data, text):
    assert text in str(refusal(TrialRun.from_npz, data, 9))


def test_objects_are_not_unpickled():
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("unpickled",)

    sink = io.BytesIO()
    np.savez(sink, mu=np.array([Trap()], dtype=object), sigma=np.ones(1))
    assert "Object arrays cannot be loaded" in str(refusal(TrialRun.from_npz, sink.getvalue(), 9))


def test_archive_bombs_are_refused_by_the_directory(monkeypatch):
    bomb = zipped(mu__npy=npy(np.zeros(6_000_000)), sigma__npy=ONE)
    assert len(bomb) < 100_000
    monkeypatch.setattr(np, "load", None)
    text = str(refusal(TrialRun.from_npz, bomb, 9))
    assert text == "the data: mu.npy unpacks to 48,000,128 bytes, more than a trial run may have"


def test_only_wanted_members_are_unpacked():
    big = npy(np.zeros(6_000_000))
    data = zipped(mu__npy=ONE, sigma__npy=ONE, mu=big, other__npy=big)
    assert TrialRun.from_npz(data, 9) == TrialRun(9, [1], [1])
