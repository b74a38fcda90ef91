"""pydantic's errors as lines for people: where, which value, what is allowed."""

from __future__ import annotations

import pickle
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from designer.core.errors import BadInput, integer
from designer.core.validation import MAX_LISTED, BadFields, Record, kinds_of, validated


class Walk(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["walk"] = "walk"
    scale: float = Field(gt=0.0, le=1e300)
    weights: tuple[float, float] = (0.5, 0.5)
    names: tuple[str, ...] = Field(default=("x",), min_length=1, max_length=2)
    steps: int = 1
    fast: bool = True

    @model_validator(mode="after")
    def _weights_fit(self):
        if sum(self.weights) > 1.0:
            raise BadInput("weights: their sum must not exceed 1")
        return self


class Jumps(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["jumps", "leaps"] = "jumps"


ALLOWED = "kind, scale, weights, names, steps, fast"  # in a `Walk`
Proposal = Annotated[Walk | Jumps, Field(discriminator="kind")]


class Size(Record):
    m: int

    @model_validator(mode="before")
    def _whole(cls, values):
        return values | {"m": integer("m", values["m"], 2, 9)} if "m" in values else values


def test_a_union_is_known_by_its_kinds():
    assert kinds_of(Proposal) == {"walk": Walk, "jumps": Jumps, "leaps": Jumps}
    assert validated(Proposal, {"kind": "walk", "scale": 2}, "proposal") == Walk(scale=2.0)
    assert validated(Proposal, {"kind": "leaps"}, "proposal").kind == "leaps"


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"kind": "x"}, "proposal.kind = 'x': must be one of walk, jumps, leaps"),
        ({"kind": 3}, "proposal.kind = 3: must be one of walk, jumps, leaps"),
        ({"kind": ["walk"]}, "proposal.kind = ['walk']: must be one of walk, jumps, leaps"),
        ({}, "proposal.kind: missing; must be one of walk, jumps, leaps"),
        ({"kind": "walk"}, "proposal.scale: missing"),
        ({"kind": "walk", "scale": -1}, "proposal.scale = -1: must be greater than 0"),
        ({"kind": "walk", "scale": 2e300}, "proposal.scale = 2e+300: must be less than or equal to 1e+300"),
        ({"kind": "walk", "scale": "x"}, "proposal.scale = 'x': must be a number"),
        ({"kind": "walk", "scale": 1, "names": 3}, "proposal.names = 3: must be a list"),
        ({"kind": "walk", "scale": 1, "names": [3]}, "proposal.names.0 = 3: must be text"),
        ({"kind": "walk", "scale": 1, "names": []}, "proposal.names = []: must have 1 or more entries"),
        (
            {"kind": "walk", "scale": 1, "names": ["a", "b", "c"]},
            "proposal.names = ['a', 'b', 'c']: must have 2 or fewer entries",
        ),
        ({"kind": "walk", "scale": 1, "steps": 1.5}, "proposal.steps = 1.5: must be a whole number"),
        ({"kind": "walk", "scale": 1, "fast": "x"}, "proposal.fast = 'x': must be true or false"),
        ({"kind": "walk", "scale": 1, "weights": [1]}, "proposal.weights.1: missing"),
        ({"kind": "walk", "scale": 1, "weights": [1, 1]}, "proposal: weights: their sum must not exceed 1"),
        (
            {"kind": "walk", "scale": 1, "sd": 2},
            f"proposal.sd: unknown; allowed: {ALLOWED}",
        ),
        (
            {"kind": "walk", "sd": 2},
            f"proposal.scale: missing; proposal.sd: unknown; allowed: {ALLOWED}",
        ),
    ],
)
def test_each_problem_is_told_with_its_place(values, line):
    with pytest.raises(BadFields) as caught:
        validated(Proposal, values, "proposal")
    assert str(caught.value) == line


def test_a_table_of_one_shape_needs_no_kind():
    with pytest.raises(BadFields, match=r"^walk\.scale: missing$"):
        validated(Walk, {}, "walk")


def test_records_raise_bad_input():
    with pytest.raises(BadFields, match=r"^m = 1: must be a whole number from 2 to 9$") as caught:
        Size(m=1)
    assert str(caught.value.within("test")) == "test.m = 1: must be a whole number from 2 to 9"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(BadFields) as caught:
        Size(m=3, **{f"x{k}": 1 for k in range(99)})
    assert len(caught.value.problems) == MAX_LISTED
