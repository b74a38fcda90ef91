"""The least Lagrangian over *all* stopping rules of a schedule, by dynamic programming (docs/optimal_boundaries.md).

A rule may do anything with what it has seen; its decision can be taken to depend on z at the look alone, because z is a
Markov process and sufficient for the drift. For weights f on the drifts and costs s of P(accept) at them, `solve` gives

    min over rules of  sum_k f_k usage(μ_k) + s_k (P(accept | μ_k) - [μ_k > 0]),

and the rule that attains it. It does not use the engine of `walk`, and is checked against it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.engine.curves import panel_rule
from designer.engine.step_error import Rule
from designer.further.optimal_boundary import _kernels
from designer.pairs.trial_run import TrialRun
from designer.rule.looks import Schedule

WINDOW, FIRST_WINDOW = 9.0, 4.0  # |z| followed at a look: this, and that much more at the first, with its wide bounds
AGAINST = 6.0  # no rule decides against a z beyond this
ORDER = 10  # nodes per panel of z
WIDEST, NARROW = 2.0, 4.5  # a panel of z: at most this, and at most this many steps r from the look before
MOST_CHANGES = 16  # of the decision, over z at one look
DRIFT_ORDER, DRIFT_RATIO, DRIFT_WIDTH = 10, 1.7, 3.0  # panels of the drifts; the last in units of 1 / sqrt(t_1)
PAIR_ORDER = 16


class Mixture(NamedTuple):
    """Drifts μ (ascending, symmetric about 0) and each pair's weights on them, one row per pair.

    A row integrates smooth functions over μ_std = (A - log u) / κ, u uniform. Drifts so large that the first look
    is certain to decide rightly are left out: they only cost the first batch.
    """

    mu: Floats
    weights: Floats


class Solved(NamedTuple):
    """The least value, and the rule's bounds: it rejects below `lower`, accepts above `upper`.

    `interval`: the rule reads on everywhere in between. If not, these are the outermost bounds.
    """

    value: float
    lower: Floats
    upper: Floats
    interval: bool


def mixture(schedule: Schedule, trial: TrialRun, rule: Rule) -> Mixture:
    """The drifts that the pairs of a trial run meet."""
    n = schedule.n[:-1].astype(np.float64)
    scale = np.sqrt((schedule.n_data - n) / n)  # 1 / sqrt(t)
    end = (WINDOW + FIRST_WINDOW + _kernels.REACH) * scale[0]
    edges = [0.0, min(scale[-1], end)]
    while edges[-1] < end:
        edges.append(min(end, edges[-1] + min(DRIFT_WIDTH * scale[0], (DRIFT_RATIO - 1.0) * edges[-1])))
    both = np.array([-edge for edge in edges[:0:-1]] + edges)
    node, _, to_series = panel_rule(DRIFT_ORDER)
    middle, radius = 0.5 * (both[1:] + both[:-1]), 0.5 * np.diff(both)
    weights = np.empty((len(trial), radius.size, DRIFT_ORDER))
    x, w, _ = panel_rule(PAIR_ORDER)
    _kernels.drift_weights(trial.log_acceptance, trial.kappa, rule == "barker", both, to_series, x, w, weights)
    mu = (middle[:, None] + radius[:, None] * node).ravel()
    return Mixture(mu, weights.reshape(len(trial), -1))


def solve(schedule: Schedule, mu: Floats, f: Floats, s: Floats, cap: float, limit: float = AGAINST) -> Solved:
    """The best rule for weights f on the drifts μ and costs s of P(accept) at them, |s| <= cap f.

    Rules may accept only where z >= -limit and reject only where z <= limit.
    """
    n, n_data = schedule.n.astype(np.float64), float(schedule.n_data)
    t = np.append(0.0, n[:-1] / (n_data - n[:-1]))
    price = np.diff(n) / n_data
    x, w, _ = panel_rule(ORDER)
    interim = n.size - 1
    lower, upper, interval = np.empty(interim), np.empty(interim), True
    after, rho, r = np.empty((4, 0)), 0.0, 1.0
    for j in reversed(range(interim)):
        stage = _kernels.Stage(math.sqrt(t[j + 1]), mu, f, s, cap, limit, price[j], rho, r, after)
        rho, r = math.sqrt(t[j] / t[j + 1]), math.sqrt((t[j + 1] - t[j]) / t[j + 1])
        window = WINDOW + FIRST_WINDOW * r
        panels = math.ceil(2.0 * window / min(WIDEST, NARROW * r))
        edges = np.linspace(-window, window, panels + 1)
        nodes, changes = np.empty((4, (panels + MOST_CHANGES) * ORDER)), np.empty((2, MOST_CHANGES))
        size, found, first = _kernels.look(edges, x, w, stage, nodes, changes)
        after = np.ascontiguousarray(nodes[:, :size])
        lower[j], upper[j], simple = _bounds(window, int(first), changes[:, :found])
        interval &= simple
    z, weight, log_p, v = after
    later = float(np.sum(weight * v * np.exp(log_p - 0.5 * z * z))) / _kernels.SQRT_2PI
    return Solved(float(n[0]) / n_data + later, lower, upper, interval)


def _bounds(window: float, first: int, changes: Floats) -> tuple[float, float, bool]:
    """Outermost bounds at one look, and whether the rule reads on everywhere between them."""
    decisions = [first, *changes[1].astype(int)]
    low = float(changes[0, 0]) if first == _kernels.REJECT and changes.size else -window
    high = float(changes[0, -1]) if decisions[-1] == _kernels.ACCEPT and changes.size else window
    between = decisions[first == _kernels.REJECT : len(decisions) - (decisions[-1] == _kernels.ACCEPT)]
    return low, max(low, high), all(decision == _kernels.CONTINUE for decision in between) and len(between) <= 1
