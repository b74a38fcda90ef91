"""The reader of text tables by itself; trial runs and data tables have tests of what they make of it."""

from __future__ import annotations

import codecs
import math

import numpy as np
import pytest

from designer.core.errors import BadInput
from designer.core.text_table import (
    MOST_TEXTS,
    Layout,
    Style,
    count_fields,
    count_lines,
    decimal_point,
    encoding_of,
    parse_number,
    read_carefully,
    read_fast,
    read_head,
    rows,
    rows_at,
    split_fields,
    split_names,
)

STYLE = Style(100)


def layout(source, style=STYLE):
    head = read_head(source, style)
    separator, names = split_names(head.text, style)
    return Layout(source, style, separator, names, [*head.above, head.text], head.comments)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_both_readers_know_encodings_and_line_ends(tmp_path, encoding, end):
    data = end.join(["# über", "é;b;t", "1;2,5;x", "3;4;ß"]).encode(encoding)
    (tmp_path / "t.csv").write_bytes(data)
    for source in (data, tmp_path / "t.csv"):
        table = layout(source)
        assert (table.separator, table.names, table.comments) == (";", ["é", "b", "t"], [(1, "# über")])
        numbers, texts = read_fast(table, [1, 0], [2], ",")
        careful = read_carefully(table, [1, 0], [2], point=",", most=1)
        for columns, (coded,) in ((numbers, texts), (careful.columns, careful.texts)):
            np.testing.assert_array_equal(columns, [[2.5, 4.0], [1.0, 3.0]])
            assert (coded.values, coded.codes.tolist()) == (["x", "ß"], [0, 1])
        assert count_lines(source) >= 4


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
    ],
)
def test_the_byte_order_mark_tells_the_encoding(mark, encoding):
    assert encoding_of(mark + b"a,b") == encoding


def test_lines_are_counted_whatever_their_ends():
    assert [count_lines(data) for data in (b"", b"a", b"a\n", b"a\r\nb\rc\nd", b"\r\r\n")] == [1, 1, 2, 4, 3]


def test_the_header_is_below_comments_and_blank_lines():
    assert read_head(b"\n # a\n\nx,y\n1,2\n", STYLE) == (["\n", " # a\n", "\n"], [(2, "# a")], "x,y")
    assert read_head(b"# only", STYLE).text is None
    assert read_head(b'"# a"\nx\n', STYLE).text == '"# a"'
    assert read_head(b'"# a"\nx\n', Style(100, comments=True))[1:] == ([(1, "# a")], "x")


def test_the_separator_gives_most_known_names_and_then_most_names():
    assert split_names("a;b,c;d", STYLE) == (";", ["a", "b,c", "d"])
    assert split_names("a;b,c;d", STYLE, {"c;d"}.__contains__) == (",", ["a;b", "c;d"])
    assert split_names("first name,y", STYLE) == (",", ["first name", "y"])
    assert split_names("mu  sigma", Style(100, (",", None))) == (None, ["mu", "sigma"])
    assert split_names('"a,b"; "c"', STYLE) == (";", ["a,b", "c"])
    assert split_names("alone", STYLE) == (";", ["alone"])  # so that 1,5 below it is one number


def test_fields_are_cut_no_further_than_needed():
    assert split_fields("1,2,3,4", ",", 2) == ["1", "2", "3,4"]
    assert split_fields('1, "2,3"', ",") == ["1", "2,3"]
    assert split_fields(' 1   "2 3"', None) == ["1", "2 3"]


def test_quotes_span_lines_only_where_the_style_says_so():
    data = b'a,b\n"x\ny",1\n2,3\n'
    assert [row[::2] for row in rows(layout(data, Style(100, multiline=True)))] == [(2, ["x\ny", "1"]), (4, ["2", "3"])]
    assert [row[::2] for row in rows(layout(data))] == [(2, ["x"]), (3, ['y"', "1"]), (4, ["2", "3"])]


def test_a_quote_after_a_blank_does_not_take_in_the_rows_below():
    data = b'a,b\n1, "x\n2,y\n'
    assert [row.fields for row in rows(layout(data, Style(100, multiline=True)))] == [["1", ' "x'], ["2", "y"]]


