"""Arrow matrices (`samplers.models.groups.arrow`) in compiled chains, and the proposals that need them."""

from __future__ import annotations

import math
from typing import NamedTuple

from designer.core.arrays import Floats, Ints
from designer.core.jit import kernel, kernel_with
from samplers.compiled.logistic import SUMS

SHARE = 0.5  # of the steps in which the scales move along


class ArrowSums(NamedTuple):
    """A symmetric arrow matrix."""

    root: Floats
    side: Floats
    leaves: Floats


class ArrowWhitening(NamedTuple):
    """The factor M of a precision: M'(θ - centre) is white."""

    leaves: Floats
    wide: Floats
    root: Floats


class ArrowMove(NamedTuple):
    """`ArrowStep`; the last four are room for centre and factor at the scales of the state, and at moved ones."""

    centre: Floats
    gradient: Floats
    precision: ArrowSums  # without the prior of the effects
    starts: Ints
    groups: Ints
    widths: Ints
    first: int
    keep: float
    beta: float
    scale_steps: Floats
    moves: bool
    centres: Floats
    leaves: Floats
    wide: Floats
    root: Floats


@kernel_with(fastmath=SUMS)
def arrow_quadratic(matrix, d):
    """d' matrix d; entries of d beyond the matrix are scales."""
    root, side, leaves = matrix.root, matrix.side, matrix.leaves
    size, width, total = root.shape[0], leaves.shape[1], 0.0
    for i in range(size):
        part = 0.0
        for j in range(size):
            part += root[i, j] * d[j]
        total += d[i] * part
    for g in range(leaves.shape[0]):
        for i in range(width):
            at = size + g * width
            part = 0.0
            for j in range(size):
                part += 2.0 * side[g, i, j] * d[j]
            for j in range(width):
                part += leaves[g, i, j] * d[at + j]
            total += d[at + i] * part
    return total


@kernel_with(fastmath=SUMS)
def factor_arrow(matrix, added, leaves, wide, root):
    """Factor the matrix with `added` on its diagonal, as `Arrow.factor`; returns the factor's log determinant."""
    size, groups, width, log_det = matrix.root.shape[0], leaves.shape[0], leaves.shape[1], 0.0
    for i in range(size):
        for j in range(i + 1):
            root[i, j] = matrix.root[i, j]
        root[i, i] += added[i]
    for g in range(groups):
        for i in range(width):
            for j in range(i + 1):
                total = matrix.leaves[g, i, j]
                if i == j:
                    total += added[size + g * width + i]
                for m in range(j):
                    total -= leaves[g, i, m] * leaves[g, j, m]
                leaves[g, i, j] = math.sqrt(total) if i == j else total / leaves[g, j, j]
            log_det += math.log(leaves[g, i, i])
            for r in range(size):
                wide[g, i, r] = matrix.side[g, i, r]
            for m in range(i):
                for r in range(size):
                    wide[g, i, r] -= leaves[g, i, m] * wide[g, m, r]
            for r in range(size):
                wide[g, i, r] /= leaves[g, i, i]
            for a in range(size):
                times = wide[g, i, a]
                for b in range(a + 1):
                    root[a, b] -= times * wide[g, i, b]
    for i in range(size):
        for j in range(i + 1):
            total = root[i, j]
            for m in range(j):
                total -= root[i, m] * root[j, m]
            root[i, j] = math.sqrt(total) if i == j else total / root[j, j]
        log_det += math.log(root[i, i])
    return log_det


@kernel_with(fastmath=SUMS)
def whiten_arrow(leaves, wide, root, centre, theta, out):
    """M'(θ - centre), root first, as `ArrowFactor.whiten`."""
    size, width = root.shape[0], leaves.shape[1]
    for i in range(size):
        total = 0.0
        for j in range(i, size):
            total += root[j, i] * (theta[j] - centre[j])
        out[i] = total
    for g in range(leaves.shape[0]):
        at = size + g * width
        for i in range(width):
            total = 0.0
            for r in range(size):
                total += wide[g, i, r] * (theta[r] - centre[r])
            for j in range(i, width):
                total += leaves[g, j, i] * (theta[at + j] - centre[at + j])
            out[at + i] = total


