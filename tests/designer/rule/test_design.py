"""Designs and trial runs: what they take, what they refuse and in which words, and exact round trips as text."""

import copy
import hashlib
import json
import math
import pickle
import struct
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.core.errors import BadInput, integer, real
from designer.pairs.trial_run import TrialRun
from designer.rule.design import Design, Predicted, Provenance
from designer.rule.looks import MAX_N_DATA

DIGEST = "0123456789abcdef" * 4
PLAIN = Design(12214, 500, 0.05)
FULL = Design(
    1_950_000,
    600,
    0.01,
    0.75,
    1.5,
    Predicted(mean_abs_delta=0.0098, mean_usage=0.31, worst_error=0.12, worst_usage=0.9, estimate=3e-11),
    Provenance(version="0.1.0", tolerance=0.01, criterion="average", trial=DIGEST, pairs=100),
)


def message(call, *args, **kwargs):
    """The one line with which `call` refuses."""
    with pytest.raises(BadInput) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert text.isprintable()
    return text


# --- the checks of one number -----------------------------------------------------------------------------------------

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


# --- Design: values ---------------------------------------------------------------------------------------------------


def test_positions_keywords_and_defaults():
    assert Design(n_data=12214, m=500, epsilon=0.05, alpha=0.5, growth=1.0) == PLAIN
    assert (PLAIN.alpha, PLAIN.growth, PLAIN.predicted, PLAIN.provenance) == (0.5, 1.0, None, None)


def test_numpy_scalars_become_plain_numbers():
    design = Design(np.int64(12214), np.uint16(500), np.float64(0.05), np.float32(0.75), np.array(2))
    assert design == Design(12214, 500, 0.05, 0.75, 2.0)
    assert [type(value) for value in (design.n_data, design.m, design.epsilon, design.alpha, design.growth)] == [
        int,
        int,
        float,
        float,
        float,
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"n_data": 1}, "n_data = 1: must be a whole number from 2 to 1,000,000,000,000,000"),
        ({"n_data": 10**15 + 1}, "n_data = 1000000000000001: must be a whole number from 2 to 1,000,000,000,000,000"),
        ({"n_data": "12214"}, "n_data = '12214': must be a whole number from 2 to 1,000,000,000,000,000"),
        ({"n_data": 10**5000}, "n_data = a huge number: must be a whole number from 2 to 1,000,000,000,000,000"),
        ({"m": 1}, "m = 1: must be a whole number from 2 to 12,214"),
        ({"m": 12215}, "m = 12215: must be a whole number from 2 to 12,214"),
        ({"m": 500.5}, "m = 500.5: must be a whole number from 2 to 12,214"),
        ({"m": True}, "m = True: must be a whole number from 2 to 12,214"),
        ({"epsilon": 0}, "epsilon = 0: must lie in (0, 0.5]"),
        ({"epsilon": np.float64(0.7)}, "epsilon = 0.7: must lie in (0, 0.5]"),
        ({"epsilon": math.nan}, "epsilon = nan: must lie in (0, 0.5]"),
        ({"epsilon": None}, "epsilon = None: must lie in (0, 0.5]"),
        ({"epsilon": "x\n" * 99}, "epsilon = '" + r"x\n" * 19 + "x…': must lie in (0, 0.5]"),
        ({"alpha": 0.49}, "alpha = 0.49: must lie in [0.5, 1]"),
        ({"alpha": np.True_}, "alpha = True: must lie in [0.5, 1]"),
        ({"growth": 1.02}, "growth = 1.02: must be 1 (equal batches) or lie in [1.05, 1e+06]"),
        ({"growth": math.inf}, "growth = inf: must be 1 (equal batches) or lie in [1.05, 1e+06]"),
        ({"growth": True}, "growth = True: must be 1 (equal batches) or lie in [1.05, 1e+06]"),
        ({"predicted": 3}, "predicted = 3: must be a valid dictionary or instance of Predicted"),
        ({"epsilon": 0.7, "alpha": 2}, "epsilon = 0.7: must lie in (0, 0.5]; alpha = 2: must lie in [0.5, 1]"),
    ],
)
def test_refusals_name_field_value_and_range(change, text):
    assert message(Design, **{"n_data": 12214, "m": 500, "epsilon": 0.05} | change) == text


