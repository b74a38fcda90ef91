"""Compiled kernels of the dynamic program over all stopping rules, from the last look back to the first.

The state is z at look j. p(z) = sum_k f_k l_k(z), with l_k(z) = exp(μ_k z √t - μ_k² t / 2) the likelihood ratio
of drift μ_k against none, weighs the states; the value v(z) is the least expected cost still to come, given z.
Logarithms of p are kept: likelihood ratios overflow, posterior means do not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from designer.core.jit import kernel

REJECT, CONTINUE, ACCEPT = -1, 0, 1
BISECTIONS = 30  # of the interval between two nodes
REACH = 8.5  # standard deviations beyond which a normal density is negligible
SMALLEST = 1e-300
PARTS = 4  # of a panel, each with a Gauss rule of its own, where a pair's density is integrated
DENSITY_REACH = 45.0  # e-foldings of a pair's density that count
SQRT_2PI = math.sqrt(2.0 * math.pi)


class Stage(NamedTuple):
    """A look, in the form the kernels take.

    μ, f: drifts (ascending) and their weights. s: cost of P(accept) at each drift, counted from the right decision:
    accepting costs s where μ < 0, rejecting costs -s where μ > 0; |s| <= cap f, so no mean of it exceeds `cap`.
    Accepting is allowed from z = -limit up, rejecting from z = limit down. Going on costs `price`; z' at the next look
    is rho z + r N(0, 1) without drift, and `after` are its nodes, ascending: rows z', weight, log p(z'), v(z') (none:
    the next look has all data and decides rightly).
    """

    root_t: float
    mu: Floats
    f: Floats
    s: Floats
    cap: float
    limit: float
    price: float
    rho: float
    r: float
    after: Floats


# --- the drifts that a trial run meets --------------------------------------------------------------------------------


@kernel
def drift_weights(a, kappa, barker, edges, to_series, x, w, out):
    """out[i, q, k]: weight of node k of panel q in the integral of a smooth function over pair i's drifts.

    The density of (A - log u) / κ jumps at A / κ, at another place for every pair, so it is not sampled at the
    nodes: its moments with Legendre polynomials are integrated on the part of the panel where it lives (rule x, w).
    """
    order = out.shape[2]
    moments = np.empty(order)
    for i in range(a.size):
        centre, reach = a[i] / kappa[i], DENSITY_REACH / kappa[i]
        begin = centre - reach if barker else centre
        for q in range(edges.size - 1):
            low, high = max(edges[q], begin), min(edges[q + 1], centre + reach)
            out[i, q] = 0.0
            if low >= high:
                continue
            middle, radius = 0.5 * (edges[q] + edges[q + 1]), 0.5 * (edges[q + 1] - edges[q])
            half = 0.5 * (high - low) / PARTS
            moments[:] = 0.0
            for part in range(PARTS):
                for g in range(x.size):
                    mu = low + half * (2.0 * part + 1.0 + x[g])
                    v = a[i] - kappa[i] * mu
                    density = math.exp(-abs(v))
                    if barker:
                        density /= (1.0 + density) ** 2
                    y, before, here = (mu - middle) / radius, 0.0, half * w[g] * kappa[i] * density
                    for m in range(order):  # here = weight * P_m(y), by the recurrence of Legendre polynomials
                        moments[m] += here
                        before, here = here, ((2 * m + 1) * y * here - m * before) / (m + 1)
            for k in range(order):
                for m in range(order):
                    out[i, q, k] += to_series[k, m] * moments[m]


# --- one look ---------------------------------------------------------------------------------------------------------


@kernel
def posterior(z, stage, out):
    """out[:3] = log p(z) and the expected costs of accepting and of rejecting now."""
    mu, root_t = stage.mu, stage.root_t
    beyond = max(0.0, mu[0] * root_t - z, z - mu[-1] * root_t)  # how far z is from where drifts are
    reach = math.sqrt(80.0 + beyond * beyond)
    start, stop = 0, mu.size
    while start < stop:
        middle = (start + stop) // 2
        if mu[middle] * root_t < z - reach:
            start = middle + 1
        else:
            stop = middle
    total = accept = reject = 0.0
    for k in range(start, mu.size):
        distance = mu[k] * root_t - z
        if distance > reach:
            break
        weight = math.exp(0.5 * (beyond * beyond - distance * distance))
        total += stage.f[k] * weight
        if mu[k] < 0.0:
            accept += stage.s[k] * weight
        else:
            reject -= stage.s[k] * weight
    total = max(total, SMALLEST)  # where no pair has mass, rounding may leave a negative number
    out[0] = math.log(total) + 0.5 * (z * z - beyond * beyond)
    out[1] = min(max(accept / total, -stage.cap), stage.cap)
    out[2] = min(max(reject / total, -stage.cap), stage.cap)


@kernel
def expected(z, log_p, stage):
    """Mean of the value at the next look, given z: the zero-drift step from z, tilted by p(z') / p(z)."""
    nodes, centre, r = stage.after, stage.rho * z, stage.r
    reach = r * (REACH + r / stage.rho * (abs(z) + REACH))  # of any tilted step that counts
    start, stop = 0, nodes.shape[1]
    while start < stop:
        middle = (start + stop) // 2
        if nodes[0, middle] < centre - reach:
            start = middle + 1
        else:
            stop = middle
    total = 0.0
    for k in range(start, nodes.shape[1]):
        if nodes[0, k] > centre + reach:
            break
        step = (nodes[0, k] - centre) / r
        total += nodes[1, k] * nodes[3, k] * math.exp(nodes[2, k] - log_p - 0.5 * step * step)
    return total / (r * SQRT_2PI)


@kernel
def choose(z, stage, out):
    """The best decision at z; out = log p(z), costs of accepting and of rejecting, least cost v(z)."""
    posterior(z, stage, out)
    best, decision = stage.price, CONTINUE
    if stage.after.shape[1] > 0:
        best += expected(z, out[0], stage)
    if z >= -stage.limit and out[1] <= best:
        best, decision = out[1], ACCEPT
    if z <= stage.limit and out[2] < best:
        best, decision = out[2], REJECT
    out[3] = best
    return decision


@kernel
def place(low, high, x, w, stage, nodes, size, decisions):
    """Append the nodes of a Gauss rule on [low, high] after the first `size`; return the new size."""
    out = np.empty(4)
    for k in range(x.size):
        z = 0.5 * (low + high) + 0.5 * (high - low) * x[k]
        decisions[k] = choose(z, stage, out)
        nodes[0, size], nodes[1, size] = z, 0.5 * (high - low) * w[k]
        nodes[2, size], nodes[3, size] = out[0], out[3]
        size += 1
    decisions[x.size] = choose(high, stage, out)
    return size


@kernel
def change_between(a, b, below, stage):
    """The point between a and b where the best decision stops being that at a."""
    out = np.empty(4)
    for _ in range(BISECTIONS):
        middle = 0.5 * (a + b)
        if choose(middle, stage, out) == below:
            a = middle
        else:
            b = middle
    return 0.5 * (a + b)


@kernel
def look(edges, x, w, stage, nodes, changes):
    """One look: fills `nodes` (rows z, weight, log p, v) and `changes` (rows z, decision above it), both ascending.

    Panels in which the decision changes are split there, because the value has a kink. Returns how many nodes and
    changes there are, and the decision at the left end.
    """
    decisions = np.empty(x.size + 1, np.int64)
    first = choose(edges[0], stage, np.empty(4))
    known, size, here, at = 0, 0, first, edges[0]
    for i in range(edges.size - 1):
        low, high, start, found = edges[i], edges[i + 1], size, known
        size = place(low, high, x, w, stage, nodes, size, decisions)
        for k in range(x.size + 1):
            z = nodes[0, start + k] if k < x.size else high
            if decisions[k] != here and found < changes.shape[1]:
                changes[0, found], changes[1, found] = change_between(at, z, here, stage), decisions[k]
                found += 1
            here, at = decisions[k], z
        if found > known:
            size = start
            for part in range(known, found + 1):
                end = changes[0, part] if part < found else high
                size = place(low, end, x, w, stage, nodes, size, decisions)
                low = end
        known = found
    return size, known, first
