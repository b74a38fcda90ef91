"""Data tables as Parquet files: what is read, and what is refused before it is unpacked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from samplers.config.schema import DataTable
from samplers.data.load import load


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
    refuses(lambda: load(table, "binary"), "column 'y': is of type", "neither numbers nor text")


def test_labels_in_several_row_groups_and_as_categories(tmp_path):
    path, y = tmp_path / "d.parquet", ["true", "false", "false", "1", "true", "0"]
    for texts in (pa.array(y), pa.array(y).dictionary_encode(), pa.array(y, pa.large_string())):
        parquet.write_table(pa.table({"a": range(6), "y": texts}), path, row_group_size=2)
        np.testing.assert_array_equal(load(DataTable(path=str(path)), "binary").y, [1, -1, -1, 1, 1, -1])