def test_limits_are_included():
    assert Design(2, 2, 0.5, 1.0, 1e6).growth == 1e6
    assert Design(MAX_N_DATA, MAX_N_DATA, 5e-324, 0.5, 1.05).m == MAX_N_DATA


def test_notes_refuse_too():
    assert message(Predicted, mean_usage=-0.1, estimate=math.nan) == (
        "mean_usage = -0.1: must lie in [0, inf); estimate = nan: must lie in [0, inf)"
    )
    assert message(Provenance, trial="abc") == "trial = 'abc': must be a SHA-256 digest, 64 digits of 0-9a-f"
    assert message(Provenance, version="a\nb") == "version = 'a\\nb': must be a text of 1 to 200 printable characters"
    assert message(Provenance, criterion="\x7f").startswith(r"criterion = '\x7f': must be a text")
    assert message(Provenance, pairs=0) == "pairs = 0: must be a whole number from 1 to 5,000,000"
    assert message(Predicted, usage=1).startswith("usage: unknown; allowed are mean_abs_delta, mean_usage,")
    assert message(Predicted, **{f"x{i}": 1 for i in range(99)}).count("unknown") == 10


def test_frozen_hashable_and_compared_by_everything():
    with pytest.raises(ValueError, match="frozen"):
        PLAIN.m = 5
    again = Design(1_950_000, 600, 0.01, 0.75, 1.5, FULL.predicted, FULL.provenance)
    assert again == FULL
    assert hash(FULL) == hash(again)
    different = [
        FULL.without_notes,
        Design(1_950_000, 600, 0.01, 0.75, 1.5, FULL.predicted),
        Design(1_950_000, 600, 0.01, 0.75, 1.5, Predicted(), FULL.provenance),
        Design(1_950_000, 601, 0.01, 0.75, 1.5, FULL.predicted, FULL.provenance),
    ]
    assert len({FULL, *different}) == 5


def test_without_notes_it_is_the_test_alone():
    assert FULL.without_notes == Design(1_950_000, 600, 0.01, 0.75, 1.5)
    assert hash(FULL.without_notes) == hash(Design(1_950_000, 600, 0.01, 0.75, 1.5))
    assert PLAIN.without_notes == PLAIN


def test_records_and_their_errors_survive_pickling():
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    with pytest.raises(BadInput) as caught:
        Design(1, 0, 2)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# --- Design: files ----------------------------------------------------------------------------------------------------

sizes = st.none() | st.floats(min_value=0, allow_nan=False, allow_infinity=False)
texts = st.none() | st.text(st.characters(categories=["L", "N", "P", "S"]) | st.just(" "), min_size=1, max_size=50)


@st.composite
def designs(draw):
    n_data = draw(st.integers(2, MAX_N_DATA))
    predicted = st.builds(Predicted, **dict.fromkeys(Predicted.model_fields, sizes))
    provenance = st.builds(
        Provenance,
        version=texts,
        tolerance=sizes,
        criterion=texts,
        trial=st.none() | st.text("0123456789abcdef", min_size=64, max_size=64),
        pairs=st.none() | st.integers(1, 5_000_000),
    )
    return Design(
        n_data,
        draw(st.integers(2, n_data)),
        draw(st.floats(0, 0.5, exclude_min=True)),
        draw(st.floats(0.5, 1)),
        draw(st.just(1.0) | st.floats(1.05, 1e6)),
        draw(st.none() | predicted),
        draw(st.none() | provenance),
    )


@settings(deadline=None, max_examples=200)
@given(designs())
def test_toml_and_json_give_back_the_same_design(design):
    assert Design.from_toml(design.to_toml()) == design
    assert Design.from_json(design.to_json()) == design
    assert tomllib.loads(design.to_toml()) == json.loads(design.to_json())


