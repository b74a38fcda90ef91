"""Data tables as text: what is read, and what is said about the line and column that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

X = [[1.5, -2.0], [0.25, 3e-3], [4.0, 5.0]]


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


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, ["data.path", "is empty"]),
        ("# only\n\n", {}, ["is empty"]),
        ("a,b,y\n", {}, ["has no rows"]),
        ("1,2,3\n4,5,6\n", {}, ["line 1", "numbers where the names of the columns should be"]),
        ("a,a,y\n1,2,0\n", {}, ["line 1", "two columns are called 'a'"]),
        ("a,,y\n1,2,0\n", {}, ["line 1", "a column has no name"]),
        ("a,b,z\n1,2,0\n", {}, ["data.label = 'y': no such column; the columns are a, b, z"]),
        ("y\n1\n", {}, ["no column except the label"]),
        ("a,y\n1,0\n", {"columns": ["q"]}, ["data.columns: 'q': no such column; the columns are a, y"]),
        ("a,y\n1,0\n", {"columns": ["y"]}, ["data.columns: 'y': is the label"]),
        ("a,y\n1,0\n", {"columns": ["a", "a"]}, ["data.columns: 'a': is listed twice"]),
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
        (b"a,y\n\xff\xff,1\n", {}, ["not text in UTF-8"]),
        ("a,y\n1,1\n".encode("utf-16") + b"1", {}, ["not text in UTF-8, nor in UTF-16"]),
        ("a,y\n1,1\n1,0\n", {"standardise": True}, ["data.standardise: column 'a' is constant"]),
        ("intercept,y\n1,1\n2,0\n", {"intercept": True}, ["data.intercept: there is already a column 'intercept'"]),
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


def test_tables_are_measured_by_their_lines(read, refuses, little):
    for end in ("\n", "\r\n", "\r"):
        assert read(f"a{end}" + f"1{end}" * 30_000, None).x.shape == (30_000, 1)
        refuses(
            lambda end=end: read(f"a{end}" + f"1{end}" * 31_300, None), "unpacks to 1,001,6", "a .npy file would be"
        )
