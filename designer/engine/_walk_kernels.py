"""Compiled kernels of the recursion: arrays in, arrays filled, nothing validated.

Notation (K14 supplement A): look j sees the share π_j of the data, information t_j = π_j / (1 - π_j), and
z_j sqrt(t_j) = μ_std t_j + W(t_j). Between two looks z_{j-1} given z_j = z is normal with mean ρ z and standard
deviation r, whatever the drift. So

    f_j(z) = P(no decision before look j | z_j = z)
           = integral over [lower_{j-1}, upper_{j-1}] of f_{j-1}(y) N(y; ρ_j z, r_j²) dy

does not depend on μ_std, stays within [0, 1], and serves every drift: the density of z_j on the paths still undecided
is f_j(z) φ(z - μ_std √t_j). This is the tilted zero-drift walk, without its overflow.
"""

from __future__ import annotations

import math

import numpy as np

from designer.core.jit import inlined, kernel
from designer.engine._exp_kernels import fast_exp, muladd

SQRT_HALF = math.sqrt(0.5)
INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
NEGLIGIBLE = 40.0  # exp(-40) = 4e-18
PIECE = 3.0  # a 14-point rule on exp(v) over this length is exact to rounding
LANES = 8  # doubles in a vector register, at most
END_INNER, END_TAIL = 4.0, 2.0  # nodes of a half rule beyond those the scale asks for
SERIES = 12  # terms of the series in `tilt_closely`, whose Horner scheme is written out
SERIES_ERROR = (SERIES / math.e) ** (SERIES / 2) / math.factorial(SERIES) * INV_SQRT_2PI  # max |x|^12 φ(x) / 12!
FAR_OUT = 9.0  # φ(9) = 1e-18

# ---------------------------------------------------------------------------------------------------------------------
# quadrature nodes
# ---------------------------------------------------------------------------------------------------------------------


@kernel
def gauss_legendre_half(half, x, w):
    """The positive nodes, ascending, and weights of the Gauss-Legendre rule with 2*half nodes on [-1, 1]."""
    n = 2 * half
    for i in range(half):
        root = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        slope = 1.0
        for _ in range(8):
            p0, p1 = 1.0, root
            for k in range(2, n + 1):
                p0, p1 = p1, ((2 * k - 1) * root * p1 - (k - 1) * p0) / k
            slope = n * (root * p1 - p0) / (root * root - 1.0)
            step = p1 / slope
            root -= step
            if abs(step) < 1e-15:
                break
        x[half - 1 - i] = root
        w[half - 1 - i] = 2.0 / ((1.0 - root * root) * slope * slope)


# ---------------------------------------------------------------------------------------------------------------------
# the walk
# ---------------------------------------------------------------------------------------------------------------------


@kernel
def thin(looks, m, n_data, first, last, r_star, kept):
    """Choose looks from first..last: each one while the width r exceeds r_star, then the farthest with r <= r_star.

    Looks are m, 2m, ... when `looks` is empty. Fills `kept` with their numbers while it has room; returns the count.
    """
    k, count = first, 0
    while True:
        if count < kept.size:
            kept[count] = k
        count += 1
        if k >= last:
            return count
        n = float(looks[k]) if looks.size else float(m) * (k + 1)
        farthest = n_data * n / (n_data - r_star * r_star * (n_data - n))
        if looks.size:
            k += 1
            while k < last and looks[k + 1] <= farthest:
                k += 1
        else:
            k = min(last, max(k + 1, int(farthest / m) - 1))