def test_layout_of_the_file():
    assert PLAIN.to_toml() == (
        'format = 1\n\n[test]\nkind = "sequential"\nn_data = 12214\nm = 500\n'
        "epsilon = 0.05\nalpha = 0.5\ngrowth = 1.0\n"
    )
    assert json.loads(FULL.to_json())["provenance"] == {
        "version": "0.1.0",
        "tolerance": 0.01,
        "criterion": "average",
        "trial": DIGEST,
        "pairs": 100,
    }
    assert "predicted" not in json.loads(PLAIN.to_json())
    assert json.loads(Design(9, 3, 0.1, predicted=Predicted(estimate=0.0)).to_json())["predicted"] == {"estimate": 0.0}


@pytest.mark.parametrize("name", ["design.toml", "design.json", "DESIGN.JSON", "design"])
def test_files_give_back_the_same_design(tmp_path, name):
    for design in (FULL, PLAIN):  # the second replaces the first
        design.save(tmp_path / name)
        assert Design.load(tmp_path / name) == Design.load(str(tmp_path / name)) == design
    text = (tmp_path / name).read_text()
    assert text == (PLAIN.to_json() if name.lower().endswith(".json") else PLAIN.to_toml())
    assert Design.from_text(text) == Design.from_text("\ufeff\n " + text) == PLAIN
    assert [*tmp_path.iterdir()] == [tmp_path / name]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("no.toml", None, "cannot be read: No such file or directory"),
        ("latin.toml", b"# \xe9", "cannot be read: not UTF-8"),
        ("d.json", b"[test]", "broken JSON: "),
        ("d.toml", b"{}", "broken TOML: "),
        (
            "d.toml",
            b"[test]\nkind = 'sequential'\nn_data = 9\nm = 10\nepsilon = 1",
            "test.m = 10: must be a whole number",
        ),
        ("long.toml", b" " * 1_048_577, "TOML of more than 1,048,576 characters"),
    ],
)
def test_refusals_of_files_name_them(tmp_path, name, content, text):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert message(Design.load, tmp_path / name).startswith(f"{tmp_path / name}: {text}")


def test_config_of_a_run_is_a_design_file():
    config = '\ufeff[model]\nname = "logistic"\n' + PLAIN.to_toml().replace("format = 1\n", "") + "[run]\nsteps = 9\n"
    assert Design.from_toml(config) == PLAIN


def test_optional_keys_have_the_defaults():
    assert Design.from_toml('[test]\nkind = "sequential"\nn_data = 12214\nm = 500\nepsilon = 0.05') == PLAIN


