"""Compiled kernels of resampling: sequential t-tests on mini-batches drawn from weighted values.

The values of a pair stand for N data: the first `alone` of them for one datum each, the others for several. Data are
drawn without replacement, so a value that stands for one datum is drawn at most once. Every path integrates u out
(`designer.rule.levels`). Each path has random numbers of its own (SplitMix64, Steele, Lea and Flood 2014), so that
designs with the same first mini-batch share their noise.
"""

from __future__ import annotations

import math

import numpy as np

from designer.core.jit import kernel
from designer.rule.levels import levels, narrowed, probability_below

# of a path: 1; numbers with known mean 0 (the first estimate of A from values that stand for several data, its square,
# the whole first estimate); and what is asked for (error of the acceptance probability, data read, looks, P(wrong))
ONE, LINEAR, SQUARE, WHOLE, DELTA, USED, LOOKS, WRONG, COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7, 8
MOST_HITS = 60
ALMOST = 1.0 - 1e-9
ENDLESS = -1
FAST = 50  # draws that take as long as a mini-batch that is not drawn one by one

_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel
def uniform(state):
    """The next random number in [0, 1)."""
    state[0] += _STEP
    z = state[0]
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return ((z ^ (z >> _31)) >> _11) * 2.0**-53


@kernel
def seed_path(state, seed, pair, stratum, path, stream):
    """Start the random numbers of one path."""
    state[0] = np.uint64(seed)
    for number in (pair, stratum, path, stream):
        state[0] = np.uint64(uniform(state) * 2.0**53) * _SECOND + np.uint64(number)
    uniform(state)


@kernel
def fill_alias(weights, keep, other, stack):
    """Walker's table: draw k uniformly, and take other[k] with probability 1 - keep[k]."""
    size, total = weights.size, 0.0
    for k in range(size):
        total += weights[k]
    small, large = 0, size
    for k in range(size):
        keep[k], other[k] = weights[k] * (size / total), k
        if keep[k] < 1.0:
            stack[small] = k
            small += 1
        else:
            large -= 1
            stack[large] = k
    while small > 0 and large < size:
        little, big = stack[small - 1], stack[large]
        other[little] = big
        keep[big] -= 1.0 - keep[little]
        if keep[big] < 1.0:
            stack[small - 1] = big
            large += 1
        else:
            small -= 1
    for k in range(small):  # rounding left these
        keep[stack[k]] = 1.0
    for k in range(large, size):
        keep[stack[k]] = 1.0


@kernel
def draw(state, weights, keep, other, taken):
    """The value of one of the data not yet taken."""
    while True:
        x = uniform(state) * keep.size
        k = int(x)
        x -= k
        if x < keep[k]:
            x /= keep[k]
        else:
            x = (x - keep[k]) / (1.0 - keep[k])
            k = other[k]
        if x * weights[k] >= taken[k]:  # x is uniform again
            taken[k] += 1.0
            return k


@kernel
def fill_hits(n_data, alone, n, hits):
    """P(none of n data stands alone); hits: distribution function of their number, given that there are some."""
    none = 0.0
    for k in range(alone):
        none += math.log1p(-min(n / (n_data - k), 1.0))
    chance, total = 1.0, 0.0
    for k in range(hits.size):
        left = n_data - alone - n + k + 1.0
        chance *= max(0.0, (alone - k) * (n - k) / ((k + 1.0) * left)) if left > 0.0 else 0.0
        total += chance
        hits[k] = total
    for k in range(hits.size):
        hits[k] /= total
    return math.exp(none)


@kernel
def add_many(state, many, moments, left, sums):
    """Add the sum and the sum of squares of `many` near data: normal, with the skewness of the sum to first order.

    moments: variance of the near values, covariance with their squares, variance of the squares, third central moment.
    left: number, sum and sum of squares of the near data not yet taken, which are reduced.
    """
    share = many / left[0]
    radius, angle = math.sqrt(-2.0 * math.log(1.0 - uniform(state))), 2.0 * math.pi * uniform(state)
    first, second = radius * math.cos(angle), radius * math.sin(angle)
    spread = math.sqrt(many * max(0.0, 1.0 - share))
    deviation = math.sqrt(moments[0])
    along = moments[1] / deviation if deviation > 0.0 else 0.0
    across = math.sqrt(max(0.0, moments[2] - along * along))
    lean = moments[3] / moments[0] * (1.0 - 2.0 * share) / 6.0 if moments[0] > 0.0 else 0.0
    total = many * left[1] / left[0] + spread * deviation * first + lean * (first * first - 1.0)
    squares = many * left[2] / left[0] + spread * (along * first + across * second)
    squares = max(squares, total * total / many)
    left[0] -= many
    left[1] -= total
    left[2] -= squares
    sums[0] += total
    sums[1] += squares


