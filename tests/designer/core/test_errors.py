"""The checks of one number, and the words in which they refuse."""

import math

import numpy as np
import pytest

from designer.core.errors import BadInput, integer, prefix_errors, real


def message(call, *args, **kwargs):
    """The one line with which `call` refuses."""
    with pytest.raises(BadInput) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert text.isprintable()
    return text


FIVES = [5, 5.0, np.int64(5), np.uint8(5), np.float32(5), np.float64(5), np.longdouble(5), np.array(5), np.array(5.0)]


@pytest.mark.parametrize("value", FIVES, ids=repr)
def test_any_scalar_is_a_number(value):
    for number, kind in ((integer("x", value, 2, 9), int), (real("x", value, 2, 9), float)):
        assert (number, type(number)) == (5, kind)
    assert message(integer, "x", value, 6, 9) == f"x = {value!s}: must be a whole number from 6 to 9"
    assert message(real, "x", value, 6, 9) == f"x = {value!s}: must lie in [6, 9]"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "True"), (np.True_, "True"), (np.array(True), "True"), (None, "None"), (1j, "1j"),
        ("1", "'1'"), (np.str_("1"), "'1'"), (b"1", "b'1'"), ([1], "[1]"), (np.array([1]), "[1]"), (math.nan, "nan"),
        (np.float32("inf"), "inf"), (-(10**400), "-1" + "0" * 37 + "…"), (10**5000, "a huge number"),
        ("1" * 10**6, "'" + "1" * 39 + "…'"), ([1] * 10**5, "[" + "1, " * 12 + "1,…"), ("\x1b\n", r"'\x1b\n'"),
    ],
    ids=lambda value: type(value).__name__,  # pytest cannot print the huge ones
)  # fmt: skip
def test_what_is_no_number_is_refused_in_few_words(value, shown):
    assert message(integer, "x", value, 0, 9) == f"x = {shown}: must be a whole number from 0 to 9"
    assert message(real, "x", value, 0, 9) == f"x = {shown}: must lie in [0, 9]"


def test_whole_numbers_keep_every_digit():
    assert integer("x", np.int64(2**62 + 1), 0, 2**63) == 2**62 + 1
    assert message(integer, "x", np.float32(2.5), 0, 9).startswith("x = 2.5: ")


def test_a_prefix_says_where_and_leaves_other_errors_alone():
    with pytest.raises(BadInput, match=r"^design\.toml: m = 1: must"), prefix_errors("design.toml: "):
        integer("m", 1, 2, 9)
    with pytest.raises(KeyError, match=r"^'m'$"), prefix_errors("design.toml: "):
        raise KeyError("m")
