"""Data as people have them: what is read, and what is said about the line and column that cannot be."""

from __future__ import annotations

import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from designer.core.text_table import MOST_TEXTS
from samplers.config.schema import DataTable
from samplers.data import memory
from samplers.data.load import MAX_COLUMNS, load

X = [[1.5, -2.0], [0.25, 3e-3], [4.0, 5.0]]


@pytest.fixture
def read(tmp_path):
    """read(text, labels, **options): the dataset in a CSV file."""

    def call(text, labels="binary", name="d.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(DataTable(path=str(path), **options), labels)

    return call


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1.5,-2,1\n0.25,3e-3,0\n4,5,1\n",
        "\ufeffa,b,y\r\n1.5,-2,1\r\n0.25,3e-3,0\r\n4,5,1\r\n",
        "a;b;y\n1.5;-2;1\n0.25;3e-3;0\n4;5;1",
        "a;b;y\n1,5;-2;1\n0,25;3e-3;0\n4;5;1\n",
        "a\tb\ty\n1,5\t-2,0\t1\n0,25\t0,003\t0\n4\t5\t1\n",
        '"a","b","y"\n"1.5","-2","1"\n"0.25","0.003","0"\n"4","5","1"\n',
        "# made yesterday\n\na , b , y\n 1.5 , -2 , 1 \n\n0.25, 3e-3, 0\n4,5,1\n\n",
        "y,a,b\n1,1.5,-2\n-1,0.25,3e-3\n1,4,5\n",
        "a,b,y\n1.5,-2,true\n0.25,3e-3,FALSE\n4,5,True\n",
        "a,b,y\n1.5,-2,1.0\n0.25,3e-3,0.0\n4,5,1.0\n",
        "a;b;y\n1,5;-2;1,0\n0,25;3e-3;-1,0\n4;5;1,0\n",
        "a,b,y\r\n1.5,-2,1\r\n0.25,3e-3,0\r\n4,5,1\r\n".encode("utf-16"),
        "a;b;y\n1,5;-2;1\n0,25;3e-3;0\n4;'5';1\n".replace("'", '"').encode("utf-32"),
    ],
    ids=[
        "plain",
        "bom-crlf",
        "semicolons",
        "decimal-commas",
        "tabs",
        "quotes",
        "comments",
        "order",
        "bools",
        "1.0",
        "1,0",
        "utf-16",
        "utf-32",
    ],
)
def test_tables_are_read_as_they_are_written(read, text):
    found = read(text)
    assert found.names == ("a", "b")
    np.testing.assert_array_equal(found.x, X)
    np.testing.assert_array_equal(found.y, [1.0, -1.0, 1.0])
    assert found.x.flags.c_contiguous


def test_columns_can_be_chosen_and_text_in_others_is_no_matter(read):
    text = "name,a,b,y\nx,1,2,0\ny,3,4,1\n"
    found = read(text, columns=["b", "a"])
    assert found.names == ("b", "a")
    np.testing.assert_array_equal(found.x, [[2, 1], [4, 3]])
    assert read(text, None, columns=["a"]).y is None
    np.testing.assert_array_equal(read(text, "numbers", columns=["a"], label="b").y, [2, 4])


def test_a_single_column_needs_no_separator(read):
    np.testing.assert_array_equal(read("x\n1,5\n2,5\n", None).x, [[1.5], [2.5]])
    np.testing.assert_array_equal(read("x\n1.5\n2.5\n", None).x, [[1.5], [2.5]])


