"""The walk of `_walk_kernels` with the first-order effect of skewness carried along, for all drifts in one pass.

Let d = γ / sqrt(N), γ the skewness of the lᵢ, and W(t) = z sqrt(t) - μ t the walk without its drift. Sampling
without replacement gives W the third cumulants d t_a (1 - t_b), a <= b <= c, and nothing else to first order. So W is
Markov to that order: given W(t_0) = w its next step v sqrt(h), h = t_1 - t_0, has the density

    φ(v) [1 - (d/2) w He2(v) + d (1 + t_0 - h) / (6 sqrt(h)) He3(v)]

(what is left in the population has less variance when large values have gone, and is skewed itself). The sample's
standard deviation is correlated with its mean: a bound G of the studentised mean acts on z like the bound
G + d G (G - μ sqrt(t)) / (2 sqrt(t)). All this is polynomial in μ. So f_j of `_walk_kernels` becomes

    f_j + d (q0_j + μ q1_j + μ² q2_j + μ³ q3_j),      q3_j = -t_j (1 - t_j) / 6 f_j,

and f, q0, q1, q2 (rows 0 to 3 below) obey one recursion that does not depend on μ. `docs/skewness.md` derives it.
"""

from __future__ import annotations

import math

import numpy as np

from designer.core.jit import inlined, kernel
from designer.engine._exp_kernels import fast_exp
from designer.engine._walk_kernels import (
    END_INNER,
    END_TAIL,
    INV_SQRT_2PI,
    most_nodes,
    normal_cdf,
    place,
    spans,
    wanted,
)


@inlined
def step_terms(v, w, t, h, root_h, third):
    """The bracket's terms in 1, μ and μ², when v and w are a step and a place at μ = 0 (w stands for z sqrt(t))."""
    he2 = v * v - 1.0
    constant = third * v * (he2 - 2.0) - 0.5 * w * he2
    linear = w * v * root_h + (0.5 * t - 3.0 * third * root_h) * he2
    square = (3.0 * third * root_h - t) * root_h * v - 0.5 * w * h
    return constant, linear, square


@inlined
def add_source(y, c0, c1, c2, c3, before, after, z, f):
    """Carry the weights c0 to c3 (of rows 0 to 3) at z_{j-1} = y on to the targets; before, after: sqrt(t)."""
    t = before * before
    h = after * after - t
    root_h = math.sqrt(h)
    w, third, norm = before * y, (1.0 + t - h) / (6.0 * root_h), INV_SQRT_2PI * after / root_h
    c0, c1, c2, c3 = norm * c0, norm * c1, norm * c2, norm * c3
    for k in range(z.size):
        gap = (
            after * y - before * z[k]
        ) / root_h  # y given z is normal, with mean z before/after and width root_h/after
        e = fast_exp(-0.5 * gap * gap)
        p0, p1, p2 = step_terms((after * z[k] - w) / root_h, w, t, h, root_h, third)
        f[0, k] += e * c0
        f[1, k] += e * (c1 + c0 * p0)
        f[2, k] += e * (c2 + c0 * p1)
        f[3, k] += e * (c3 + c0 * p2)


@kernel
def spread_skewed(y, c, before, after, reach, z, f):
    """Fill the rows of f at the ascending targets z from the ascending sources y with weights c.

    `before` and `after` are sqrt(t). Targets are innermost, so that the loop vectorises; only those within `reach`
    widths of a source.
    """
    for row in range(4):
        for k in range(z.size):
            f[row, k] = 0.0
    reach *= math.sqrt(after * after - before * before)
    first, last = 0, 0
    for i in range(y.size):
        while first < z.size and before * z[first] < after * y[i] - reach:
            first += 1
        while last < z.size and before * z[last] <= after * y[i] + reach:
            last += 1
        add_source(y[i], c[0, i], c[1, i], c[2, i], c[3, i], before, after, z[first:last], f[:, first:last])


