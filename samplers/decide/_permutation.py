"""Drawing without replacement: the beginning of a random permutation of 0 .. N-1, forgotten after each sample.

An item is drawn at random, and drawn again if it is already in the sample. To remember the sample, `Dense` has a bit
for every item, which stays in the processor's cache where an array of places would not (six times as fast at
N = 2 million); `Sparse` has a hash table, whose memory depends on the sample and not on N. Both draw the same items
from the same random numbers. The k-th item of N takes N / (N - k) tries on average: after a quarter of the data the
remaining items are listed, and shuffled as they are drawn (Fisher and Yates). A sample that takes all remaining items
takes them in order, without random numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload

from designer.core.arrays import Ints
from designer.core.jit import kernel

MOST_DENSE = 2**22  # largest N for bits and places, 34 MB; beyond, a table is as fast for most samples
CHUNK = 4096  # most items drawn in one call
FIRST_SLOTS, MOST_SLOTS = 2**13, 2**20  # of a fresh table, and of one that is kept for the next sample
ITEM_BITS = 50  # a key is the number of the sample and an item, so that the keys of older samples count as empty
MOST_SAMPLES = 2**12
MIX = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: neighbouring items land far from each other


class Dense(NamedTuple):
    """A bit for every item; drawn[:n] is the sample and, once that is `filled`, drawn[n:-1] the rest."""

    taken: npt.NDArray[np.uint64]
    drawn: Ints
    filled: bool


class Sparse(NamedTuple):
    """The items of the sample by open addressing; `drawn` has room for one call's items.

    When all items are drawn, those from `next` on are still to be taken in order. `rest` lists the remaining items.
    """

    n_data: int
    number: int  # of the sample, from 1
    next: int
    keys: Ints
    drawn: Ints
    rest: Ints


Permutation = Dense | Sparse


def fresh(n_data: int) -> Permutation:
    """An empty sample, as bits or as a table, whichever suits n data."""
    if n_data <= MOST_DENSE:
        return dense(n_data)
    return sparse(n_data)


def dense(n_data: int) -> Dense:
    """An empty sample as bits."""
    return Dense(np.zeros((n_data + 63) // 64, dtype=np.uint64), np.empty(n_data + 1, dtype=np.int64), False)


def sparse(n_data: int) -> Sparse:
    """An empty sample as a table."""
    places = np.zeros(FIRST_SLOTS, dtype=np.int64), np.empty(CHUNK, dtype=np.int64), np.empty(0, dtype=np.int64)
    return Sparse(n_data, 1, 0, *places)


def is_a(kind: Any, numba_type: Any) -> bool:
    """Whether a numba type is this kind of NamedTuple."""
    return isinstance(numba_type, types.BaseNamedTuple) and getattr(numba_type, "instance_class", None) is kind


def draw(rng: Any, permutation: Any, start: Any, stop: Any, goal: Any) -> Any: ...
def put_back(permutation: Any, n: Any) -> Any: ...


@kernel
def bit_of(item):
    """The word that holds an item's bit, and the bit."""
    return item >> 6, np.uint64(1) << np.uint64(item & 63)


@kernel
def slot_of(keys, number, item):
    """Where an item is in the table, or the empty slot where it would be."""
    key = (number << ITEM_BITS) | item
    mask = keys.size - 1
    slot = np.int64((np.uint64(item) * np.uint64(MIX)) >> np.uint64(20)) & mask
    while keys[slot] != key and keys[slot] >> ITEM_BITS == number:
        slot = (slot + 1) & mask
    return slot, key


@kernel
def grown(keys, number, size):
    """The same table with `size` slots."""
    larger = np.zeros(size, dtype=np.int64)
    for key in keys:
        if key >> ITEM_BITS == number:
            slot, key = slot_of(larger, number, key & ((1 << ITEM_BITS) - 1))
            larger[slot] = key
    return larger