def test_intercept_and_standardised_columns(read):
    text = "a,b,y\n1,10,0\n2,30,1\n6,20,1\n"
    found = read(text, intercept=True, standardise=True)
    assert found.names == ("intercept", "a", "b")
    np.testing.assert_array_equal(found.x[:, 0], 1.0)
    assert found.x[:, 1:].mean(axis=0) == pytest.approx(0.0, abs=1e-15)
    assert found.x[:, 1:].std(axis=0) == pytest.approx(1.0)
    assert found.standardised["b"] == pytest.approx((20.0, np.sqrt(200 / 3)))
    np.testing.assert_array_equal(read(text, intercept=True).x[:, 1], [1, 2, 6])


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, ["data.path", "is empty"]),
        ("# only\n\n", {}, ["is empty"]),
        ("a,b,y\n", {}, ["has no rows"]),
        ("1,2,3\n4,5,6\n", {}, ["line 1", "numbers where the names of the columns should be"]),
        ("a,a,y\n1,2,0\n", {}, ["line 1", "two columns are called 'a'"]),
        ("a,,y\n1,2,0\n", {}, ["line 1", "a column has no name"]),
        ("a,b,z\n1,2,0\n", {}, ["data.label = 'y': no such column; there are a, b, z"]),
        ("y\n1\n", {}, ["no column but the label"]),
        ("a,y\n1,0\n", {"columns": ["q"]}, ["data.columns: 'q': no such column; there are a, y"]),
        ("a,y\n1,0\n", {"columns": ["y"]}, ["data.columns: 'y': is the label"]),
        ("a,y\n1,0\n", {"columns": ["a", "a"]}, ["data.columns: 'a': is there twice"]),
        ("a,b,y\n1,2,0\n1,hello,1\n", {}, ["line 3, column 'b': 'hello' is not a number; data.columns"]),
        ("a;b;y\n1,5;2;0\n1;x;1\n", {}, ["line 3, column 'b': 'x' is not a number"]),
        ("# c\na,b,y\n1,2,0\n\n1,,1\n", {}, ["line 5, column 'b': no value"]),
        ("a,b,y\n1,2,0\n1,NA,1\n", {}, ["line 3, column 'b': no value (NA)"]),
        ("a,b,y\n1,2,0\nnan,3,1\n", {}, ["line 3, column 'a': no value (nan)"]),
        ("a,b,y\n1,2,0\n1,-inf,1\n", {}, ["line 3, column 'b': -inf is not finite"]),
        ("a,b,y\n1,2,0\n1,1e999,1\n", {}, ["line 3, column 'b': 1e999 is not finite"]),
        ("a,b,y\n1,2,0\n1,2\n", {}, ["line 3: 2 fields, the header has 3"]),
        ("a,b,y\n1,2,0\n1,2,\n", {}, ["line 3, column 'y': no value"]),
        ("a,y\n" + 9 * "x,1\n", {}, ["line 2", "line 3", "line 4", "and more"]),
        ("a,y\n1,cat\n2,dog\n", {}, ["data.label: has the values 'cat', 'dog'; must be 0 and 1, -1 and 1, or true"]),
        ("a,y\n1,1\n2,0\n3,-1\n", {}, ["data.label: has the values '-1', '0', '1'"]),
        ("a,y\n" + "".join(f"1,{k}\n" for k in range(9)), {}, ["has the values '0', '1', '2', '3', '4', '5', …"]),
        (b"a,y\n\xff\xff,1\n", {}, ["not a text in UTF-8"]),
        ("a,y\n1,1\n".encode("utf-16") + b"1", {}, ["not a text in UTF-8, nor in UTF-16"]),
        ("a,y\n1,1\n1,0\n", {"standardise": True}, ["data.standardise: column 'a' is constant"]),
        ("intercept,y\n1,1\n2,0\n", {"intercept": True}, ["data.intercept: there is a column 'intercept' already"]),
    ],
)
def test_what_is_wrong_with_a_table_is_told_with_line_and_column(read, refuses, text, options, words):
    refuses(lambda: read(text, **options), *words)


def test_the_careful_reader_reads_what_the_fast_one_does_not(read):
    """A quoted cell with a line break in an unused column; numbers must be the same, and lines still counted."""
    text = 'note,a,y\n"two\nlines",1.5,0\nplain,2.5,1\n'
    found = read(text, columns=["a"])
    np.testing.assert_array_equal(found.x, [[1.5], [2.5]])
    with pytest.raises(ValueError, match="line 5, column 'a'"):
        read(text + "more,x,1\n", columns=["a"])


def test_parquet(tmp_path, refuses):
    def reading(columns, labels="binary", **options):
        parquet.write_table(pa.table(columns), tmp_path / "d.parquet")
        return load(DataTable(path=str(tmp_path / "d.parquet"), **options), labels)

    found = reading({"a": [1, 2], "b": [True, False], "y": [True, False]})
    np.testing.assert_array_equal(found.x, [[1, 1], [2, 0]])
    np.testing.assert_array_equal(found.y, [1, -1])
    np.testing.assert_array_equal(reading({"a": [1, 2], "y": ["-1", "1"]}).y, [-1, 1])
    np.testing.assert_array_equal(reading({"a": [1, 2], "y": [0.5, 7.0]}, "numbers").y, [0.5, 7.0])
    refuses(lambda: reading({"a": [1, None], "y": [0, 1]}), "row 1, column 'a': no value")
    refuses(lambda: reading({"a": [1.0, np.nan], "y": [0, 1]}), "row 1, column 'a': nan, must be finite")
    refuses(lambda: reading({"a": ["x", "z"], "y": [0, 1]}), "column 'a': is of type string, not numbers")
    refuses(lambda: reading({"a": [1, 2], "y": [0, None]}), "row 1, column 'y': no value")
    refuses(lambda: reading({"a": [1, 2], "y": [2, 3]}), "data.label: has the values '2', '3'")
    refuses(lambda: reading({"a": [1, 2]}), "data.label = 'y': no such column")
    (tmp_path / "d.parquet").write_bytes(b"nonsense")
    refuses(lambda: load(DataTable(path=str(tmp_path / "d.parquet")), None), "cannot be read")


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
    refuses(lambda: reading(columns=["a"]), "data.columns", "does not name its columns")
    refuses(lambda: reading(arrays={"columns": ["b"]}), "columns must be 2 different names")
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


