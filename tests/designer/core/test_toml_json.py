"""TOML as it is written: what is read back is the same to the last bit, and None is left out."""

from __future__ import annotations

import json
import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer.core.errors import BadInput
from designer.core.toml_json import MAX_TEXT, parse_json, parse_toml, read_text, toml_text

values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**128),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.floats(allow_nan=False), max_size=4),
)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(st.dictionaries(keys, values | st.dictionaries(keys, values, max_size=3), max_size=4))
def test_every_value_is_read_back(document):
    again = parse_toml(toml_text(document))
    assert again == document
    one, other = (json.dumps(values, sort_keys=True) for values in (again, document))
    assert one == other  # 1 is not 1.0, and 0.0 not -0.0


def test_none_is_left_out_and_tuples_are_lists():
    text = toml_text({"a": None, "t": {"b": None, "c": (1.0, math.inf)}})
    assert tomllib.loads(text) == {"t": {"c": [1.0, math.inf]}}


def test_none_is_left_out_of_tables_in_lists():
    text = toml_text({"rows": [{"a": None, "b": 1}, {"b": [[2, 3], [{"c": None}]]}]})
    assert tomllib.loads(text) == {"rows": [{"b": 1}, {"b": [[2, 3], [{}]]}]}


def test_a_name_that_no_file_can_have_is_refused(refuses):
    refuses(lambda: read_text("a\0b"), "cannot be read", "null character")


def test_no_more_is_read_than_shows_that_it_is_too_much(tmp_path):
    (tmp_path / "long").write_text("x" * (MAX_TEXT + 100))
    assert len(read_text(tmp_path / "long")) == MAX_TEXT + 1
    assert len(read_text("/dev/zero")) == MAX_TEXT + 1
    for parse in (parse_toml, parse_json):
        with pytest.raises(BadInput, match="of more than 1,048,576 characters: too long for a design or a config"):
            parse(read_text(tmp_path / "long"))
