"""Error, data use and number of looks of one test as curves over the standardised mean, ready to be integrated.

The curves are tabulated once per test, on panels of |μ_std| with Gauss-Legendre nodes; `integrate` then averages them
over u for any number of pairs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.work import spend
from designer.engine import _walk_kernels
from designer.engine.look_grid import WINDOW
from designer.engine.skew import Mask
from designer.engine.walk import outcomes
from designer.rule.plan import Plan

ORDER = 14  # nodes and Legendre terms per panel for full accuracy
QUICK_ORDER, QUICK = 9, 1e-8  # the same for a tolerance above QUICK
RATIO = 1.7  # between a panel's ends; the curves vary on the scale of μ_std itself
WIDTH = 4.0  # widest panel, in units of 1 / sqrt(t_1)
MOST_PANELS = 200
ROUGH = 1e-6  # largest error of a panel's series; a panel with more is cut
PIECES, CUTS = 4, 6  # into this many pieces, at most this many times
FAR = 1e12  # no curve is followed beyond this μ_std
HARDEST = np.array([0.0, np.nextafter(0.0, 1.0)])  # μ_std = 0 from either side: with asymmetric bounds the error jumps


class Curves(NamedTuple):
    """Error and data use of one test on panels of |μ_std|, for both signs of μ_std.

    values[c, side, panel, node] with c = 0 for the error, 1 for the usage, 2 for the number of looks; `series` the same
    as Legendre coefficients; `doubt` bounds the error of each panel's series, `estimate` that of the values. `worst` is
    error and usage at μ_std = 0, the hardest decision. u below exp(-negligible) do not count.
    """

    edges: Floats
    values: Floats
    series: Floats
    doubt: Floats
    first_usage: float
    estimate: float
    worst: tuple[float, float]
    negligible: float


def integrate(curve: Curves, a: Floats, kappa: Floats, barker: bool) -> Floats:
    """Rows Δ, E_u[usage], E_u[looks], E_u[error] and a bound on their numerical error, for pairs (A, κ)."""
    _spend(curve, a, kappa)
    out = np.empty((5, a.size))
    node, weight, _ = panel_rule(curve.values.shape[-1])
    arrays = (curve.edges, curve.series, curve.values, curve.doubt, node, weight)
    _walk_kernels.steps(a, kappa, barker, *arrays, curve.first_usage, curve.negligible, out)
    return out


def _spend(curve: Curves, a: Floats, kappa: Floats) -> None:
    """Count the work of `integrate`: the nodes of all panels, and of their pieces, that the pairs meet."""
    nearest, farthest = ((np.abs(a) + sign * curve.negligible) / kappa for sign in (-1.0, 1.0))
    panels = np.searchsorted(curve.edges, farthest) - np.searchsorted(curve.edges, np.maximum(nearest, 0.0), "right")
    pieces = 2.0 * curve.negligible / _walk_kernels.PIECE
    units = 2.0 * curve.values.shape[-1] * float(panels.sum() + pieces * a.size)
    spend(units, f"{a.size:,} pairs", "take fewer pairs")


def curves(plan: Plan, reach: float, tolerance: float, *, verify: bool = True) -> Curves:
    """The curves of one test for |μ_std| up to `reach`, or to where the first look always decides."""
    edges, order = panel_edges(plan, reach), QUICK_ORDER if tolerance > QUICK else ORDER
    panels = _on_panels(plan, edges[:-1], edges[1:], order, tolerance, verify=verify)
    curve = _curves(plan, edges, panels, negligible_at(tolerance))
    for _ in range(CUTS if order == ORDER else 0):
        rough = curve.doubt > max(ROUGH, curve.estimate)
        if not rough.any():
            break
        curve = cut(plan, curve, rough, tolerance)
    return curve


def cut(plan: Plan, curve: Curves, which: Mask, tolerance: float) -> Curves:
    """The same curves with some panels cut: bounds far out at the first looks make the curves steep in places."""
    low, high = curve.edges[:-1], curve.edges[1:]
    ends = np.linspace(low[which], high[which], PIECES + 1, axis=1)
    starts, order = ends[:, :-1].ravel(), curve.values.shape[-1]
    fine = _on_panels(plan, starts, ends[:, 1:].ravel(), order, tolerance, verify=False).values
    starts, values = np.concatenate([low[~which], starts]), np.concatenate([curve.values[:, :, ~which], fine], axis=2)
    place = np.argsort(starts)
    known = _Panels(values[:, :, place], curve.estimate, curve.worst)
    return _curves(plan, np.append(starts[place], high[-1]), known, curve.negligible)


def negligible_at(tolerance: float) -> float:
    """The -log u beyond which all u together change nothing by more than a thousandth of the tolerance."""
    return min(_walk_kernels.NEGLIGIBLE, math.log(1000.0 / tolerance))


def _curves(plan: Plan, edges: Floats, panels: _Panels, negligible: float) -> Curves:
    values, estimate, worst = panels
    series = np.ascontiguousarray(values @ panel_rule(values.shape[-1])[2])
    last = np.abs(series[..., -2:]).sum(axis=-1)
    last[2] /= plan.schedule.size  # the looks as a share of all
    doubt = last.max(axis=(0, 1))
    first_usage = plan.schedule.m / plan.schedule.n_data
    return Curves(edges, np.ascontiguousarray(values), series, doubt, first_usage, estimate, worst, negligible)


class _Panels(NamedTuple):
    """The curves at the nodes of panels, a bound on their numerical error, and error and usage at μ_std = 0."""

    values: Floats
    estimate: float
    worst: tuple[float, float]


def _on_panels(plan: Plan, low: Floats, high: Floats, order: int, tolerance: float, *, verify: bool) -> _Panels:
    """The curves at the nodes of panels; the hardest decision, on the side where it errs more, comes along."""
    x = panel_nodes(low, high, panel_rule(order)[0])
    signed = np.concatenate([HARDEST, x] if plan.boundary.symmetric else [HARDEST, x, -x])
    outcome, estimate = outcomes(plan, signed, tolerance, verify=verify)
    both = np.stack([outcome.error(signed), outcome.usage, outcome.looks])
    values = both[:, HARDEST.size :].reshape(3, -1, low.size, order)
    values = np.broadcast_to(values, (3, 2, low.size, order))  # symmetric: one side is both
    return _Panels(values, estimate, (float(both[0, : HARDEST.size].max()), float(outcome.usage[0])))


def panel_edges(plan: Plan, reach: float) -> Floats:
    """Ends of the panels, from 0 to `reach` or to where the first look is certain to decide.

    The curves vary on the scale of μ_std itself, down to that of the last interim look, but never faster than
    on the scale 1 / sqrt(t_1) of the first: panels grow by RATIO up to WIDTH of those.
    """
    if plan.schedule.size == 1:  # no interim look: nothing to resolve
        return np.array([0.0, min(reach, 1.0)])
    n_data, index = float(plan.schedule.n_data), np.array([0, plan.schedule.size - 2])
    n = plan.schedule.at(index).astype(np.float64)
    scale = np.sqrt((n_data - n) / n)
    lower, upper = plan.boundary.at(index[:1], n[:1] / n_data)
    end = min(reach, float(max(-lower[0], upper[0]) + WINDOW) * scale[0], FAR)
    width = max(WIDTH * scale[0], end / MOST_PANELS)
    edges = [0.0, min(scale[1], end)]
    while edges[-1] < end:
        edges.append(edges[-1] + min(width, (RATIO - 1.0) * edges[-1]))
    edges[-1] = end
    return np.array(edges)


def panel_nodes(low: Floats, high: Floats, node: Floats) -> Floats:
    """The nodes of all panels."""
    mid, radius = 0.5 * (high + low), 0.5 * (high - low)
    return np.asarray((mid[:, None] + radius[:, None] * node).ravel())


@lru_cache(maxsize=4)
def panel_rule(order: int) -> tuple[Floats, Floats, Floats]:
    """Nodes and weights on [-1, 1], and the matrix from values at the nodes to Legendre coefficients."""
    node, weight = np.polynomial.legendre.leggauss(order)
    values = np.polynomial.legendre.legvander(node, order - 1)
    return node, weight, weight[:, None] * values * (np.arange(order) + 0.5)
