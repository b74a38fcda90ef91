"""Data from files of every kind: columns, labels, arrays, and what would not fit into memory."""

from __future__ import annotations

import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from designer.core.text_table import MOST_TEXTS
from samplers.config.schema import DataTable
from samplers.data.load import MAX_COLUMNS, load

X = [[1.5, -2.0], [0.25, 3e-3], [4.0, 5.0]]


def test_intercept_and_standardised_columns(read):
    text = "a,b,y\n1,10,0\n2,30,1\n6,20,1\n"
    found = read(text, intercept=True, standardise=True)
    assert found.names == ("intercept", "a", "b")
    np.testing.assert_array_equal(found.x[:, 0], 1.0)
    assert found.x[:, 1:].mean(axis=0) == pytest.approx(0.0, abs=1e-15)
    assert found.x[:, 1:].std(axis=0) == pytest.approx(1.0)
    assert found.standardised["b"] == pytest.approx((20.0, np.sqrt(200 / 3)))
    np.testing.assert_array_equal(read(text, intercept=True).x[:, 1], [1, 2, 6])


def test_npz_with_and_without_names(tmp_path, refuses):
    def reading(labels="binary", arrays=None, **options):
        np.savez(tmp_path / "d.npz", **({"x": np.array(X), "y": [0, 1, 0]} | (arrays or {})))
        return load(DataTable(path=str(tmp_path / "d.npz"), **options), labels)

    assert reading().names is None
    assert reading(intercept=True).names == ("intercept", "x0", "x1")
    found = reading(arrays={"columns": ["b", "a"]}, columns=["a"])
    assert found.names == ("a",)
    np.testing.assert_array_equal(found.x, np.array(X)[:, 1:])
    assert reading(None, {"x": np.arange(3)}).x.shape == (3, 1)
    np.testing.assert_array_equal(reading(arrays={"y": ["true", "false", "true"]}).y, [1, -1, 1])
    refuses(lambda: reading(columns=["a"]), "data.columns", "has no array columns")
    refuses(lambda: reading(arrays={"columns": ["b"]}), "columns must hold 2 different names")
    refuses(lambda: reading(arrays={"y": [0, 1]}), "data.label: has shape (2,); must be (3,)")
    refuses(lambda: reading(arrays={"y": [0, 1, 2]}), "data.label: has the values '0', '1', '2'")
    refuses(lambda: reading(arrays={"x": np.array(["a", "b", "c"])}), "not numbers")
    refuses(lambda: reading(arrays={"x": np.array([[1.0], [np.inf], [2.0]])}), "row 1, column 0: inf")
    refuses(lambda: reading(label="z"), "has no array z; it has x, y")


@pytest.mark.parametrize("kind", ["<f8", "<f4"])
def test_npy_files_are_mapped_and_not_copied(tmp_path, kind):
    x, y = np.arange(12.0).reshape(6, 2).astype(kind), np.array([0, 1, 1, 0, 1, 0], dtype=np.uint8)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    table = DataTable(path=str(tmp_path / "x.npy"), labels=str(tmp_path / "y.npy"))
    found = load(table, "binary")
    assert isinstance(found.x, np.memmap)
    assert found.x.dtype == np.dtype(kind)
    assert isinstance(found.y, np.memmap)
    assert not found.x.flags.writeable
    np.testing.assert_array_equal(found.x, x)
    np.save(tmp_path / "y.npy", 2 * y.astype(int) - 1)
    np.testing.assert_array_equal(load(table, "binary").y, np.where(y, 1, -1))


def test_other_npy_files_are_converted_and_broken_ones_refused(tmp_path, refuses):
    file, labels = tmp_path / "x.npy", tmp_path / "y.npy"
    table = DataTable(path=str(file), labels=str(labels))
    np.save(labels, np.array([0, 1, 1]))
    np.save(file, np.array([[1, 2], [3, 4], [5, 6]], order="F"))
    found = load(table, "binary")
    assert found.x.dtype == np.float64
    assert found.x.flags.c_contiguous
    np.save(labels, np.array([0, 1]))
    refuses(lambda: load(table, "binary"), "data.labels: has shape (2,); must be (3,), one for each row")
    np.save(labels, np.array([0, 1, 5]))
    refuses(lambda: load(table, "binary"), "data.labels: has the values '0', '1', '5'")
    labels.write_bytes(b"nonsense")
    refuses(lambda: load(table, "binary"), "data.labels", "cannot be read")
    labels.unlink()
    refuses(lambda: load(table, "binary"), "data.labels", "no such file")
    np.save(file, np.array([[1.0, np.nan]]))
    refuses(lambda: load(DataTable(path=str(file)), None), "row 0, column 1: nan, must be finite")
    np.save(file, np.zeros((2, 2, 2)))
    refuses(lambda: load(DataTable(path=str(file)), None), "has shape (2, 2, 2)")
    refuses(lambda: load(DataTable(path=str(tmp_path / "x.xls")), None), "no such file")
    (tmp_path / "x.xls").write_text("")
    refuses(lambda: load(DataTable(path=str(tmp_path / "x.xls")), None), "must end in .csv")


