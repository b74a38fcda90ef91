"""Designs: what they take and refuse, and in which words; exact round trips as text and files; explicit bounds."""

import json
import math
import pickle
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import Boundary, Plan, Schedule, characteristics
from designer.core.errors import BadInput
from designer.rule.boundary import LEAST_EPSILON
from designer.rule.design import Design, Predicted, Provenance
from designer.rule.looks import MAX_N_DATA
from designer.rule.plan import as_plan
from samplers.decide.comparison import Comparison
from samplers.decide.sequential import SequentialTest

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


# --- values -----------------------------------------------------------------------------------------------------------


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
        ({"epsilon": 0}, "epsilon = 0: must lie in [1e-16, 0.5]"),
        ({"epsilon": np.float64(0.7)}, "epsilon = 0.7: must lie in [1e-16, 0.5]"),
        ({"epsilon": math.nan}, "epsilon = nan: must lie in [1e-16, 0.5]"),
        ({"epsilon": None}, "epsilon = None: must lie in [1e-16, 0.5]"),
        ({"epsilon": "x\n" * 99}, "epsilon = '" + r"x\n" * 19 + "x…': must lie in [1e-16, 0.5]"),
        ({"alpha": 0.49}, "alpha = 0.49: must lie in [0.5, 1]"),
        ({"alpha": np.True_}, "alpha = True: must lie in [0.5, 1]"),
        ({"growth": 1.02}, "growth = 1.02: must be 1 (equal batches) or lie in [1.05, 1e+06]"),
        ({"growth": math.inf}, "growth = inf: must be 1 (equal batches) or lie in [1.05, 1e+06]"),
        ({"growth": True}, "growth = True: must be 1 (equal batches) or lie in [1.05, 1e+06]"),
        ({"predicted": 3}, "predicted = 3: must be a table"),
        ({"epsilon": 0.7, "alpha": 2}, "epsilon = 0.7: must lie in [1e-16, 0.5]; alpha = 2: must lie in [0.5, 1]"),
    ],
)
def test_refusals_name_field_value_and_range(change, text):
    assert message(Design, **{"n_data": 12214, "m": 500, "epsilon": 0.05} | change) == text


def test_limits_are_included():
    assert Design(2, 2, 0.5, 1.0, 1e6).growth == 1e6
    assert Design(MAX_N_DATA, MAX_N_DATA, LEAST_EPSILON, 0.5, 1.05).m == MAX_N_DATA


def test_notes_refuse_too():
    assert message(Predicted, mean_usage=-0.1, estimate=math.nan) == (
        "mean_usage = -0.1: must lie in [0, inf); estimate = nan: must lie in [0, inf)"
    )
    assert message(Provenance, trial="abc") == "trial = 'abc': must be a SHA-256 digest, 64 digits of 0-9a-f"
    assert message(Provenance, version="a\nb") == "version = 'a\\nb': must be a string of 1 to 200 printable characters"
    assert message(Provenance, criterion="\x7f").startswith(r"criterion = '\x7f': must be a string")
    assert message(Provenance, pairs=0) == "pairs = 0: must be a whole number from 1 to 5,000,000"
    assert message(Predicted, usage=1).startswith("usage: unknown; allowed: mean_abs_delta, mean_usage,")
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


# --- files ------------------------------------------------------------------------------------------------------------

sizes = st.none() | st.floats(min_value=0, allow_nan=False, allow_infinity=False)
texts = st.none() | st.text(st.characters(categories=["L", "N", "P", "S"]) | st.just(" "), min_size=1, max_size=50)


@st.composite
def designs(draw):
    n_data = draw(st.integers(2, MAX_N_DATA))
    bands = st.none() | st.tuples(st.floats(0, 0.5), st.floats(0.5, 1))
    kinds = {name: bands if name.endswith("_band") else sizes for name in Predicted.model_fields}
    predicted = st.builds(Predicted, **kinds | {"source": st.none() | texts})
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
        draw(st.floats(LEAST_EPSILON, 0.5)),
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


