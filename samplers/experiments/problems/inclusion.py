"""Inclusion probabilities of variables over several chains: errors that know slow mixing, differences from a truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from designer.core.arrays import Floats
from samplers.experiments.framework.running import Values

POOLED = 1, 2, 4  # blocks pooled: longer blocks give larger errors for variables that enter and leave slowly


class Inclusion(NamedTuple):
    """Inclusion probabilities of a test's chains, and the largest difference from the truth, absolute and in s.e.

    `moved` counts the variables that entered or left.
    """

    inclusion: Floats
    se: Floats
    largest: float
    furthest: float
    moved: int


def inclusion_of(parts: Sequence[Values], exact: Sequence[Values], columns: int) -> Inclusion:
    """Compare the inclusion probabilities with those of exact chains, using the standard errors of both."""
    inclusion, truth = (np.mean([part["means"][-1, :columns] for part in chains], axis=0) for chains in (parts, exact))
    se, true_se = inclusion_error(parts, columns), inclusion_error(exact, columns)
    difference = np.abs(inclusion - truth)
    far = difference / np.hypot(se, true_se)
    return Inclusion(inclusion, se, float(difference.max()), float(far.max()), moving(parts, columns))


def moving(parts: Sequence[Values], columns: int) -> int:
    """Number of variables that entered or left in these chains."""
    return int(np.count_nonzero(np.sum([_changes(part["blocks"][:, :columns]) for part in parts], axis=0)))


def inclusion_error(parts: Sequence[Values], columns: int) -> Floats:
    """Standard errors of the inclusion probabilities over several chains: the largest of several estimates.

    Mixing is slow, so the estimates come from shorter and longer blocks, and from n independent periods in or out: one
    for each chain and one for each time that a variable enters or leaves. So a chain in which a variable never moved
    counts as one draw, not as certainty.
    """
    blocks = [part["blocks"][:, :columns] for part in parts]
    samples = [np.concatenate([_pooled(block, together) for block in blocks]) for together in POOLED]
    errors = [sample.std(axis=0, ddof=1) / np.sqrt(len(sample)) for sample in samples if len(sample) > 1]
    n = len(blocks) + np.sum([_changes(block) for block in blocks], axis=0)
    share = (n * samples[0].mean(axis=0) + 0.5) / (n + 1.0)  # not 0 or 1 after n periods of the same kind
    worst: Floats = np.max([*errors, np.sqrt(share * (1.0 - share) / n)], axis=0)
    return worst


def _changes(blocks: Floats) -> Floats:
    """A lower bound on how often each variable entered or left, from changes within and between blocks."""
    within = np.sum((blocks > 0.0) & (blocks < 1.0), axis=0)
    between = np.sum(np.abs(np.diff(blocks, axis=0)) == 1.0, axis=0)
    changes: Floats = (within + between).astype(np.float64)
    return changes


def _pooled(blocks: Floats, together: int) -> Floats:
    """Means of this many consecutive blocks; blocks left over at the beginning are not used."""
    count = len(blocks) // together
    last = blocks[len(blocks) - count * together :].reshape(count, together, blocks.shape[1])
    means: Floats = last.mean(axis=1)
    return means