@kernel
def pick_far(state, values, alone, taken, many, rows, sums):
    """Which of the far data are among the next `many` of `rows` data: adds them to sums; returns their number."""
    hit, k = 0, 0
    if rows > 50.0 * alone:  # then each is there independently, nearly: skip from one to the next
        miss = math.log1p(-many / rows)
        while True:
            k += int(min(math.log(1.0 - uniform(state)) / miss, 1e9))
            if k >= alone:
                return hit
            if taken[k] == 0.0:
                taken[k] = 1.0
                sums[0] += values[k]
                sums[1] += values[k] * values[k]
                hit += 1
            k += 1
    for k in range(alone):
        if taken[k] == 0.0:
            if uniform(state) * rows < many - hit:
                taken[k] = 1.0
                sums[0] += values[k]
                sums[1] += values[k] * values[k]
                hit += 1
            rows -= 1
    return hit


@kernel
def run_paths(
    seed, pair, stratum, count, enough, most, hits, values, weights, alone, keep, other, near_keep, near_other, near,
    moments, normal_from, scales, a, n_data, looks, lower, upper, barker, all_looks, least, taken, marked, state, row,
    products,
):  # fmt: skip
    """Up to `count` tests at all u at once: adds up the products of the columns; returns the number of paths made.

    values are centred on the pair's mean. Stratum 0 has no value that stands alone in the first mini-batch, stratum 1
    has some, stratum 2 is everything. Of the undecided u, a share below `least` is followed only with a probability in
    proportion, and counts for more. Mini-batches of `normal_from` near data or more are not drawn one by one. No path
    begins after `most` draws; one that goes far beyond that is endless.
    """
    exact, spent, rest = probability_below(a, barker), 0, n_data - alone
    near_weights, near_taken = weights[alone:], taken[alone:]
    first, later, left, sums = state[:1], state[1:], np.empty(3), np.empty(2)
    near_mean, near_variance = near[1] / max(near[0], 1.0), moments[0]
    for path in range(count):
        if spent > most and path >= enough:
            return path
        seed_path(first, seed, pair, stratum, path, 0)
        seed_path(later, seed, pair, stratum, path, 1)
        left[:], sums[:], n, hit, listed = near, 0.0, 0, 0, True
        if stratum == 1:
            u, chosen = uniform(first), 1
            while chosen < hits.size and u > hits[chosen - 1]:
                chosen += 1
            while n < chosen:
                k = int(uniform(first) * alone)
                if taken[k] == 0.0:
                    taken[k] = 1.0
                    marked[n] = k
                    sums[0] += values[k]
                    sums[1] += values[k] * values[k]
                    n += 1
            hit = n
        elif stratum == 2 and looks[0] >= normal_from:
            hit = n = pick_far(first, values, alone, taken, looks[0], n_data, sums)
            listed = False
        far_total = sums[0]
        if looks[0] - n >= normal_from:
            add_many(first, looks[0] - n, moments, left, sums)
            n, listed, cost = looks[0], False, FAST
        else:
            cost = looks[0]
            while n < looks[0]:
                if stratum == 2:
                    k = draw(first, weights, keep, other, taken)
                else:
                    k = alone + draw(first, near_weights, near_keep, near_other, near_taken)
                if n < marked.size:
                    marked[n] = k
                x = values[k]
                sums[0] += x
                sums[1] += x * x
                if k < alone:
                    far_total += x
                    hit += 1
                else:
                    left[0] -= 1.0
                    left[1] -= x
                    left[2] -= x * x
                n += 1
        others, scale = n - hit, n_data / n
        linear = scale * (sums[0] - far_total - others * near_mean)
        variance = scale * scale * others * near_variance * (rest - others) / max(rest - 1.0, 1.0)
        row[ONE], row[LINEAR] = 1.0, linear / scales[0]
        row[SQUARE] = (linear * linear - variance) / scales[0] ** 2
        row[WHOLE] = scale * sums[0] / scales[1] if stratum == 2 else 0.0
        low, high, weight = -math.inf, math.inf, 1.0
        delta, used, looked, wrong = 0.0, 1.0 * n, 1.0, 0.0
        for j in range(looks.size):
            more = looks[j] - n
            if more >= normal_from:
                hit = pick_far(later, values, alone, taken, more, n_data - n, sums)
                add_many(later, more - hit, moments, left, sums)
                n, listed = looks[j], False
                cost += FAST
            else:
                cost += more
                while n < looks[j]:
                    k = draw(later, weights, keep, other, taken)
                    if n < marked.size:
                        marked[n] = k
                    x = values[k]
                    sums[0] += x
                    sums[1] += x * x
                    if k >= alone:
                        left[0] -= 1.0
                        left[1] -= x
                        left[2] -= x * x
                    n += 1
            below, above = levels(sums[0], sums[1], n, n_data, 0.0, -a, lower[j], upper[j])
            new_low, new_high = narrowed(low, high, below, above)
            if new_low > a:  # accepted wrongly: v from max(low, a) to new_low
                share = weight * (probability_below(new_low, barker) - max(probability_below(low, barker), exact))
                delta += share
                wrong += share
            if new_high < a:
                share = weight * (min(probability_below(high, barker), exact) - probability_below(new_high, barker))
                delta -= share
                wrong += share
            low, high = new_low, new_high
            undecided = weight * (probability_below(high, barker) - probability_below(low, barker))
            if undecided <= 0.0:
                break
            if undecided < ALMOST * least:  # after such a step it is `least` again, up to rounding
                if uniform(later) * least >= undecided:
                    break
                weight *= least / undecided
                undecided = least
            if j + 1 == looks.size and looks.size < all_looks - 1:
                return ENDLESS
            used += undecided * ((looks[j + 1] if j + 1 < looks.size else n_data) - looks[j])
            looked += undecided
            if spent + cost > 10.0 * most:
                return ENDLESS
        spent += cost
        row[DELTA], row[USED], row[LOOKS], row[WRONG] = delta, used / n_data, looked, wrong
        for i in range(COLUMNS):
            for k in range(i + 1):
                products[i, k] += row[i] * row[k]
        if listed and n <= marked.size:
            for i in range(n):
                taken[marked[i]] = 0.0
        else:
            taken[:] = 0.0
    return count


