"""Columns of a design matrix that say nothing, or the same as others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.files import shorten
from samplers.models.arrays import blocks

NEAR = 1e-9  # smallest eigenvalue of the correlations, relative to 1, at which columns count as different
WORTH_NAMING = 1e-3  # weight of a column in a combination that is constant
MOST_NAMED = 6


def redundant(x: Floats, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Sentences about columns that are constant beside an intercept, duplicated or nearly collinear; which they are.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> a = rng.standard_normal(50)
    >>> redundant(np.column_stack([np.ones(50), a, 2 * a]), ["intercept", "a", "b"])
    {"columns 'a', 'b' say the same": ('a', 'b')}
    """
    count, n = x.shape[1], x.shape[0]
    mean, scale = _moments(x)
    constant = scale <= 1e-10 * np.maximum(np.abs(mean), np.finfo(float).tiny)
    ones = [k for k in range(count) if constant[k] and mean[k] != 0.0]
    found: dict[str, tuple[str, ...]] = {}
    for k in np.flatnonzero(constant).tolist():
        if mean[k] == 0.0:
            found[f"column {names[k]!r} is 0 in all rows"] = (names[k],)
        elif k != ones[0]:
            also = f", as {names[ones[0]]!r} is"
            found[f"column {names[k]!r} is constant{also}"] = (names[ones[0]], names[k])
    rest = np.flatnonzero(~constant)
    if rest.size < 2 and ones:
        return found
    gram = _gram(x, rest, mean, scale, centred=bool(ones)) / n
    for group in _groups(gram):
        listed = [names[int(rest[k])] for k in group]
        what = "say the same" if len(group) == 2 else "are collinear: one follows from the others"
        with_intercept = ", with the intercept" if len(group) == 1 else ""
        text = ", ".join(repr(name) for name in listed[:MOST_NAMED]) + (", …" if len(listed) > MOST_NAMED else "")
        found[f"column{'s' * (len(group) > 1)} {shorten(text, 200)} {what}{with_intercept}"] = tuple(listed)
    return found


def _moments(x: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column, a block at a time."""
    n = x.shape[0]
    mean = sum((np.asarray(x[block]).sum(axis=0) for block in blocks(n)), start=np.zeros(x.shape[1])) / n
    squares = sum((((x[block] - mean) ** 2).sum(axis=0) for block in blocks(n)), start=np.zeros(x.shape[1])) / n
    return np.asarray(mean), np.sqrt(squares)


def standard_deviations(x: Floats) -> Floats:
    """The standard deviation of each column."""
    return _moments(x)[1]


def _gram(x: Floats, columns: Ints, mean: Floats, scale: Floats, *, centred: bool) -> Floats:
    """Correlations of some columns times N; without an intercept, of the columns as they are, each of length √N."""
    gram = np.zeros((columns.size, columns.size))
    length = scale if centred else np.sqrt(scale**2 + mean**2)
    for block in blocks(x.shape[0]):
        part = (x[block][:, columns] - mean[columns] if centred else x[block][:, columns]) / length[columns]
        gram += part.T @ part
    return gram


def _groups(gram: Floats) -> list[list[int]]:
    """Columns whose combination is nearly constant, for each such combination: as few columns as can be."""
    dependent, left = [], list[int]()
    factor = np.zeros((0, 0))
    for k in range(gram.shape[0]):  # add columns one by one: those that follow from the ones before are dependent
        cross = gram[left, k]
        solved = np.linalg.solve(factor, cross) if left else np.zeros(0)
        if gram[k, k] - solved @ solved <= NEAR:
            weights = np.linalg.solve(factor.T, solved) if left else np.zeros(0)
            dependent.append([*(left[j] for j in np.flatnonzero(np.abs(weights) > WORTH_NAMING)), k])
            continue
        grown = np.zeros((len(left) + 1, len(left) + 1))
        grown[:-1, :-1], grown[-1, :-1] = factor, solved
        grown[-1, -1] = np.sqrt(gram[k, k] - solved @ solved)
        factor = grown
        left.append(k)
    return dependent