def test_the_digest_is_that_of_rows_and_labels(read):
    first = read("a,y\n1,0\n2,1\n")
    assert read("y;a\n0;1,0\n1;2,0\n").digest == first.digest
    assert read("a,y\n1,1\n2,0\n").digest != first.digest
    assert read("a,y\n1,0\n3,1\n").digest != first.digest


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e308, 3e-320])
def test_columns_of_any_size_can_be_standardised(read, size):
    small, huge = (read(f"a,y\n{1 * c},0\n{0.5 * c},1\n{-1 * c},1\n", standardise=True) for c in (1.0, size))
    np.testing.assert_allclose(huge.x, small.x, rtol=1e-4)  # the smallest numbers have few digits
    mean, sd = huge.standardised["a"]
    assert mean == pytest.approx(size / 6, rel=1e-3)
    assert sd == pytest.approx(size * np.std([1.0, 0.5, -1.0]), rel=1e-3)


def test_archives_are_measured_as_what_their_bytes_become(tmp_path, refuses, little):
    path = tmp_path / "d.npz"
    np.savez(path, x=np.ones((50_000, 2), dtype=np.int8))
    assert load(DataTable(path=str(path)), None).x.nbytes == 800_000
    np.savez(path, x=np.ones((60_000, 2), dtype=np.int8))
    refuses(lambda: load(DataTable(path=str(path)), None), "unpacks to 1,080,000 bytes, more than 1,000,000, half the")
    np.savez(path, x=np.ones((2, 2)), columns=np.full(MAX_COLUMNS + 1, b"a"))
    refuses(lambda: load(DataTable(path=str(path)), None), "10,001 columns")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x09\x00" + bytes(100))
    refuses(lambda: load(DataTable(path=str(path)), None), "x holds neither numbers nor text")


@pytest.mark.parametrize("array", [np.ones((70_000, 2), np.int8), np.ones((70_000, 2), ">f8"), np.ones((2, 70_000)).T])
def test_files_that_cannot_be_used_as_they_are_must_fit(tmp_path, refuses, little, array):
    np.save(tmp_path / "x.npy", array)
    table = DataTable(path=str(tmp_path / "x.npy"))
    refuses(lambda: load(table, None), "not float64 or float32 row by row; converting it takes 1,120,000 bytes")
    np.save(tmp_path / "x.npy", array[:50_000].copy(order="A"))
    assert load(table, None).x.nbytes == 800_000
    np.save(tmp_path / "x.npy", np.ones((200_000, 2)))  # mapped
    assert isinstance(load(table, None).x, np.memmap)
    np.save(tmp_path / "x.npy", np.ones((1, MAX_COLUMNS + 1)))
    refuses(lambda: load(table, None), "10,001 columns")


def test_labels_that_must_be_converted_must_fit(tmp_path, refuses, little):
    np.save(tmp_path / "x.npy", np.ones((70_000, 1)))
    table = DataTable(path=str(tmp_path / "x.npy"), labels=str(tmp_path / "y.npy"))
    for kind, labels in ((np.int64, "binary"), (np.int8, "numbers"), ("U1", "binary")):
        np.save(tmp_path / "y.npy", np.zeros(70_000, dtype=int).astype(kind))
        refuses(lambda labels=labels: load(table, labels), "data.labels: 70,000 labels of type", "half the memory here")
    np.save(tmp_path / "y.npy", np.zeros(70_000, dtype=np.int8))
    assert isinstance(load(table, "binary").y, np.memmap)


def test_of_many_different_labels_only_some_are_looked_at(read, tmp_path, refuses):
    many = [f"{k}" for k in range(3 * MOST_TEXTS)]
    words = "data.label: has the values", "…; must be 0 and 1"
    text = "a,y\n" + "".join(f"1,{label}\n" for label in many)
    refuses(lambda: read(text), *words)
    refuses(lambda: read(text.replace("a,y", "a;y").replace("1,", '"1";')), *words)
    ones = [f"1.{'0' * k}" for k in range(MOST_TEXTS + 1)]  # each of them would do
    refuses(lambda: read("a,y\n" + "".join(f"1,{label}\n" for label in ones)), *words)
    parquet.write_table(pa.table({"a": np.ones(len(many)), "y": many}), tmp_path / "d.parquet")
    refuses(lambda: load(DataTable(path=str(tmp_path / "d.parquet")), "binary"), *words)
    np.savez(tmp_path / "d.npz", x=np.ones(len(many)), y=many)
    refuses(lambda: load(DataTable(path=str(tmp_path / "d.npz")), "binary"), *words)