@kernel
def resample(
    seed, only, values, weights, starts, mu, sigma, log_acceptance, n_data, looks, lower, upper, barker, all_looks,
    least, most, fewest, largest, enough, common, rare, many, all_or_none, products, shares, made,
):  # fmt: skip
    """The pairs of `only`: products and made of each pair and stratum as in `run_paths`; shares: their probabilities.

    A pair without values has no paths. `most` is the number of draws for each pair, in both strata together. `many` and
    a multiple of their kurtosis is the number of near data from which their sum is taken as normal. With `all_or_none`,
    it ends at the first pair whose tests are endless.
    """
    hits, row, state, scales = np.empty(MOST_HITS), np.empty(COLUMNS), np.zeros(2, np.uint64), np.empty(2)
    near, moments, n = np.empty(3), np.empty(4), looks[0]
    for pair in range(mu.size):
        size = starts[pair + 1] - starts[pair]
        if size == 0 or not only[pair]:
            continue
        value, weight = np.empty(size), np.empty(size)
        alone, end = 0, size
        for k in range(starts[pair], starts[pair + 1]):
            if weights[k] == 1:
                value[alone], weight[alone] = values[k] - mu[pair], 1.0
                alone += 1
            else:
                end -= 1
                value[end], weight[end] = values[k] - mu[pair], weights[k]
        keep, other, stack = np.empty(size), np.empty(size, np.int64), np.empty(size, np.int64)
        near_keep, near_other = np.empty(size - alone), np.empty(size - alone, np.int64)
        fill_alias(weight, keep, other, stack)
        fill_alias(weight[alone:], near_keep, near_other, stack)
        kurtosis = fill_near(value[alone:], weight[alone:], near, moments)
        normal_from = max(many, 30.0 * kurtosis)
        # the noise that the first look leaves in A, for the regression: less than 1e-7 is nothing
        scales[0] = max(n_data * math.sqrt(moments[0] / n), 1e-7)
        scales[1] = max(n_data * sigma[pair] / math.sqrt(n), 1e-7)
        none = fill_hits(n_data, alone, n, hits)
        natural = none < 1.0 - common or size == alone
        strata = 1 if natural or none > 1.0 - rare else 2
        taken, marked = np.zeros(size), np.empty(size + MOST_HITS, np.int64)
        cost = FAST if n - alone >= normal_from else n
        budget = max(most / strata, fewest * cost)
        count = int(min(max(most / strata / cost, fewest), largest))
        for number in range(strata):
            stratum = 2 if natural else number
            shares[pair, number] = 1.0 if natural else (none if number == 0 else 1.0 - none)
            taken[:] = 0.0
            made[pair, number] = run_paths(
                seed, pair, stratum, count, enough, budget, hits, value, weight, alone, keep, other, near_keep,
                near_other, near, moments, normal_from, scales, log_acceptance[pair], n_data, looks, lower, upper,
                barker, all_looks, least, taken, marked, state, row, products[pair, number],
            )  # fmt: skip
            if made[pair, number] == ENDLESS and all_or_none:
                return


@kernel
def fill_near(values, weights, near, moments):
    """Number, sum and sum of squares of the near data; central moments for `add_many`; returns their kurtosis."""
    near[:] = 0.0
    for k in range(values.size):
        near[0] += weights[k]
        near[1] += weights[k] * values[k]
        near[2] += weights[k] * values[k] * values[k]
    number = max(near[0], 1.0)
    mean, square = near[1] / number, near[2] / number
    moments[:], fourth = 0.0, 0.0
    for k in range(values.size):
        x, y, w = values[k] - mean, values[k] * values[k] - square, weights[k] / number
        moments[0] += w * x * x
        moments[1] += w * x * y
        moments[2] += w * y * y
        moments[3] += w * x * x * x
        fourth += w * x * x * x * x
    return fourth / moments[0] ** 2 if moments[0] > 0.0 else 0.0
