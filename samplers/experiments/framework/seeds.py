"""Random numbers of a part: they depend on the experiment's seed and on names, never on what ran before."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, *names: str) -> np.random.Generator:
    """A random number generator for a sequence of names, independent of those for other names.

    Examples
    --------
    >>> first, again = generator(1, "theory", "a"), generator(1, "theory", "a")
    >>> first.random() == again.random(), first.random() == generator(1, "theory", "b").random()
    (True, False)
    """
    key = hashlib.sha256("\0".join(names).encode()).digest()[:16]
    return np.random.default_rng(np.random.SeedSequence([seed, int.from_bytes(key, "little")]))
