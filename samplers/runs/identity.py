"""What identifies a run whose parts are Python objects, so that only the same run is resumed.

A config is identified by its text and its data. Python objects are identified by what they do near the start: the
model by its log prior and the lᵢ of all data, the proposal by a few states that it proposes. These marks are stored
with the run and compared with a tolerance, because other machines may round the last digits differently.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.chains.protocol import MarkovChain
from samplers.chains.spec import ChainSpec
from samplers.decide.comparison import BLOCK, Comparison

MODEL, PROPOSAL, MARKS = "fingerprint of the model", "proposal", "marks"
MOST_SUMS = 1000  # of blocks of data, for each comparison of a fingerprint
UNIT = 1e-7  # differences of log-likelihoods below it count less and less: rounding makes such ones
SHORTEST = 1e-9  # the same for proposed moves, relative to 1 + |θ|
TOLERANCE = 1e-5  # for two marks of the same thing
PROPOSED = 3  # states that tell a proposal from another
MOST_NUMBERS = 2**20  # of an array that are hashed; more are thinned
DEPTH = 6  # of objects within objects
MOST_PARTS = 40  # of a model, proposal or test that are told apart
SEED = 20140621  # of the random numbers of a fingerprint

Marks = dict[str, list[list[float]]]


def identified(
    spec: ChainSpec, warmup: int, seed: int, known: Mapping[str, Any] | None = None, chain: MarkovChain | None = None
) -> ChainSpec:
    """The spec with its entries and their digest: everything that the draws depend on, by name.

    `known` is what the directory of the run says so far. Where its marks agree with those of the spec, up to rounding,
    its entries are used. `chain` is a chain of the spec at its start, if there is one already.
    """
    chain = spec.chain(np.random.default_rng(SEED)) if chain is None else chain
    start = np.asarray(chain.theta)
    marks = {MODEL: fingerprint(chain), PROPOSAL: behaviour(chain.proposal, start, chain.model)}
    digests = _digests(marks, known or {})
    entries: dict[str, Any] = {
        "model": type(chain.model).__qualname__,
        "n_data": int(chain.n_data),
        "dimension": int(start.size),
        "start": start.tolist() if start.size <= 10 else digest_of(start),
        PROPOSAL: _proposal_entry(chain.proposal, digests[PROPOSAL]),
        **_test_entries(spec, chain),
        "rule": chain.rule,
        "temperature": spec.temperature,
        "compiled": spec.fuse,
        "warmup": warmup,
        "seed": seed,
        MODEL: digests[MODEL],
    }
    entries |= {} if spec.factory is None else {"chain": type(chain).__qualname__}
    digest = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()
    pieces = {MODEL: chain.model, PROPOSAL: chain.proposal} | ({} if spec.design is not None else {"test": chain.test})
    notes = {**spec.notes, "parts": {name: parts_of(name, piece) for name, piece in pieces.items()}}
    notes |= {MARKS: {name: {"digest": digests[name], "numbers": marks[name]} for name in marks}}
    return spec._replace(entries=entries, digest=digest, notes=notes)


def _digests(marks: Marks, known: Mapping[str, Any]) -> dict[str, str]:
    """A digest of each mark: the known one, if the known numbers agree."""
    before: Mapping[str, Any] = known.get(MARKS, {})
    return {
        name: str(before[name]["digest"])
        if name in before and agree(numbers, before[name]["numbers"])
        else digest_of(numbers)
        for name, numbers in marks.items()
    }


def agree(numbers: list[list[float]], others: list[list[float]]) -> bool:
    """Whether two marks are of the same thing."""
    return [len(row) for row in numbers] == [len(row) for row in others] and all(
        np.allclose(row, other, rtol=0.0, atol=TOLERANCE) for row, other in zip(numbers, others, strict=True)
    )


def _proposal_entry(proposal: Any, digest: str) -> str:
    """The class of a proposal and the digest of what it does; a `Slice` proposes nothing, so of what it holds."""
    if hasattr(proposal, "propose"):
        return f"{type(proposal).__qualname__} {digest}"
    return described(proposal)


def _test_entries(spec: ChainSpec, chain: MarkovChain) -> dict[str, Any]:
    """Of a design its numbers by name, of any other test a digest."""
    if spec.design is None:
        return {"test": described(chain.test)}
    numbers = json.loads(spec.design.without_notes.to_json())["test"]
    return {f"test.{name}": value for name, value in numbers.items()}


def described(part: Any) -> str:
    """The class of a test or slice, and a digest of what it holds; nothing for None."""
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


def parts_of(name: str, value: Any) -> dict[str, str]:
    """What a model, proposal or test is made of, in words, to say which part is another one: numbers, and digests.

    Examples
    --------
    >>> from samplers import ConcentrationTest
    >>> parts_of("test", ConcentrationTest(m=500))["test.m"]
    '500'
    """
    name = "model" if name == MODEL else name
    parts = value._asdict() if hasattr(value, "_asdict") else _parts(value)
    public = [part for part in parts if not part.startswith("_")][:MOST_PARTS]
    with suppress(Exception):  # of objects that do not let us look
        return {f"{name}.{part}": _in_words(parts[part]) for part in public}
    return {}


def _in_words(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 10:
        return f"{' × '.join(f'{n:,}' for n in value.shape)} (digest {digest_of(value)[:8]})"
    if value is None or isinstance(value, (bool, int, float, str, np.ndarray, np.generic)):
        return " ".join(str(value).split())
    return f"{type(value).__qualname__} (digest {digest_of(value)[:8]})"


def fingerprint(chain: MarkovChain) -> list[list[float]]:
    """What the model says at a few states near the start: log prior and lᵢ, as numbers that can be compared.

    All data are read, once for each of a few comparisons. The numbers are sums over up to 1,000 blocks of data of
    weighted asinh(lᵢ / unit), about the logarithm of lᵢ: so a change of a few per cent in any lᵢ is noticed, however
    large the others are.

    Examples
    --------
    >>> from samplers import Chain, ExactTest, Logistic, RandomWalk
    >>> def of(y):
    ...     model = Logistic.from_data([[1.0], [2.0], [-1.0]], y)
    ...     return fingerprint(Chain(model, RandomWalk.isotropic(1.0, 1), ExactTest(), [0.0], np.random.default_rng(1)))
    >>> agree(of([1, 0, 1]), of([1, 0, 1])), agree(of([1, 0, 1]), of([1, 1, 1]))
    (True, False)
    """
    numbers, finite = [], False
    for comparison in chain.probes(np.random.default_rng(SEED)):
        sums, some = _sums(comparison)
        numbers.append([*_squashed(np.array([comparison.log_ratio]), UNIT).tolist(), *_rounded(sums)])
        finite |= some
    if not finite:
        raise BadInput("start: no lᵢ near it is finite, so a saved run could not tell its data; start elsewhere")
    return numbers


def _sums(comparison: Comparison) -> tuple[Floats, bool]:
    """Weighted sums of the squashed lᵢ of each block of data, and whether any lᵢ is finite."""
    n, rng, finite = comparison.n, np.random.default_rng(SEED), False
    sums: Floats = np.zeros(min(n, MOST_SUMS))
    for begin in range(0, n, BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, n), dtype=np.int64)
        terms = np.asarray(comparison.terms(rows), dtype=np.float64)
        finite |= bool(np.isfinite(terms).any())
        weighted = _squashed(terms, UNIT) * rng.standard_normal(rows.size)
        sums += np.bincount(rows * sums.size // n, weights=weighted, minlength=sums.size)
    return sums / math.sqrt(n / max(sums.size, 1)), finite  # a rounding error is as large in blocks of any size


def behaviour(proposal: Any, theta: Floats, model: Any = None) -> list[list[float]]:
    """The moves that a proposal makes from θ, and their log q, with random numbers that are always the same."""
    if not hasattr(proposal, "propose"):
        return []
    shared = [model, *getattr(model, "__dict__", {}).values()]  # a proposal may hold them; the data are not copied
    with suppress(Exception):  # a lock, say, cannot be copied
        proposal = deepcopy(proposal, {id(part): part for part in shared})  # its own state is left as it is
    rng, numbers = np.random.default_rng(SEED), []
    for _ in range(PROPOSED):
        proposed = proposal.propose(rng, theta.copy())
        moves = _squashed((np.asarray(proposed.theta) - theta) / (1.0 + np.abs(theta)), SHORTEST)
        weights = np.random.default_rng(SEED).standard_normal(moves.size)
        sums: Floats = np.zeros(min(moves.size, MOST_SUMS))
        np.add.at(sums, np.arange(moves.size) * sums.size // moves.size, weights * moves)
        numbers.append([*_squashed(np.array([proposed.log_q]), UNIT).tolist(), *_rounded(sums)])
    return numbers


def _squashed(values: Floats, unit: float) -> Floats:
    """asinh(value / unit), in which small values count beside large ones; finite even where the values are not."""
    squashed: Floats = np.nan_to_num(np.arcsinh(values / unit), nan=1e4, posinf=2e4, neginf=-2e4)
    return squashed


def _rounded(sums: Floats) -> list[float]:
    """To far more digits than are compared, to keep the file small."""
    return [float(value) for value in np.round(sums, 8)]