@kernel
def tilt_skewed(z, v, root_t, mu, plain, extra):
    """Add the integrals of f and of its first-order change over nodes z, v being the rows times the nodes' weights."""
    t = root_t * root_t
    for k in range(z.size):
        v0, v1, v2, v3 = INV_SQRT_2PI * v[0, k], INV_SQRT_2PI * v[1, k], INV_SQRT_2PI * v[2, k], INV_SQRT_2PI * v[3, k]
        v4 = -t * (1.0 - t) / 6.0 * v0
        for i in range(mu.size):
            step = z[k] - mu[i] * root_t
            e = fast_exp(-0.5 * step * step)
            plain[i] += e * v0
            extra[i] += e * (v1 + mu[i] * (v2 + mu[i] * (v3 + mu[i] * v4)))


@inlined
def first_exit(bound, root_t, mu):
    """P(z_1 < bound) and its first-order change, the bound's own move included."""
    d = bound - mu * root_t
    if not math.isfinite(bound):
        return normal_cdf(d), 0.0
    change = 0.5 * bound * d / root_t - (1.0 - root_t * root_t) / (6.0 * root_t) * (d * d - 1.0)
    return normal_cdf(d), change * INV_SQRT_2PI * math.exp(-0.5 * d * d)


@kernel
def first_look(lower, upper, root_t, z, f, mu, plain, below, above):
    """Exits at the first look, in closed form, and the rows of f at the nodes z."""
    t, third = root_t * root_t, (1.0 - root_t * root_t) / (6.0 * root_t)
    for i in range(mu.size):
        p_below, below[i] = first_exit(lower, root_t, mu[i])
        p_above, above[i] = first_exit(upper, root_t, mu[i])
        plain[i], above[i] = p_below + 1.0 - p_above, -above[i]
    for k in range(z.size):
        f[0, k] = 1.0
        f[1, k], f[2, k], f[3, k] = step_terms(z[k], 0.0, 0.0, t, root_t, third)


@kernel
def targets(rules, density, below_end, lower, a, b, upper, above_end, r, inner_scale, z, v):
    """Nodes z and weights v, ascending: the lower tail, inside the bounds, the upper tail; where each of them ends."""
    half, offset, x, w = rules
    n_lower = 0
    if below_end < lower:
        nodes = wanted(lower - below_end, r, density, END_TAIL)
        n_lower = place(below_end, lower, nodes, half, offset, x, w, z, v, 0)
    n_inner = n_lower
    if b > a:
        n_inner = place(a, b, wanted(b - a, inner_scale, density, END_INNER), half, offset, x, w, z, v, n_lower)
    n_targets = n_inner
    if above_end > upper:
        nodes = wanted(above_end - upper, r, density, END_TAIL)
        n_targets = place(upper, above_end, nodes, half, offset, x, w, z, v, n_inner)
    return n_lower, n_inner, n_targets


@kernel
def add_moves(ends, moves, root_t, mu, below, above):
    """Add to the exits what they gain or lose as the bounds move."""
    for i in range(mu.size):
        d, e = ends[0] - mu[i] * root_t, ends[1] - mu[i] * root_t
        below[i] += (moves[0, 0] + mu[i] * moves[0, 1]) * INV_SQRT_2PI * math.exp(-0.5 * d * d)
        above[i] -= (moves[1, 0] + mu[i] * moves[1, 1]) * INV_SQRT_2PI * math.exp(-0.5 * e * e)