@kernel
def spread(y, c, n_sources, rho, r, reach, mirror, z, n_targets, f):
    """f[k] = sum_i c[i] N(y_i; rho z_k, r²), and the same for -y_i if `mirror`; y and z ascending, and positive then.

    Targets are innermost, so that the loop vectorises without reordering sums; only those within `reach` widths.
    """
    for k in range(n_targets):
        f[k] = 0.0
    norm = INV_SQRT_2PI / r
    gain = -0.5 / (r * r)
    reach *= r
    first, last, last_mirrored = 0, 0, n_targets
    for i in range(n_sources):
        centre, weight = y[i], c[i] * norm
        while first < n_targets and rho * z[first] < centre - reach:
            first += 1
        while last < n_targets and rho * z[last] <= centre + reach:
            last += 1
        start, stop = first // LANES * LANES, lanes(last)
        add_normal(weight, centre, rho, gain, z[start:stop], f[start:stop])
        if mirror:
            while last_mirrored > 0 and rho * z[last_mirrored - 1] > reach - centre:
                last_mirrored -= 1
            add_normal(weight, -centre, rho, gain, z[: lanes(last_mirrored)], f[: lanes(last_mirrored)])


@inlined
def lanes(n):
    """n rounded up to whole vector registers: loops of such lengths have no slow remainder."""
    return (n + LANES - 1) // LANES * LANES


@inlined
def add_normal(weight, centre, rho, gain, z, f):
    for k in range(z.size):
        step = muladd(-rho, z[k], centre)
        f[k] = muladd(weight, fast_exp(gain * step * step), f[k])


@kernel
def tilt(z, c, sign, root_t, mu, out):
    """out[i] += sum_k c[k] phi(sign z_k - mu_i sqrt(t))."""
    for k in range(z.size):
        add_normal(c[k] * INV_SQRT_2PI, sign * z[k], root_t, -0.5, mu, out)


@kernel
def tilt_closely(z, c, root_t, enough, coefficients, mu, out, wrong):
    """`tilt` with sign 1 into `out`, and with sign -1 into `wrong` (which may be shorter), to an error of `enough`.

    Nodes within a short distance of a middle b share one exp per drift: with d = z - b and x = ±μ sqrt(t) - b,
    φ(x - d) = φ(x) exp(-d²/2) exp(x d), and the last factor is its series in x d.
    """
    mass = 0.0
    for k in range(z.size):
        mass += c[k]
    radius = (enough / max(SERIES_ERROR * mass, 1e-300)) ** (1.0 / SERIES)
    if z.size < 3 or z[-1] - z[0] > radius * z.size:  # too few nodes would share an exp
        tilt(z, c, 1.0, root_t, mu, out)
        tilt(z, c, -1.0, root_t, mu[: wrong.size], wrong)
        return
    start = 0
    while start < z.size:
        stop = start + 1
        while stop < z.size and z[stop] - z[start] <= 2.0 * radius:
            stop += 1
        middle = 0.5 * (z[start] + z[stop - 1])
        coefficients[:] = 0.0
        for k in range(start, stop):
            d = z[k] - middle
            term = c[k] * INV_SQRT_2PI * fast_exp(-0.5 * d * d)
            for n in range(SERIES):
                coefficients[n] += term
                term *= d / (n + 1)
        add_series(coefficients, middle, root_t, mu, out)
        add_series(coefficients, middle, -root_t, mu[: wrong.size], wrong)
        start = stop


@inlined
def add_series(a, middle, root_t, mu, out):
    """out[i] += φ(x) sum_n a[n] xⁿ up to the factor in a, x = μ_i sqrt(t) - middle."""
    a0, a1, a2, a3, a4, a5 = a[0], a[1], a[2], a[3], a[4], a[5]
    a6, a7, a8, a9, a10, a11 = a[6], a[7], a[8], a[9], a[10], a[11]
    for i in range(out.size):
        x = muladd(mu[i], root_t, -middle)
        p = muladd(a11, x, a10)
        p = muladd(p, x, a9)
        p = muladd(p, x, a8)
        p = muladd(p, x, a7)
        p = muladd(p, x, a6)
        p = muladd(p, x, a5)
        p = muladd(p, x, a4)
        p = muladd(p, x, a3)
        p = muladd(p, x, a2)
        p = muladd(p, x, a1)
        p = muladd(p, x, a0)
        out[i] = muladd(p, fast_exp(-0.5 * x * x), out[i])


@inlined
def normal_cdf(x):
    return 0.5 * math.erfc(-x * SQRT_HALF)


@inlined
def wanted(length, scale, density, ends):
    """Half the number of nodes for an interval: `density` per `scale`, and some more for the ends."""
    return ends + density * 0.5 * max(length, 0.0) / scale