ALLOWED = "allowed: kind, n_data, m, epsilon, alpha, growth"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("epsilon = 0.05", "epsilon = 0.7", "test.epsilon = 0.7: must lie in [1e-16, 0.5]"),
        ("epsilon = 0.05", 'epsilon = "0.05"', "test.epsilon = '0.05': must lie in [1e-16, 0.5]"),
        ("epsilon = 0.05", "epsilon = nan", "test.epsilon = nan: must lie in [1e-16, 0.5]"),
        ("epsilon = 0.05", "epsilon = 1979-05-27", "test.epsilon = 1979-05-27: must lie in [1e-16, 0.5]"),
        ("m = 500", "m = true", "test.m = True: must be a whole number from 2 to 12,214"),
        ("m = 500", "m = [500]", "test.m = [500]: must be a whole number from 2 to 12,214"),
        ("m = 500\n", "", "test.m: missing"),
        ("m = 500", "n = 500", f"test.m: missing; test.n: unknown; {ALLOWED}"),
        ("alpha", "aplha", f"test.aplha: unknown; {ALLOWED}"),
        ('kind = "sequential"\n', "", "test.kind: missing"),
        ("sequential", "barker", "test.kind = 'barker': must be 'sequential'"),
        ("[test]", "[tset]", "test: missing; a design file needs a table [test]"),
        ("[test]", "[x]\nx = 1\n[[test]]", "test = [{'kind': 'sequential', 'n_data': 12214…: must be a table"),
        ("format = 1", "format = 3", "format = 3: written by a newer version; this version reads formats up to 2"),
        ("format = 1", "format = 0", "format = 0: must be a whole number from 1 to 1,000,000"),
        (
            "growth = 1.0",
            "growth = 1.0\n[predicted]\nusage = 1",
            "predicted.usage: unknown; allowed: mean_abs_delta,",
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
            "test.epsilon = 0.7: must lie in [1e-16, 0.5]; test.alpha = 7: must lie in",
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
        ("[]", "test: missing; a design file needs a table [test]"),
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


# --- explicit bounds --------------------------------------------------------------------------------------------------

LOWER, UPPER = [-3.0, -2.0, -1.0], [4.0, 2.5, 0.5]
BOUNDED = Design.with_bounds(1000, 300, LOWER, UPPER)


@given(
    st.lists(st.tuples(st.floats(-50, 50), st.floats(0, 50)), min_size=3, max_size=3),
    st.sampled_from([None, -math.inf]),
)
def test_files_give_back_every_bit_of_bounds(bounds, first):
    lower = [low if k or first is None else first for k, (low, _) in enumerate(bounds)]
    design = Design.with_bounds(1000, 300, lower, [low + more for low, more in bounds])
    assert Design.from_toml(design.to_toml()) == design
    assert Design.from_json(design.to_json()) == design
    assert 0 < design.epsilon <= 0.5


def test_the_format_rises_only_for_bounds():
    assert BOUNDED.to_toml().startswith("format = 2\n")
    plain = Design(1000, 300, 0.05)
    assert plain.to_toml().startswith("format = 1\n") and "lower" not in plain.to_toml()
    assert Design.from_toml(plain.to_toml().replace("format = 1", "format = 2")) == plain


def test_bounds_are_part_of_the_identity():
    other = Design.with_bounds(1000, 300, LOWER, [4.0, 2.5, 0.6])
    assert other != BOUNDED and BOUNDED.without_notes != other.without_notes and hash(BOUNDED) != hash(other)
    assert BOUNDED.explicit and not Design(1000, 300, 0.05).explicit
    assert BOUNDED.epsilon == pytest.approx(0.309)  # beyond 0.5, to three digits


def test_the_engine_uses_bounds():
    plan = Plan(Schedule.equal(1000, 300), Boundary.explicit(LOWER, UPPER))
    mu = [-2.0, -0.5, 0.5, 2.0]
    assert np.array_equal(characteristics(BOUNDED, mu).error, characteristics(plan, mu).error)
    assert as_plan(BOUNDED).boundary.upper.tolist() == UPPER
    grown = Design.with_bounds(1000, 300, LOWER, UPPER, growth=1.5)
    assert as_plan(grown).schedule.n.tolist() == [300, 450, 675, 1000]


def test_the_sequential_test_uses_bounds():
    mine = SequentialTest.from_design(BOUNDED)
    same = SequentialTest.from_plan(Plan(Schedule.equal(1000, 300), Boundary.explicit(LOWER, UPPER)))
    for seed in range(30):
        terms = np.random.default_rng(seed).normal(0.001, 0.03, 1000)
        one, other = (t.decide(np.random.default_rng(seed), Comparison(1000, terms.take)) for t in (mine, same))
        assert one == other


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"lower": LOWER}, "bounds: give both lower and upper, or neither"),
        ({"lower": LOWER[:2], "upper": UPPER[:2]}, "bounds: 2 given for 3 interim looks"),
        ({"lower": UPPER, "upper": LOWER}, "bounds at look 1: lower = 4, upper = -3"),
        ({"lower": "wide", "upper": UPPER}, "lower = 'wide': must be a list"),
        ({"lower": [True, -2.0, -1.0], "upper": UPPER}, "lower: True is not a bound"),
        ({"lower": [math.nan, -2.0, -1.0], "upper": UPPER}, "lower: nan is not a bound"),
        ({"lower": [-(10**400), -2.0, -1.0], "upper": UPPER}, "lower: an integer is too large"),
        ({"lower": [], "upper": []}, r"lower = \[\]: must be a list of 1 to 10,000 numbers"),
    ],
)
def test_refusals_of_bounds(bounds, message):
    with pytest.raises(BadInput, match=message):
        Design(1000, 300, 0.05, **bounds)


def test_a_file_says_where_bounds_are_wrong():
    broken = re.sub(r",\s*(-1.0|0.5),\s*\]", "]", BOUNDED.to_toml())
    assert broken.count("]") == BOUNDED.to_toml().count("]")
    with pytest.raises(BadInput, match=r"^test\.bounds: 2 given for 3 interim looks$"):
        Design.from_toml(broken)
