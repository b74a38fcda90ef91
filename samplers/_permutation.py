"""Drawing without replacement: a partial Fisher-Yates shuffle of 0 .. N-1, put back after each sample.

Two ways to hold the permutation draw the same items from the same random numbers: `Dense` is an array of all N places,
`Sparse` a hash table of the places that were touched, whose memory depends on the sample and not on N. A sample that
takes all that is left takes it as it lies, without random numbers: every item is read, in whatever order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from designer._jit import kernel
from designer.schedule import Ints

MOST_DENSE = 2**22  # data whose permutation is an array, 64 MB; a table is faster then for samples of up to 10^5
CHUNK = 4096  # most items drawn in one call
FIRST_SLOTS, MOST_SLOTS = 2**13, 2**20  # of a fresh table, and of one that is kept for the next sample
PLACE_BITS = 50  # a key is the number of the sample and a place, so that the keys of older samples count as empty
MOST_SAMPLES = 2**12
MIX = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: neighbouring places land far from each other


class Dense(NamedTuple):
    """All places: order[:n] is the sample; picks[k] remembers which place item k came from."""

    order: Ints
    picks: Ints


class Sparse(NamedTuple):
    """Places that are not where they were: open addressing; `drawn` has room for one call's items."""

    n_data: int
    number: int  # of the sample, from 1
    keys: Ints
    values: Ints
    drawn: Ints


Permutation = Dense | Sparse


def fresh(n_data: int) -> Permutation:
    """The identity, held in the way that suits n data."""
    if n_data <= MOST_DENSE:
        return dense(n_data)
    return sparse(n_data)


def dense(n_data: int) -> Dense:
    """The identity as an array."""
    return Dense(np.arange(n_data), np.empty(n_data, dtype=np.int64))


def sparse(n_data: int) -> Sparse:
    """The identity as an empty table."""
    table = np.zeros(FIRST_SLOTS, dtype=np.int64), np.empty(FIRST_SLOTS, dtype=np.int64)
    return Sparse(n_data, 1, *table, np.empty(CHUNK, dtype=np.int64))


def is_a(kind: Any, numba_type: Any) -> bool:
    """Whether numba sees this kind of NamedTuple."""
    return isinstance(numba_type, types.BaseNamedTuple) and getattr(numba_type, "instance_class", None) is kind


def draw(rng: Any, permutation: Any, start: Any, stop: Any, goal: Any) -> Any: ...
def put_back(permutation: Any, n: Any) -> Any: ...


@kernel
def slot_of(keys, number, place):
    """Where a place is in the table, or the empty slot where it would be."""
    key = (number << PLACE_BITS) | place
    mask = keys.size - 1
    slot = np.int64((np.uint64(place) * np.uint64(MIX)) >> np.uint64(20)) & mask
    while keys[slot] != key and keys[slot] >> PLACE_BITS == number:
        slot = (slot + 1) & mask
    return slot, key


@kernel
def grown(permutation, size):
    """The same table with so many slots."""
    keys, values = np.zeros(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for old in range(permutation.keys.size):
        if permutation.keys[old] >> PLACE_BITS == permutation.number:
            place = permutation.keys[old] & ((1 << PLACE_BITS) - 1)
            slot, key = slot_of(keys, permutation.number, place)
            keys[slot], values[slot] = key, permutation.values[old]
    return Sparse(permutation.n_data, permutation.number, keys, values, permutation.drawn)


@overload(draw)
def _draw(rng, permutation, start, stop, goal):
    if is_a(Dense, permutation):

        def from_array(rng, permutation, start, stop, goal):
            """Items start .. stop of a sample that is to grow to `goal`; returns the permutation and these items."""
            order, picks = permutation.order, permutation.picks
            n = order.size
            for k in range(start, stop):
                pick = k if goal == n else k + int(rng.random() * (n - k))
                picks[k] = pick
                item = order[pick]
                order[pick] = order[k]
                order[k] = item
            return permutation, order[start:stop]

        return from_array
    if is_a(Sparse, permutation):

        def from_table(rng, permutation, start, stop, goal):
            n = permutation.n_data
            if goal < n and 2 * stop > permutation.keys.size:
                permutation = grown(permutation, 4 * permutation.keys.size)
            number, keys, values = permutation.number, permutation.keys, permutation.values
            for k in range(start, stop):
                slot, key = slot_of(keys, number, k)
                here = values[slot] if keys[slot] == key else k
                if goal == n:
                    permutation.drawn[k - start] = here
                    continue
                pick = k + int(rng.random() * (n - k))
                slot, key = slot_of(keys, number, pick)
                permutation.drawn[k - start] = values[slot] if keys[slot] == key else pick
                keys[slot], values[slot] = key, here
            return permutation, permutation.drawn[: stop - start]

        return from_table
    return None


@overload(put_back)
def _put_back(permutation, n):
    if is_a(Dense, permutation):

        def reset_array(permutation, n):
            """The identity again after n draws: every place that was touched is known."""
            order, picks = permutation.order, permutation.picks
            for k in range(n):
                order[k] = k
                order[picks[k]] = picks[k]
            return permutation

        return reset_array
    if is_a(Sparse, permutation):

        def reset_table(permutation, n):
            keys, values, number = permutation.keys, permutation.values, permutation.number + 1
            if keys.size > MOST_SLOTS:
                keys, values = np.zeros(FIRST_SLOTS, dtype=np.int64), np.empty(FIRST_SLOTS, dtype=np.int64)
            if number == MOST_SAMPLES:
                number = 1
                keys[:] = 0
            return Sparse(permutation.n_data, number, keys, values, permutation.drawn)

        return reset_table
    return None


@kernel
def extend(rng, permutation, start, stop, goal):
    """`draw` for callers that are not compiled."""
    return draw(rng, permutation, start, stop, goal)


@kernel
def reset(permutation, n):
    """`put_back` for callers that are not compiled."""
    return put_back(permutation, n)