def test_comments_between_rows_only_where_the_style_says_so():
    data = b"a,b\n1,2\n #c,3\n"
    commented = read_carefully(layout(data, Style(100, comments=True)), [1], point=".", most=1)
    assert (commented.columns[0].tolist(), commented.comments) == ([2.0], [(3, "#c,3")])
    assert read_carefully(layout(data), [1], point=".", most=1).columns[0].tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("text", "point", "number"),
    [
        (" 1.5\t", ".", 1.5), ("1,5", ",", 1.5), ("1.5", ",", None), ("1,5", ".", None), ("1.000,5", ",", None),
        ("1_0", ".", None), ("٣", ".", None), ("", ".", None), ("0x10", ".", None), ("-inf", ".", -math.inf),
        (",5e1", ",", 5.0), ("1.", ".", 1.0),
    ],
)  # fmt: skip
def test_numbers_are_read_strictly(text, point, number):
    assert parse_number(text, point) == number


def test_the_decimal_point_is_that_of_most_numbers():
    assert decimal_point(layout(b"a;b\n1,5;x\n2;3\n"), [0]) == ","
    assert decimal_point(layout(b"a;b\n1,5;1\n2.5;2.5\n"), [0, 1]) == "."
    assert decimal_point(layout(b"a;b\n1;2\n"), [0]) == "."
    assert decimal_point(layout(b'a,b\n"1,5",2\n'), [0]) == "."


def test_what_is_not_plain_is_left_to_the_careful_reader():
    for data in (b"a,b\n1,x\n", b"a,b\n1\n", b'a,b\n"1\n",2\n'):
        assert read_fast(layout(data), [0, 1]) is None
    assert read_fast(layout(b"a,b\n1,NA\n"), [0], [1]) is None
    assert read_fast(layout(b"mu sigma\n1 2\n", Style(100, (",", None))), [0, 1]) is None


def test_the_careful_reader_keeps_what_is_wrong():
    table = layout(b"a,b,t\n1,x,u\n\n1\n2,3,na\n1,2,3,4,5\n4,inf,v\n9\n")
    found = read_carefully(table, [0, 1], [2], point=".", most=2)
    np.testing.assert_array_equal(found.columns, [[1, 2, 4], [math.nan, 3, math.inf]])
    assert [(texts.values, texts.codes.tolist()) for texts in found.texts] == [(["u", "v"], [0, -1, 1])]
    assert [(row.line, count_fields(row, table)) for row in found.misfits] == [(4, 1), (6, 5)]
    assert found.misfit_count == 3
    assert {k: row.line for k, row in rows_at(table, [2, 0]).items()} == {0: 2, 2: 7}
    stopped = read_carefully(table, [0, 1], [2], point=".", most=1, stop=True)
    assert (stopped.columns[0].tolist(), stopped.misfit_count) == ([1.0], 1)


def test_only_so_many_texts_are_listed():
    data = ("a,t\n" + "".join(f"1,{k}\n" for k in range(MOST_TEXTS + 5))).encode()
    careful = read_carefully(layout(data), [0], [1], point=".", most=1)
    for (texts,) in (read_fast(layout(data), [0], [1])[1], careful.texts):
        assert len(texts.values) == MOST_TEXTS
        assert texts.codes.size == MOST_TEXTS + 5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a" * 101, "line 1 has more than 100 characters"),
        (b"a,b\r\n1,2\r\n" + b" " * 101, "line 3 has more than 100 characters"),
        (b"a,b\n\xff\xff,1\n", "is not text in UTF-8, nor in UTF-16 or UTF-32 with a byte order mark"),
        ("a,b".encode("utf-16") + b"1", "is not text in UTF-8, nor in UTF-16"),
    ],
)
def test_what_is_no_text_or_endless_is_refused(data, message):
    with pytest.raises(BadInput, match=message):
        list(rows(layout(data)))


def test_lines_may_be_as_long_as_they_may():
    assert layout(b"a" * 100 + b"\r\n").names == ["a" * 100]


def test_a_quoted_field_without_end_is_refused_with_its_line():
    data = b'a,b\n1,2\n3,"' + b"x\n" * 100_000
    with pytest.raises(BadInput, match="line 3: field larger than field limit"):
        list(rows(layout(data, Style(100, multiline=True))))


def test_bytes_that_are_no_text_may_be_replaced():
    table = layout(b"a,b\n1,\xff\n", Style(100, errors="replace"))
    assert read_carefully(table, [0], point=".", most=1).columns[0].tolist() == [1.0]