@kernel
def fill(taken, drawn, k):
    """Write the items that are not taken after the first k; the last place is scratch, for those that are."""
    for item in range(drawn.size - 1):
        word, bit = bit_of(item)
        drawn[k] = item
        k += taken[word] & bit == 0


@kernel
def rest_of(keys, number, n, k):
    """The items of n that are not in a table of k."""
    rest, place = np.empty(n - k, dtype=np.int64), 0
    for item in range(n):
        slot, key = slot_of(keys, number, item)
        if keys[slot] != key:
            rest[place] = item
            place += 1
    return rest


@kernel
def shuffle_one(rng, items, k, n):
    """Swap a random one of items[k:n] to place k."""
    j = k + int(rng.random() * (n - k))
    items[k], items[j] = items[j], items[k]


@overload(draw)
def _draw(rng, permutation, start, stop, goal):
    if is_a(Dense, permutation):

        def by_bits(rng, permutation, start, stop, goal):
            """Draw items start .. stop of a sample that will grow to `goal`; return the permutation and these items."""
            taken, drawn, filled = permutation.taken, permutation.drawn, permutation.filled
            n, k = drawn.size - 1, start
            while k < stop:
                if filled:
                    if goal < n:
                        shuffle_one(rng, drawn, k, n)
                    k += 1
                elif goal == n or 4 * k >= n:
                    fill(taken, drawn, k)
                    filled = True
                else:
                    here = int(rng.random() * n)
                    word, bit = bit_of(here)
                    if taken[word] & bit == 0:
                        taken[word] |= bit
                        drawn[k] = here
                        k += 1
            return Dense(taken, drawn, filled), drawn[start:stop]

        return by_bits
    if is_a(Sparse, permutation):

        def by_table(rng, permutation, start, stop, goal):
            n, number, keys, drawn = permutation.n_data, permutation.number, permutation.keys, permutation.drawn
            item, rest, k = permutation.next, permutation.rest, start
            in_order = goal == n
            if not in_order and rest.size == 0 and 2 * stop > keys.size:
                keys = grown(keys, number, 4 * keys.size)
            while k < stop:
                if rest.size > 0:
                    place = k - (n - rest.size)
                    if not in_order:
                        shuffle_one(rng, rest, place, rest.size)
                    drawn[k - start] = rest[place]
                    k += 1
                elif not in_order and 4 * k >= n:
                    rest = rest_of(keys, number, n, k)
                else:
                    here = item if in_order else int(rng.random() * n)
                    item += in_order
                    slot, key = slot_of(keys, number, here)
                    if keys[slot] != key:
                        if not in_order:
                            keys[slot] = key
                        drawn[k - start] = here
                        k += 1
            return Sparse(n, number, item, keys, drawn, rest), drawn[: stop - start]

        return by_table
    return None


@overload(put_back)
def _put_back(permutation, n):
    if is_a(Dense, permutation):

        def clear_bits(permutation, n):
            """Clear the sample after n draws: item by item, or all words if they are fewer."""
            taken, drawn = permutation.taken, permutation.drawn
            if n < taken.size:
                for k in range(n):
                    taken[drawn[k] >> 6] = 0
            else:
                taken[:] = 0
            return Dense(taken, drawn, False)

        return clear_bits
    if is_a(Sparse, permutation):

        def next_number(permutation, n):
            keys, number = permutation.keys, permutation.number + 1
            if keys.size > MOST_SLOTS:
                keys = np.zeros(FIRST_SLOTS, dtype=np.int64)
            if number == MOST_SAMPLES:
                number = 1
                keys[:] = 0
            return Sparse(permutation.n_data, number, 0, keys, permutation.drawn, np.empty(0, dtype=np.int64))

        return next_number
    return None


@kernel
def extend(rng, permutation, start, stop, goal):
    """`draw` for callers that are not compiled."""
    return draw(rng, permutation, start, stop, goal)


@kernel
def reset(permutation, n):
    """`put_back` for callers that are not compiled."""
    return put_back(permutation, n)
