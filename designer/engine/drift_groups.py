"""Which drifts share one pass of the walk, and how much work that is.

One pass serves every drift, but its nodes must cover the paths of all of them. Where bounds are enormous at the first
looks (O'Brien-Fleming), drifts that are far apart are cheaper in groups, each with a window of its own. Where the
bounds themselves keep the window narrow, a group costs as much as all drifts together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.errors import BadInput
from designer.core.work import MOST_AT_ONCE, spend
from designer.engine.look_grid import WINDOW, Grid, Resolution, grid_of
from designer.rule.plan import Plan

MOST_NODES = 3e6  # more than this, over all looks, and a window is cut if a single drift needs much less:
MUCH_LESS = 0.3  # of the nodes
LIGHT = 1e8  # units: above, drifts are handled in groups where that halves the work


class Group(NamedTuple):
    """Drifts that share a pass: their places, their window, and whether it is mirrored.

    `nodes` over all looks and at the `widest` look, roughly; `work` in units.
    """

    places: Ints
    grid: Grid
    mirror: bool
    nodes: float
    widest: float
    work: float


def groups_of(plan: Plan, mu: Floats, resolution: Resolution, mirror: bool) -> list[Group]:
    """The groups of drifts that are cheapest together; BadInput if even these are too much work."""
    if mu.size == 0:
        return []
    found = list(_cut(plan, mu, resolution, _group(plan, mu, np.arange(mu.size), resolution, mirror)))
    check_work(plan, found, mu.size)
    return found


def check_work(plan: Plan, groups: list[Group], drifts: int) -> None:
    """Count the work of these passes, or refuse it."""
    schedule = plan.schedule
    closest = max((group.widest for group in groups), default=0.0)
    if closest > MOST_AT_ONCE:
        raise BadInput(f"looks: two of them are so close that one takes {closest:.0e} nodes; take looks further apart")
    what = f"n_data = {schedule.n_data:,}, m = {schedule.m:,}, {schedule.size:,} looks, {drifts:,} standardised means"
    advice = "take looks further apart (a larger m, or growth), or fewer standardised means"
    spend(sum(group.work for group in groups), what, advice)


def _cut(plan: Plan, mu: Floats, resolution: Resolution, whole: Group) -> Iterator[Group]:
    """The group, or the groups that it is better cut into."""
    drifts = mu[whole.places]
    small = drifts <= 0.5 * (drifts.min() + drifts.max())
    wide = whole.nodes > MOST_NODES
    if small.all() or not (wide or whole.work > LIGHT):
        yield whole
        return
    near = _group(plan, mu, whole.places[small], resolution, whole.mirror)
    if wide and whole.mirror:  # perhaps a window around the drifts, not around 0, is narrow enough
        near = min(near, _group(plan, mu, whole.places[small], resolution, False), key=lambda group: group.work)
    parts = [near, _group(plan, mu, whole.places[~small], resolution, False)]
    halved = sum(part.work for part in parts) < 0.5 * whole.work
    if halved or (wide and _group(plan, mu, whole.places[:1], resolution, False).nodes < MUCH_LESS * whole.nodes):
        for part in parts:
            yield from _cut(plan, mu, resolution, part)
    else:
        yield whole


def _group(plan: Plan, mu: Floats, places: Ints, resolution: Resolution, mirror: bool) -> Group:
    """Some of the drifts in one window."""
    drifts = mu[places]
    grid = grid_of(plan, float(drifts.min()), float(drifts.max()), resolution.r_star, mirror)
    window, inside = (resolution.density * lengths for lengths in _lengths(grid))
    nodes, tails = float(window.sum()), float(np.maximum(window - inside, 0.0).sum())
    work = nodes * 2.0 * resolution.reach * resolution.density + tails * drifts.size
    return Group(places, grid, mirror, nodes, float(window.max(initial=0.0)), 0.5 * work if mirror else work)


def _lengths(grid: Grid) -> tuple[Floats, Floats]:
    """Lengths of the window at each look, with tails, and of its inside: in widths r of the step to that look."""
    if grid.n.size == 0:
        return np.empty(0), np.empty(0)
    inside_low, inside_high = np.maximum(grid.lower, grid.low), np.minimum(grid.upper, grid.high)
    rho, r = grid.rho[1:], grid.r[1:]
    low = np.maximum(grid.low[1:], (inside_low[:-1] - WINDOW * r) / rho)
    high = np.minimum(grid.high[1:], (inside_high[:-1] + WINDOW * r) / rho)
    inside = np.maximum(inside_high - inside_low, 0.0) / np.append(1.0, r)
    return np.append(inside[0], np.maximum(high - low, 0.0) / r), inside