ALLOWED = "allowed are kind, n_data, m, epsilon, alpha, growth"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("epsilon = 0.05", "epsilon = 0.7", "test.epsilon = 0.7: must lie in (0, 0.5]"),
        ("epsilon = 0.05", 'epsilon = "0.05"', "test.epsilon = '0.05': must lie in (0, 0.5]"),
        ("epsilon = 0.05", "epsilon = nan", "test.epsilon = nan: must lie in (0, 0.5]"),
        ("epsilon = 0.05", "epsilon = 1979-05-27", "test.epsilon = 1979-05-27: must lie in (0, 0.5]"),
        ("m = 500", "m = true", "test.m = True: must be a whole number from 2 to 12,214"),
        ("m = 500", "m = [500]", "test.m = [500]: must be a whole number from 2 to 12,214"),
        ("m = 500\n", "", "test.m: missing"),
        ("m = 500", "n = 500", f"test.m: missing; test.n: unknown; {ALLOWED}"),
        ("alpha", "aplha", f"test.aplha: unknown; {ALLOWED}"),
        ('kind = "sequential"\n', "", "test.kind: missing"),
        ("sequential", "barker", "test.kind = 'barker': must be 'sequential'"),
        ("[test]", "[tset]", "test: missing; a design file needs a table of this name"),
        ("[test]", "[x]\nx = 1\n[[test]]", "test = [{'kind': 'sequential', 'n_data': 12214…: must be a table"),
        ("format = 1", "format = 3", "format = 3: written by a newer version; this one reads format 2"),
        ("format = 1", "format = 0", "format = 0: must be a whole number from 1 to 1,000,000"),
        (
            "growth = 1.0",
            "growth = 1.0\n[predicted]\nusage = 1",
            "predicted.usage: unknown; allowed are mean_abs_delta,",
        ),
        (
            "growth = 1.0",
            "growth = 1.0\n[provenance]\npairs = -1",
            "provenance.pairs = -1: must be a whole number from",
        ),
        (
            "growth = 1.0",
            "growth = 1,0",
            "broken TOML: Expected newline or end of document after a statement (at line 9",
        ),
        ("m = 500", "m = 500\nm = 600", "broken TOML: Cannot overwrite a value (at line 7"),
        (
            "0.05\nalpha = 0.5",
            "0.7\nalpha = 7",
            "test.epsilon = 0.7: must lie in (0, 0.5]; test.alpha = 7: must lie in",
        ),
    ],
)
def test_refusals_of_toml_carry_the_path(old, new, text):
    changed = PLAIN.to_toml().replace(old, new)
    assert changed != PLAIN.to_toml()
    assert message(Design.from_toml, changed).startswith(text)


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ("{", "broken JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "test: missing; a design file needs a table of this name"),
        ('{"test": {"m": 5, "m": 6}}', "broken JSON: key m appears twice"),
        ('{"test": 5}', "test = 5: must be a table"),
        ('{"a":' * 100_000, "broken JSON: nested too deeply"),
        ('{"test": ' + "1" * 5000 + "}", "broken JSON: Exceeds the limit"),
        ("", "broken JSON: Expecting value: line 1 column 1 (char 0)"),
        (" " * 1_048_577, "JSON of more than 1,048,576 characters: too long"),
        (b"{}", "JSON must be given as text, not bytes"),
    ],
)
def test_refusals_of_json(broken, text):
    assert message(Design.from_json, broken).startswith(text)


def test_strata_are_refused_with_what_to_do_instead():
    written = (Path(__file__).parents[2] / "data" / "strata.toml").read_text()
    refusal = (
        "test: strata (several designs, chosen by κ) were removed in 0.2.0; "
        "choose a single design with `austerity design`"
    )
    assert message(Design.from_toml, written) == refusal
    assert message(Design.from_json, json.dumps(tomllib.loads(written))) == refusal
    assert message(Design.from_toml, written.replace('kind = "stratified"\n', "")) == refusal