@kernel
def skewed_walk(
    root_t, rho, r, lower, upper, low, high, omega, given_lower, given_upper, density, reach, decided, rules, mu, total
):
    """The first-order effect of skewness on all drifts `mu` (ascending in size), per unit of γ / sqrt(N).

    Arguments as in `_walk_kernels.walk`; given_lower and given_upper are the bounds before any merging of looks, which
    move with the sample's standard deviation. Adds to total[0] and total[1] the changes of P(exit below) and P(exit
    above), to total[2 + k] that of sum_j omega[k, j] P(undecided after look j), to total[4] that of P(undecided after
    all looks) by integrating the last rows. This is an independent check: the changes must sum to 0.
    """
    looks, n_mu, inner_scale = root_t.size, mu.size, np.minimum(r, np.append(r[1:], 1.0))
    most = most_nodes(rho, r, lower, upper, low, high, reach, inner_scale, density, rules[0])
    most += 2  # the bounds are sources, too
    z, v, f = np.empty(most), np.empty(most), np.empty((4, most))
    y, c, n_sources = np.empty(most), np.zeros((4, most)), 0
    ends, at_ends, moves = np.empty(2), np.ones((4, 2)), np.empty((2, 2))
    plain, below, above, undecided, left = np.empty(n_mu), np.empty(n_mu), np.empty(n_mu), np.ones(n_mu), np.zeros(n_mu)
    active, last = n_mu, 0
    for j in range(looks):
        a, b, below_end, above_end = spans(j, rho, r, lower, upper, low, high, reach)
        tails = min(lower[j], high[j]), max(upper[j], low[j])
        arguments = below_end, tails[0], a, b, tails[1], above_end, r[j], inner_scale[j]
        n_lower, n_inner, n_targets = targets(rules, density, *arguments, z, v)
        ends[0], ends[1] = lower[j], upper[j]
        for i in range(n_mu):
            below[i], above[i], plain[i] = 0.0, 0.0, 0.0
        if j == 0:
            first_look(lower[0], upper[0], root_t[0], z[:n_targets], f, mu, plain, below, above)
        else:
            spread_skewed(y[:n_sources], c[:, :n_sources], root_t[j - 1], root_t[j], reach, z[:n_targets], f)
            spread_skewed(y[:n_sources], c[:, :n_sources], root_t[j - 1], root_t[j], reach, ends, at_ends)
        for k in range(n_targets):
            for row in range(4):
                f[row, k] *= v[k]
        for side in range(2):
            moves[side, 0], moves[side, 1] = 0.0, 0.0
            bound = given_upper[j] if side else given_lower[j]
            if low[j] < ends[side] < high[j]:
                moves[side, 0] = at_ends[0, side] * bound * bound / (2.0 * root_t[j])
                moves[side, 1] = -0.5 * at_ends[0, side] * bound
        if j > 0:
            tilt_skewed(z[:n_lower], f[:, :n_lower], root_t[j], mu[:active], plain, below)
            tilt_skewed(z[n_inner:n_targets], f[:, n_inner:n_targets], root_t[j], mu[:active], plain, above)
            add_moves(ends, moves, root_t[j], mu[:active], below, above)
        for i in range(active):
            undecided[i] -= plain[i]
            left[i] -= below[i] + above[i]
            total[0, i] += below[i]
            total[1, i] += above[i]
            total[2, i] += omega[0, j] * left[i]
            total[3, i] += omega[1, j] * left[i]
        while active > 0 and undecided[active - 1] < decided:
            active -= 1

        # what is inside becomes the source of the next look, and on its ends what the moving bounds take or leave
        n_sources, last = 0, j
        if n_inner > n_lower:
            n_sources = n_inner - n_lower + 2
            y[0], y[n_sources - 1] = ends[0], ends[1]
            for k in range(1, n_sources - 1):
                y[k] = z[n_lower + k - 1]
                for row in range(4):
                    c[row, k] = f[row, n_lower + k - 1]
            c[0, n_sources - 1], c[3, n_sources - 1] = 0.0, 0.0
            c[1, 0], c[2, 0] = -moves[0, 0], -moves[0, 1]
            c[1, n_sources - 1], c[2, n_sources - 1] = moves[1, 0], moves[1, 1]
        if active == 0 or n_sources == 0:
            break
    tilt_skewed(y[:n_sources], c[:, :n_sources], root_t[last], mu, plain, total[4])
