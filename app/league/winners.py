"""Who wins: the method that is first to know every mean to the error that the user allows."""

from __future__ import annotations

import math
from typing import NamedTuple

from app.league.cells import Cell, League, Place

CLOSE = 2.0  # times the winner's seconds: two runs of one machine differ by less

OURS = frozenset({"sequential, plain", "sequential", "Barker", "exact mini-batch"})  # tests on a subsample
NOBODY = "nobody"


class Winner(NamedTuple):
    """Who wins at one place, in how many seconds, and who is close to it.

    Attributes
    ----------
    method
        Its name, or "nobody".
    seconds
        To every mean, set-up included.
    close
        Methods that need less than twice as long.
    ours, other
        The best of the tests on a subsample, and the best of all others, with their seconds.
    """

    method: str
    seconds: float
    close: tuple[str, ...]
    ours: tuple[str, float]
    other: tuple[str, float]


def winner(cells: dict[str, Cell], wish: float) -> Winner:
    """Of the methods at one place.

    Examples
    --------
    >>> fast, slow = Cell(setup=1.0, seconds=1.0, effective=1e4), Cell(setup=9.0, seconds=1.0, effective=1e4)
    >>> winner({"sequential": fast, "NUTS": slow}, 0.02).method
    'sequential'
    >>> winner({"NUTS": Cell(problem="unfinished")}, 0.02).method
    'nobody'
    """
    times = {method: cell.seconds_to(wish) for method, cell in cells.items()}
    method, seconds = _first(times)
    close = tuple(one for one, time in times.items() if one != method and time <= CLOSE * seconds < math.inf)
    ours = _first({one: time for one, time in times.items() if one in OURS})
    return Winner(method, seconds, close, ours, _first({one: time for one, time in times.items() if one not in OURS}))


def _first(times: dict[str, float]) -> tuple[str, float]:
    known = {method: time for method, time in times.items() if math.isfinite(time)}
    best = min(known, key=known.__getitem__, default=NOBODY)
    return best, known.get(best, math.inf)


def winners(league: League, wish: float) -> dict[Place, Winner]:
    """Of every place."""
    return {place: winner(league.at(place), wish) for place in league.places}