@pytest.mark.parametrize("part", ["a", "a-b", '"a b"', '"\\""', "'\"'", " a\t"])
@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "x = {{ {} = 1 }}"])
def test_long_dotted_keys_cannot_keep_the_parser_busy(part, form):
    """Left to the parser, each of these would take hours."""
    text = form.format(".".join([part] * (1_000_000 // (len(part) + 1))))
    assert message(Design.from_toml, text) == "broken TOML: nested too deeply"


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, '"' + '\\"' * 500_000, "a" * 1_000_000, '".' * 500_000])
def test_other_absurd_texts_end_soon(text):
    assert message(Design.from_toml, text).startswith("broken TOML: ")


def test_versions_and_arrays_are_no_deep_keys():
    harmless = '[model]\nx = [0.1, 0.2, 0.3]\nname = "1.2.3.4.5"\na.b.c = 1\n' + "y = [" + "1.5, " * 2000 + "]\n"
    assert Design.from_toml(harmless + PLAIN.to_toml().replace("format = 1\n", "")) == PLAIN


# --- TrialRun ---------------------------------------------------------------------------------------------------------


def test_derived_quantities_are_the_definitions():
    trial = TrialRun(10_001, [1e-4, -2e-4], [0.01, 0.02], [0.5, -0.25])
    assert trial.log_acceptance == pytest.approx([10_001 * 1e-4 - 0.5, -10_001 * 2e-4 + 0.25], rel=1e-15)
    assert trial.kappa == pytest.approx([10_001 * 0.01 / 100, 10_001 * 0.02 / 100], rel=1e-15)
    assert len(trial) == 2
    assert trial.skew is None


def test_arrays_are_own_read_only_doubles():
    mu = np.array([1, 2, 3], dtype=np.int32)
    trial = TrialRun(10, mu, np.ones(3, dtype=np.float32), -0.0, (1, 2, 3))
    mu[0] = 7
    assert trial.mu.tolist() == [1.0, 2.0, 3.0]
    assert [math.copysign(1.0, c) for c in trial.log_ratio] == [1.0, 1.0, 1.0]
    for column in trial.columns.values():
        assert column.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1.0
    for twin in (pickle.loads(pickle.dumps(trial)), copy.deepcopy(trial)):
        assert twin == trial
        assert not twin.skew.flags.writeable
    with pytest.raises(AttributeError):
        trial.n_data = 5


def test_equality_and_digest_are_by_value():
    trial = TrialRun(10, [1.0, 2.0], [1.0, 1.0])
    assert trial == TrialRun(10, np.array([1, 2]), [1, 1], [0, -0.0])
    assert hash(trial) == hash(TrialRun(10, [1, 2], [1, 1]))
    others = [
        TrialRun(11, [1, 2], [1, 1]),
        TrialRun(10, [2, 1], [1, 1]),
        TrialRun(10, [1, 2], [1, 2]),
        TrialRun(10, [1, 2], [1, 1], 1),
        TrialRun(10, [1, 2], [1, 1], 0, [0, 0]),
        TrialRun(10, [1], [1]),
    ]
    assert len({trial, *others}) == 7
    assert trial != "trial"


def test_digest_is_that_of_little_endian_doubles():
    trial = TrialRun(10, [0.5, -0.25], [1.0, 3.0], [0.0, 2.0])
    expected = b"trial run 1, n_data 10, pairs 2"
    for name, pair in (("mu", (0.5, -0.25)), ("sigma", (1.0, 3.0)), ("log_ratio", (0.0, 2.0))):
        expected += f", {name} ".encode() + struct.pack("<2d", *pair)
    assert trial.digest == hashlib.sha256(expected).hexdigest()
    assert Provenance(trial=trial.digest).trial == trial.digest
    assert repr(trial) == f"TrialRun(n_data=10, pairs=2, digest={trial.digest[:12]}…)"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((1, [1], [1]), "n_data = 1: must be a whole number from 2 to 1,000,000,000,000,000"),
        ((np.True_, [1], [1]), "n_data = True: must be a whole number from 2 to 1,000,000,000,000,000"),
        ((10, [], []), "number of pairs = 0: must be a whole number from 1 to 5,000,000"),
        ((10, [1, 2], [1]), "sigma has 1 values, mu has 2"),
        ((10, [1, 2], [1, 1], [0, 0, 0]), "log_ratio has 3 values, mu has 2"),
        ((10, [1, 2], [1, 1], 0, [1]), "skew has 1 values, mu has 2"),
        ((10, [[1, 2]], [1, 1]), "mu: must be a list of numbers, not int64 of shape (1, 2)"),
        ((10, ["1", "2"], [1, 1]), "mu: must be a list of numbers, not <U1 of shape (2,)"),
        ((10, [True, False], [1, 1]), "mu: must be a list of numbers, not bool of shape (2,)"),
        ((10, [[1], [1, 2]], [1, 1]), "mu: setting an array element with a sequence."),
        ((10, [1, math.nan], [1, 1]), "mu[1] = nan: must be finite"),
        ((10, [1, 2], [1, 0]), "sigma[1] = 0.0: must be greater than 0"),
        ((10, [1, 2], [1, 1e-200]), "sigma[1] = 1e-200: must be at least 1e-100"),
        ((10, [1, 2], [1, 1], math.inf), "log_ratio[0] = inf: must be finite; log_ratio[1] = inf: must be finite"),
        (
            (10, [1, -1e101], [-1, 1]),
            "sigma[0] = -1.0: must be greater than 0; mu[1] = -1e+101: must not exceed 1e+100",
        ),
        ((10, [1, 2], [1, 1], 0, [0, -math.inf]), "skew[1] = -inf: must be finite"),
    ],
)
def test_refusals_name_the_entries(args, text):
    assert message(TrialRun, *args).startswith(text)