@kernel_with(fastmath=SUMS)
def colour_arrow(leaves, wide, root, white, out):
    """M'⁻¹ z, as `ArrowFactor.colour`; `out` may be z itself."""
    size, width = root.shape[0], leaves.shape[1]
    for i in range(size - 1, -1, -1):
        total = white[i]
        for j in range(i + 1, size):
            total -= root[j, i] * out[j]
        out[i] = total / root[i, i]
    for g in range(leaves.shape[0]):
        at = size + g * width
        for i in range(width - 1, -1, -1):
            total = white[at + i]
            for r in range(size):
                total -= wide[g, i, r] * out[r]
            for j in range(i + 1, width):
                total -= leaves[g, j, i] * out[at + j]
            out[at + i] = total / leaves[g, i, i]


@kernel_with(fastmath=SUMS)
def forward_arrow(leaves, wide, root, vector, out):
    """M⁻¹ v; `out` may be v itself."""
    size, width = root.shape[0], leaves.shape[1]
    for r in range(size):
        out[r] = vector[r]
    for g in range(leaves.shape[0]):
        at = size + g * width
        for i in range(width):
            total = vector[at + i]
            for m in range(i):
                total -= leaves[g, i, m] * out[at + m]
            u = total / leaves[g, i, i]
            out[at + i] = u
            for r in range(size):
                out[r] -= wide[g, i, r] * u
    for i in range(size):
        total = out[i]
        for j in range(i):
            total -= root[i, j] * out[j]
        out[i] = total / root[i, i]


@kernel
def fill_effect_precisions(move, theta, out):
    """1 / τ² at each effect, 0 at the coefficients."""
    at = move.first
    for k in range(move.starts[0]):
        out[k] = 0.0
    for t in range(move.starts.size):
        for j in range(move.widths[t]):
            precision = math.exp(-2.0 * theta[at])
            for g in range(move.groups[t]):
                out[move.starts[t] + g * move.widths[t] + j] = precision
            at += 1


@kernel
def locate(move, theta, slot, room):
    """Centre and factor at the scales of θ, into a slot; returns the log determinant."""
    centre, leaves, wide, root = move.centres[slot], move.leaves[slot], move.wide[slot], move.root[slot]
    fill_effect_precisions(move, theta, room)
    log_det = factor_arrow(move.precision, room, leaves, wide, root)
    for k in range(move.first):
        room[k] = move.gradient[k] - room[k] * move.centre[k]
    forward_arrow(leaves, wide, root, room, room)
    colour_arrow(leaves, wide, root, room, centre)
    for k in range(move.first):
        centre[k] += move.centre[k]
    return log_det


@kernel
def propose_arrow(rng, move, theta, white, out):
    """Draw for draw as `ArrowStep.propose`, where it is explained; returns log q."""
    first, slot = move.first, 0
    old_det = locate(move, theta, 0, out)
    new_det = old_det
    whiten_arrow(move.leaves[0], move.wide[0], move.root[0], move.centres[0], theta, white)
    for k in range(first, theta.size):
        out[k] = theta[k]
    if move.moves and rng.random() < SHARE:
        for s in range(move.scale_steps.size):
            out[first + s] += move.scale_steps[s] * rng.standard_normal()
        new_det, slot = locate(move, out, 1, move.centres[2]), 1
    squares = 0.0
    for k in range(first):
        squares += white[k] * white[k]
        white[k] = move.keep * white[k] + move.beta * rng.standard_normal()
        squares -= white[k] * white[k]
    colour_arrow(move.leaves[slot], move.wide[slot], move.root[slot], white, out)
    for k in range(first):
        out[k] += move.centres[slot, k]
    return 0.5 * squares + new_det - old_det
