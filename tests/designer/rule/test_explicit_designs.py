"""Designs with bounds of their own at every look: files, identity, and that the engine and the test use them."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer import BadInput, Boundary, Design, Plan, Schedule, characteristics
from designer.rule.plan import as_plan
from samplers.decide.comparison import Comparison
from samplers.decide.sequential import SequentialTest

LOWER, UPPER = [-3.0, -2.0, -1.0], [4.0, 2.5, 0.5]
DESIGN = Design.with_bounds(1000, 300, LOWER, UPPER)


@given(
    st.lists(st.tuples(st.floats(-50, 50), st.floats(0, 50)), min_size=3, max_size=3),
    st.sampled_from([None, -math.inf]),
)
def test_files_give_back_every_bit(bounds, first):
    lower = [low if k or first is None else first for k, (low, _) in enumerate(bounds)]
    design = Design.with_bounds(1000, 300, lower, [low + more for low, more in bounds])
    assert Design.from_toml(design.to_toml()) == design
    assert Design.from_json(design.to_json()) == design
    assert 0 < design.epsilon <= 0.5


def test_the_format_rises_only_for_bounds():
    assert DESIGN.to_toml().startswith("format = 2\n")
    plain = Design(1000, 300, 0.05)
    assert plain.to_toml().startswith("format = 1\n") and "lower" not in plain.to_toml()
    assert Design.from_toml(plain.to_toml().replace("format = 1", "format = 2")) == plain


def test_bounds_are_part_of_the_identity():
    other = Design.with_bounds(1000, 300, LOWER, [4.0, 2.5, 0.6])
    assert other != DESIGN and DESIGN.without_notes != other.without_notes and hash(DESIGN) != hash(other)
    assert DESIGN.explicit and not Design(1000, 300, 0.05).explicit
    assert DESIGN.epsilon == pytest.approx(0.309)  # beyond 0.5, to three digits


def test_the_engine_uses_them():
    plan = Plan(Schedule.equal(1000, 300), Boundary.explicit(LOWER, UPPER))
    mu = [-2.0, -0.5, 0.5, 2.0]
    assert np.array_equal(characteristics(DESIGN, mu).error, characteristics(plan, mu).error)
    assert as_plan(DESIGN).boundary.upper.tolist() == UPPER
    grown = Design.with_bounds(1000, 300, LOWER, UPPER, growth=1.5)
    assert as_plan(grown).schedule.n.tolist() == [300, 450, 675, 1000]


def test_the_test_runs_them():
    mine = SequentialTest.from_design(DESIGN)
    same = SequentialTest.from_plan(Plan(Schedule.equal(1000, 300), Boundary.explicit(LOWER, UPPER)))
    for seed in range(30):
        terms = np.random.default_rng(seed).normal(0.001, 0.03, 1000)
        one, other = (t.decide(np.random.default_rng(seed), Comparison(1000, terms.take)) for t in (mine, same))
        assert one == other


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"lower": LOWER}, "bounds: give lower and upper, or none of them"),
        ({"lower": LOWER[:2], "upper": UPPER[:2]}, "bounds: 2 given for 3 interim looks"),
        ({"lower": UPPER, "upper": LOWER}, "bounds at look 1: lower = 4, upper = -3"),
        ({"lower": "wide", "upper": UPPER}, "lower = 'wide': must be a list"),
        ({"lower": [True, -2.0, -1.0], "upper": UPPER}, "lower: True is not a bound"),
        ({"lower": [math.nan, -2.0, -1.0], "upper": UPPER}, "lower: nan is not a bound"),
        ({"lower": [-(10**400), -2.0, -1.0], "upper": UPPER}, "lower: an integer in it is too large"),
        ({"lower": [], "upper": []}, r"lower = \[\]: must be a list of 1 to 10,000 numbers"),
    ],
)
def test_refusals(bounds, message):
    with pytest.raises(BadInput, match=message):
        Design(1000, 300, 0.05, **bounds)


def test_a_file_says_where_it_is_wrong():
    broken = re.sub(r",\s*(-1.0|0.5),\s*\]", "]", DESIGN.to_toml())
    assert broken.count("]") == DESIGN.to_toml().count("]")
    with pytest.raises(BadInput, match=r"^test\.bounds: 2 given for 3 interim looks$"):
        Design.from_toml(broken)
