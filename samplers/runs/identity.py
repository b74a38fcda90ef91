"""What identifies a run whose parts are Python objects, so that only the same run is resumed.

A config is identified by its text and its data. Python objects are identified by their classes, the numbers in them,
and what the model says at a few states near the start: its fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from samplers.chains.spec import ChainSpec
from samplers.decide.comparison import BLOCK, Comparison

MOST_ROWS = 100_000  # data that a fingerprint reads
MOST_NUMBERS = 2**20  # of an array that are hashed; more are thinned
DEPTH = 6  # of objects within objects
DIGITS = 5  # of each number of a fingerprint: other machines may round the last ones differently
SEED = 20140621  # of the states and weights of a fingerprint


def identified(spec: ChainSpec, warmup: int, seed: int) -> ChainSpec:
    """The spec with its entries and their digest: everything that the draws depend on, by name."""
    start = np.asarray(spec.start)
    entries = {
        "model": type(spec.model).__qualname__,
        "n_data": int(spec.model.n_data),
        "dimension": int(start.size),
        "start": start.tolist() if start.size <= 10 else digest_of(start),
        "proposal": described(spec.proposal),
        **_test_entries(spec),
        "rule": spec.rule,
        "temperature": spec.temperature,
        "compiled": spec.fuse,
        "warmup": warmup,
        "seed": seed,
        "fingerprint of the model": fingerprint(spec),
    }
    digest = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()
    return spec._replace(entries=entries, digest=digest)


def _test_entries(spec: ChainSpec) -> dict[str, Any]:
    """Of a design its numbers by name, of any other test a digest."""
    if spec.design is None:
        return {"test": described(spec.test)}
    numbers = json.loads(spec.design.without_notes.to_json())["test"]
    return {f"test.{name}": value for name, value in numbers.items()}


def described(part: Any) -> str:
    """The class of a proposal or test, and a digest of what it holds; nothing for None."""
    return "" if part is None else f"{type(part).__qualname__} {digest_of(part)}"


def digest_of(value: Any) -> str:
    """A short digest of the numbers and strings in an object.

    Examples
    --------
    >>> digest_of({"a": np.arange(3)}) == digest_of({"a": np.arange(3)}) != digest_of({"a": np.arange(4)})
    True
    """
    sha = hashlib.sha256()
    _hash(sha, value, DEPTH)
    return sha.hexdigest()[:12]


def _hash(sha: Any, value: Any, depth: int) -> None:
    """Add an object to a hash: its class, then its parts; below `depth` only its class."""
    sha.update(f"<{type(value).__qualname__}>".encode())
    if isinstance(value, np.ndarray):
        sha.update(f"{value.dtype.str}{value.shape}".encode())
        thinned = value.reshape(-1)[:: max(1, math.ceil(value.size / MOST_NUMBERS))]
        sha.update(np.ascontiguousarray(thinned).tobytes() if value.dtype.kind in "biufc" else b"")
    elif value is None or isinstance(value, (bool, int, float, complex, str, np.generic)):
        sha.update(repr(value).encode())
    elif depth > 0:
        for name, part in _parts(value).items():
            sha.update(f"{name}=".encode())
            _hash(sha, part, depth - 1)


def _parts(value: Any) -> Mapping[str, Any]:
    """What an object is made of: entries, fields or attributes."""
    if isinstance(value, Mapping):
        return {str(name): part for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return {str(number): part for number, part in enumerate(value)}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return {} if callable(value) else dict(getattr(value, "__dict__", {}))


def fingerprint(spec: ChainSpec) -> str:
    """A digest of what the model says at a few states near the start: log prior and sums of lᵢ, to a few digits.

    Examples
    --------
    >>> from samplers import ExactTest, Logistic, RandomWalk
    >>> def of(y):
    ...     model = Logistic.from_data([[1.0], [2.0], [-1.0]], y)
    ...     return fingerprint(ChainSpec(model, RandomWalk.isotropic(1.0, 1), ExactTest(), np.zeros(1)))
    >>> of([1, 0, 1]) == of([1, 0, 1]) != of([1, 1, 1])
    True
    """
    numbers: list[float] = []
    for comparison in spec.chain(np.random.default_rng(SEED)).probes(np.random.default_rng(SEED)):
        numbers.append(comparison.log_ratio)
        if math.isfinite(comparison.log_ratio):  # otherwise a chain would not ask for the data either
            numbers += _sums(comparison)
    text = " ".join(f"{number + 0.0:.{DIGITS}g}" for number in numbers)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _sums(comparison: Comparison) -> list[float]:
    """Weighted sums of the lᵢ: a change of any datum that is read changes them."""
    rows = np.unique(np.linspace(0, comparison.n - 1, min(comparison.n, MOST_ROWS)).astype(np.int64))
    weights: Floats = np.random.default_rng(SEED).standard_normal((2, rows.size))
    total = np.zeros(2)
    for begin in range(0, rows.size, BLOCK):
        block = slice(begin, begin + BLOCK)
        terms = np.asarray(comparison.terms(rows[block]), dtype=np.float64)
        total += (weights[:, block] * terms).sum(axis=1)
    return [float(value) for value in total]