@inlined
def room(half_nodes, half):
    """No fewer places than `place` fills: rules are at most 4% and one node apart."""
    return 2.0 * (1.05 * half_nodes + 2.0 * (half_nodes / half[-1] + 1.0))


@kernel
def place(low, high, half_nodes, half, offset, x, w, z, c, at):
    """Write a Gauss-Legendre rule for [low, high] at position `at` of (z, c), ascending; return the next position.

    More nodes than the largest tabulated rule has are placed as several equal pieces.
    """
    pieces = math.ceil(half_nodes / half[-1])
    rule = np.searchsorted(half, half_nodes / pieces)
    h, base, radius = half[rule], offset[rule], 0.5 * (high - low) / pieces
    for piece in range(pieces):
        mid = low + (2 * piece + 1) * radius
        for i in range(h):
            z[at + h + i] = mid + radius * x[base + i]
            z[at + h - 1 - i] = mid - radius * x[base + i]
            c[at + h + i] = radius * w[base + i]
            c[at + h - 1 - i] = radius * w[base + i]
        at += 2 * h
    return at


@inlined
def spans(j, rho, r, lower, upper, low, high, reach):
    """Where f_j matters: both ends of the inside, the far ends of the lower and of the upper tail."""
    a, b = max(lower[j], low[j]), min(upper[j], high[j])
    if j == 0:  # the first look's exits are closed forms: no tails
        return a, b, a, b
    below_end = max(low[j], (max(lower[j - 1], low[j - 1]) - reach * r[j]) / rho[j])
    above_end = min(high[j], (min(upper[j - 1], high[j - 1]) + reach * r[j]) / rho[j])
    return a, b, below_end, above_end


@kernel
def most_nodes(rho, r, lower, upper, low, high, reach, inner_scale, density, half):
    """How many nodes a look needs at most: those of the inside and of both tails."""
    most = 0.0
    for j in range(r.size):
        a, b, below_end, above_end = spans(j, rho, r, lower, upper, low, high, reach)
        nodes = room(wanted(min(lower[j], high[j]) - below_end, r[j], density, END_TAIL), half)
        nodes += room(wanted(b - a, inner_scale[j], density, END_INNER), half)
        nodes += room(wanted(above_end - max(upper[j], low[j]), r[j], density, END_TAIL), half)
        most = max(most, nodes)
    return int(most)


