"""Limits of a trial run and of its files. Readers look them up here when they read, so that tests can change them."""

from __future__ import annotations

MAX_PAIRS = 5_000_000
MAX_RESIDUALS = 10_000_000  # values kept of all pairs together
MAX_BYTES = 2**28
MAX_LINE = 100_000
MAX_COLUMNS = 1000
MAX_LISTED = 20  # problems given in full; the others are only counted
LARGEST = 1e100  # size of an entry, so that N μ and A / κ cannot overflow