def test_commas_that_may_separate_thousands_are_not_taken_for_decimal_points(read, refuses):
    for text in ("a\ty\n1,100\t0\n2,500\t1\n", "a;y\n7;0\n1,234,567.5;1\n"):
        refuses(lambda text=text: read(text), "the comma may be a decimal point or separate thousands", "'1,")
    assert read("a\ty\n1,100\t0\n2,5\t1\n").x[:, 0].tolist() == [1.1, 2.5]
    assert read("a\ty\n0,125\t0\n2,500\t1\n").x[:, 0].tolist() == [0.125, 2.5]


def test_an_index_without_a_name_is_no_matter_if_other_columns_are_named(read, refuses):
    text = ",a,,y\n0,1.5,9,0\n1,2.5,9,1\n"
    found = read(text, columns=("a",))
    assert found.names == ("a",)
    assert found.x[:, 0].tolist() == [1.5, 2.5]
    refuses(lambda: read(text), "line 1: a column has no name; data.columns says which columns to use")


# --- what would not fit into memory -----------------------------------------------------------------------------------


@pytest.fixture
def little(monkeypatch):
    """Half of the memory here is a megabyte."""
    monkeypatch.setattr(memory, "allowed", lambda: 2 * 10**6)


@pytest.fixture
def arrow_peak():
    """The most memory that Arrow had since the test began."""
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    yield pool.max_memory
    pa.set_memory_pool(before)


def repeated(path, name, text, rows, **options):
    """A Parquet file that says the same text in every row."""
    texts = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), [text])
    table = pa.table({"a": np.arange(float(rows)), name: texts})
    parquet.write_table(table, path, store_schema=False, compression="zstd", **options)  # read as plain texts


def test_a_long_text_in_every_row_is_held_once(tmp_path, refuses, arrow_peak):
    path = tmp_path / "d.parquet"
    repeated(path, "y", "a" * 20_000, 3000)
    assert parquet.read_schema(path).field("y").type == pa.string()
    assert path.stat().st_size < 30_000
    refuses(lambda: load(DataTable(path=str(path)), "binary"), "data.label: has the values 'aaaaaaa")
    refuses(lambda: load(DataTable(path=str(path)), None), "column 'y': is of type string, not numbers")
    refuses(lambda: load(DataTable(path=str(path)), "numbers"), "column 'y': is of type string, not numbers")
    repeated(path, "y", " " * 20_000 + "1", 3000)
    np.testing.assert_array_equal(load(DataTable(path=str(path)), "binary").y, np.ones(3000))
    assert arrow_peak() < 10**6  # written out, the texts have 60 MB


def test_texts_of_a_label_are_measured_before_they_are_unpacked(tmp_path, refuses, arrow_peak, little):
    path = tmp_path / "d.parquet"
    repeated(path, "y", "a" * 20_000, 3000, use_dictionary=False)
    assert path.stat().st_size < 100_000
    before = arrow_peak()
    refuses(
        lambda: load(DataTable(path=str(path)), "binary"), "unpacks to 60,", "more than 1,000,000, half the memory here"
    )
    assert arrow_peak() == before


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.binary(), pa.struct({"b": pa.float64()})])
def test_columns_of_other_types_are_refused_unread(tmp_path, refuses, monkeypatch, kind):
    parquet.write_table(pa.table({"a": [1.0], "y": pa.nulls(1, kind)}), tmp_path / "d.parquet")
    monkeypatch.setattr(parquet, "read_table", lambda *_, **__: pytest.fail("was read"))
    table = DataTable(path=str(tmp_path / "d.parquet"))
    refuses(lambda: load(table, None), "column 'y': is of type", "not numbers; data.columns says")
    refuses(lambda: load(table, "binary"), "column 'y': is of type", "neither numbers nor texts")


def test_labels_in_several_row_groups_and_as_categories(tmp_path):
    path, y = tmp_path / "d.parquet", ["true", "false", "false", "1", "true", "0"]
    for texts in (pa.array(y), pa.array(y).dictionary_encode(), pa.array(y, pa.large_string())):
        parquet.write_table(pa.table({"a": range(6), "y": texts}), path, row_group_size=2)
        np.testing.assert_array_equal(load(DataTable(path=str(path)), "binary").y, [1, -1, -1, 1, 1, -1])


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
    refuses(lambda: load(DataTable(path=str(path)), None), "x is not of numbers or texts")


def test_tables_are_measured_by_their_lines(read, refuses, little):
    for end in ("\n", "\r\n", "\r"):
        assert read(f"a{end}" + f"1{end}" * 30_000, None).x.shape == (30_000, 1)
        refuses(
            lambda end=end: read(f"a{end}" + f"1{end}" * 31_300, None), "unpacks to 1,001,6", "a .npy file would be"
        )


@pytest.mark.parametrize("array", [np.ones((70_000, 2), np.int8), np.ones((70_000, 2), ">f8"), np.ones((2, 70_000)).T])
def test_files_that_cannot_be_used_as_they_are_must_fit(tmp_path, refuses, little, array):
    np.save(tmp_path / "x.npy", array)
    table = DataTable(path=str(tmp_path / "x.npy"))
    refuses(lambda: load(table, None), "not float64 or float32 row by row: to convert it takes 1,120,000 bytes")
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