@kernel
def walk(
    root_t,
    rho,
    r,
    lower,
    upper,
    low,
    high,
    omega,
    mirror,
    density,
    reach,
    decided,
    half,
    offset,
    x,
    w,
    mu,
    by_look,
    total,
):
    """Run the walk over all looks for all drifts `mu` (ascending in size).

    [low_j, high_j] is the window outside which none of the drifts has mass. `mirror`: bounds and window are symmetric,
    and so is f; all μ >= 0 and only z > 0 is kept. Fills total[0] = P(exit below), total[1] = P(exit above),
    total[2 + k] = sum_j omega[k, j] P(undecided after look j), and total[4] = P(undecided after all looks) by
    integrating the last f. This is an independent check: it must equal 1 - total[0] - total[1]. by_look[0/1, j, i], if
    it has rows, takes the exits at each look. A normal density counts up to `reach` standard deviations, and a drift is
    followed until at most `decided` of it is left undecided. (half, offset, x, w) is the table of rules.
    """
    looks, n_mu, inner_scale = root_t.size, mu.size, np.minimum(r, np.append(r[1:], 1.0))
    most = lanes(most_nodes(rho, r, lower, upper, low, high, reach, inner_scale, density, half))
    y, c, z, v, f = np.empty(most), np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    below, above, undecided = np.empty(n_mu), np.empty(n_mu), np.ones(n_mu)
    series, enough = np.empty(SERIES), 1e-3 * decided
    total[:] = 0.0
    detail = by_look.shape[1] == looks
    active, n_sources, last = n_mu, 0, 0
    for j in range(looks):
        a, b, below_end, above_end = spans(j, rho, r, lower, upper, low, high, reach)
        # targets, ascending: the lower tail (unless mirrored), inside the bounds, the upper tail
        n_lower = 0
        tail_start = min(lower[j], high[j])
        if not mirror and below_end < tail_start:
            nodes = wanted(tail_start - below_end, r[j], density, END_TAIL)
            n_lower = place(below_end, tail_start, nodes, half, offset, x, w, z, v, 0)
        n_inner = n_lower
        if b > a:
            nodes = wanted(b - a, inner_scale[j], density, END_INNER)
            n_inner = place(a, b, nodes, half, offset, x, w, z, v, n_lower)
            if mirror:
                n_inner //= 2
                for k in range(n_inner):
                    z[k], v[k] = z[n_inner + k], v[n_inner + k]
        n_targets = n_inner
        tail_start = max(upper[j], low[j])
        if above_end > tail_start:
            nodes = wanted(above_end - tail_start, r[j], density, END_TAIL)
            n_targets = place(tail_start, above_end, nodes, half, offset, x, w, z, v, n_inner)

        below[:], above[:] = 0.0, 0.0
        if j == 0:
            for i in range(n_mu):
                shift = mu[i] * root_t[0]
                below[i] = normal_cdf(lower[0] - shift)
                above[i] = normal_cdf(shift - upper[0])
        else:
            n = min(n_mu, lanes(active))
            spread(y, c, n_sources, rho[j], r[j], reach, mirror, z, n_targets, f)
            for k in range(n_targets):
                v[k] *= f[k]
            # on the wrong side, a drift beyond these is more than FAR_OUT away
            n_wrong = min(n, lanes(np.searchsorted(mu, (FAR_OUT - upper[j]) / root_t[j]))) if mirror else 0
            tail = slice(n_inner, n_targets)
            tilt_closely(z[tail], v[tail], root_t[j], enough, series, mu[:n], above[:n], below[:n_wrong])
            if not mirror:
                tail = slice(0, n_lower)
                tilt_closely(z[tail], v[tail], root_t[j], enough, series, mu[:n], below[:n], above[:0])
        for i in range(active):
            undecided[i] -= below[i] + above[i]
            total[0, i] += below[i]
            total[1, i] += above[i]
            total[2, i] += omega[0, j] * undecided[i]
            total[3, i] += omega[1, j] * undecided[i]
            if detail:
                by_look[0, j, i], by_look[1, j, i] = below[i], above[i]
        while active > 0 and undecided[active - 1] < decided:
            active -= 1

        # what is inside becomes the source of the next look
        n_sources, last = n_inner - n_lower, j
        for k in range(n_sources):
            y[k], c[k] = z[n_lower + k], v[n_lower + k]
        if active == 0 or n_sources == 0:
            break
    tilt(y[:n_sources], c[:n_sources], 1.0, root_t[last], mu, total[4])
    if mirror:
        tilt(y[:n_sources], c[:n_sources], -1.0, root_t[last], mu, total[4])


# ---------------------------------------------------------------------------------------------------------------------
# one accept/reject step: the curves integrated over u
# ---------------------------------------------------------------------------------------------------------------------


@inlined
def density_of_v(v, barker):
    """Density of v = log u (Metropolis) or logit u (Barker)."""
    if barker:
        e = math.exp(-abs(v))
        return e / ((1.0 + e) * (1.0 + e))
    return math.exp(v)


@inlined
def mass_below(v, barker):
    """P(log u <= v) or P(logit u <= v)."""
    if barker:
        return 1.0 / (1.0 + math.exp(-v)) if v > 0 else math.exp(v) / (1.0 + math.exp(v))
    return math.exp(min(v, 0.0))


LEGENDRE_A = np.array([0.0] + [(2.0 * k - 1.0) / k for k in range(1, 64)])  # P_k = A_k s P_{k-1} - B_k P_{k-2}
LEGENDRE_B = np.array([0.0] + [(k - 1.0) / k for k in range(1, 64)])