def test_many_bad_entries_are_counted():
    text = message(TrialRun, 10, np.zeros(1000), np.where(np.arange(1000) % 2, -1.0, 1.0))
    assert text.split("; ")[0] == "sigma[1] = -1.0: must be greater than 0"
    assert text.split("; ")[4:] == ["sigma[9] = -1.0: must be greater than 0", "and 495 more"]


def test_largest_entries_do_not_overflow():
    trial = TrialRun(MAX_N_DATA, [1e100, -1e100], [1e-100, 1e100], [-1e100, 1e100])
    assert np.isfinite(trial.log_acceptance / trial.kappa).all()


def test_subset():
    trial = TrialRun(10, [1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12])
    assert trial.subset([2, 0, 2]) == TrialRun(10, [3, 1, 3], [6, 4, 6], [9, 7, 9], [12, 10, 12])
    assert trial.subset(np.array([False, True, False])) == TrialRun(10, [2], [5], [8], [11])
    assert trial.subset(-1) == TrialRun(10, [3], [6], [9], [12])
    assert trial.subset([0]).skew.tolist() == [10.0]
    assert message(trial.subset, [3]) == "indices: index 3 is out of bounds for axis 0 with size 3"
    assert message(trial.subset, np.zeros(3, dtype=bool)).startswith("number of pairs = 0")


@pytest.mark.parametrize("acceptance", [0.05, 0.234, 0.6, 0.95])
def test_stationary_pairs_have_the_wanted_acceptance(acceptance):
    pairs = 200_000
    trial = TrialRun.at_stationarity(50_000, acceptance, pairs, np.random.default_rng(3))
    k = trial.kappa[0]
    assert np.ptp(trial.kappa) == 0.0
    assert math.erfc(k / 2 / math.sqrt(2)) == pytest.approx(acceptance, rel=1e-12)  # 2 Phi(-k/2)
    probability = np.exp(np.minimum(trial.log_acceptance, 0.0))
    assert abs(probability.mean() - acceptance) < 4 * probability.std() / math.sqrt(pairs)
    assert abs(trial.log_acceptance.mean() + k**2 / 2) < 4 * k / math.sqrt(pairs)
    assert trial.log_acceptance.std() == pytest.approx(k, rel=4 / math.sqrt(2 * pairs))
    assert not trial.log_ratio.any()


def test_stationary_pairs_follow_the_generator():
    make = TrialRun.at_stationarity
    assert make(100, 0.3, 7, np.random.default_rng(1)) == make(100, 0.3, 7, np.random.default_rng(1))
    assert make(100, 0.3, 7, np.random.default_rng(1)) != make(100, 0.3, 7, np.random.default_rng(2))


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((100, 1.0, 5), "acceptance = 1.0: must lie in [1e-06, 0.999999]"),
        ((100, math.nan, 5), "acceptance = nan: must lie in [1e-06, 0.999999]"),
        ((100, 0.5, 0), "pairs = 0: must be a whole number from 1 to 5,000,000"),
        ((1, 0.5, 5), "n_data = 1: must be a whole number from 2 to"),
    ],
)
def test_refusals_of_stationary_pairs(args, text):
    assert message(TrialRun.at_stationarity, *args, np.random.default_rng(0)).startswith(text)


# --- the module -------------------------------------------------------------------------------------------------------


def test_import_leaves_slow_libraries_alone():
    code = "import sys, designer.rule.design, designer.pairs.trial_run; print(*{'pyarrow', 'pandas'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
