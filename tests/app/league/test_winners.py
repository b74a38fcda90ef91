"""The league's cells: how they are stored, and who is first at which error."""

from __future__ import annotations

import json
import math

from app.league.cells import Cell, League, as_json, load
from app.league.winners import NOBODY, winner

FAST = Cell(setup=1.0, seconds=2.0, steps=10, rows=50.0, effective=20_000.0, memory=100.0)
ROUGH = FAST._replace(mean_error=0.4, mean_se=0.01, mean_shown=0.37)
AT_ONCE = Cell(setup=0.1, seconds=0.0, effective=math.inf, mean_error=0.03, memory=100.0)


def test_a_method_that_is_shown_to_be_off_never_gets_there():
    assert FAST.seconds_to(0.01) == 1.0 + 1e4 / 1e4
    assert ROUGH.seconds_to(0.1) == math.inf and "off by 0.4" in ROUGH.why_not(0.1)
    assert ROUGH.seconds_to(0.5) < math.inf
    assert FAST._replace(trusted=False).seconds_to(0.1) == math.inf
    few = FAST._replace(effective=99.0)
    assert few.seconds_to(0.1) == math.inf and math.isnan(few.per_second) and "unfinished" in few.why_not(0.1)


def test_a_method_without_draws_is_there_at_once_or_never():
    assert AT_ONCE.seconds_to(0.05) == 0.1
    assert AT_ONCE.seconds_to(0.02) == math.inf and AT_ONCE.why_not(0.02) == "off by 0.03"


def test_the_winner_depends_on_the_error_that_is_allowed():
    cells = {"sequential": FAST, "Laplace": AT_ONCE, "NUTS": FAST._replace(setup=1.5), "exact": Cell(problem="slow")}
    strict, loose = winner(cells, 0.02), winner(cells, 0.05)
    assert (strict.method, strict.close, strict.ours[0], strict.other[0]) == (
        "sequential",
        ("NUTS",),
        "sequential",
        "NUTS",
    )
    assert (loose.method, loose.close) == ("Laplace", ())
    assert winner({"NUTS": ROUGH}, 0.02).method == NOBODY


def test_cells_are_stored_with_four_digits_and_read_again(tmp_path):
    cells = {("a", 10, "Laplace"): AT_ONCE, ("a", 10, "NUTS"): Cell(problem="unfinished"), ("b", 10, "NUTS"): ROUGH}
    league = League(cells, {("a", 10): "known", ("b", 10): "known"}, "today")
    file = tmp_path / "results.json"
    file.write_text(as_json(league))
    assert load(file)._replace(cells=dict(load(file).cells)) == league
    assert load(file).places == [("a", 10), ("b", 10)] and set(load(file).at(("a", 10))) == {"Laplace", "NUTS"}
    assert load(tmp_path / "nothing.json") == League({}, {})
    assert len(json.loads(file.read_text())["cells"]) == 3