@inlined
def legendre(series, side, panel, s):
    """The three curves' Legendre series of one panel at s."""
    p0, p1 = 1.0, s
    a = series[0, side, panel, 0] + series[0, side, panel, 1] * s
    b = series[1, side, panel, 0] + series[1, side, panel, 1] * s
    c = series[2, side, panel, 0] + series[2, side, panel, 1] * s
    for k in range(2, series.shape[3]):
        p0, p1 = p1, LEGENDRE_A[k] * s * p1 - LEGENDRE_B[k] * p0
        a += series[0, side, panel, k] * p1
        b += series[1, side, panel, k] * p1
        c += series[2, side, panel, k] * p1
    return a, b, c


@kernel
def steps(log_acceptance, kappa, barker, edges, series, values, doubt, node, weight, first_usage, negligible, out):
    """Integrate error, data use and number of looks over u for every pair (A, κ).

    The test faces x = mu_std(u) = (A - v) / κ with v of density g. On the panel edges[p] <= |x| <= edges[p + 1] the
    curves are the Legendre series series[c, side, p]: c = 0 for the error, 1 for the usage, 2 for the looks; side 0 for
    x > 0 (where an error is a wrong rejection), 1 for x < 0. values[c, side, p] are those at the nodes, doubt[p] bounds
    the error of the first two. Beyond the last edge the first look decides. Panels are cut into pieces over which g
    varies by a factor exp(PIECE) at most, and to where g is above exp(-negligible).
    Fills out[0] = Δ, out[1] = E_u[usage], out[2] = E_u[looks], out[3] = E_u[error], out[4] = E_u[doubt].
    """
    top = negligible if barker else 0.0
    last = edges[-1]
    for i in range(kappa.size):
        a, k = log_acceptance[i], kappa[i]
        beyond = mass_below(a - k * last, barker) + 1.0 - mass_below(a + k * last, barker)
        delta, used, looks, wrong, doubtful = 0.0, first_usage * beyond, beyond, 0.0, 0.0
        for side in range(2):
            sign = 1.0 - 2.0 * side
            nearest = max(0.0, (a - top) / k if side == 0 else -(a + negligible) / k)
            p = max(0, np.searchsorted(edges, nearest, side="right") - 2)  # one panel early, for rounding
            while p < edges.size - 1:
                # the panel in v: integrating there, x = sign (a - v) / k is exact even where a dwarfs v
                inner, outer = a - sign * k * edges[p], a - sign * k * edges[p + 1]
                low, high = max(min(inner, outer), -negligible), min(max(inner, outer), top)
                p += 1
                if low >= high:
                    if (side == 0 and inner < -negligible) or (side == 1 and inner > top):
                        break
                    continue
                mid_x, radius_x = 0.5 * (edges[p - 1] + edges[p]), 0.5 * (edges[p] - edges[p - 1])
                pieces = int((high - low) / PIECE) + 1
                whole = pieces == 1 and low == min(inner, outer) and high == max(inner, outer)
                radius = 0.5 * (high - low) / pieces
                for piece in range(pieces):
                    mid = low + (2 * piece + 1) * radius
                    e_sum, u_sum, l_sum, g_sum = 0.0, 0.0, 0.0, 0.0
                    for q in range(node.size):
                        v = mid - sign * radius * node[q]  # so that x runs upwards, as the nodes of the panel
                        g = weight[q] * density_of_v(v, barker)
                        if whole:
                            e, u, n = values[0, side, p - 1, q], values[1, side, p - 1, q], values[2, side, p - 1, q]
                        else:
                            place_in_panel = (sign * (a - v) / k - mid_x) / radius_x
                            e, u, n = legendre(series, side, p - 1, min(max(place_in_panel, -1.0), 1.0))
                        g_sum += g
                        e_sum += g * e
                        u_sum += g * u
                        l_sum += g * n
                    delta -= sign * radius * e_sum
                    used += radius * u_sum
                    looks += radius * l_sum
                    wrong += radius * e_sum
                    doubtful += radius * g_sum * doubt[p - 1]
        out[0, i], out[1, i], out[2, i], out[3, i], out[4, i] = delta, used, looks, wrong, doubtful
