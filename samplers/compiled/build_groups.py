"""Models with group effects, and their proposals, in the form that the compiled block takes."""

from __future__ import annotations

import math

import numpy as np

from samplers.compiled.arrow import ArrowMove, ArrowSums, ArrowWhitening
from samplers.models.groups.arrow import Arrow, ArrowFactor
from samplers.proposals.arrow_step import ArrowStep


def arrow_sums(matrix: Arrow) -> ArrowSums:
    """An arrow matrix for kernels."""
    return ArrowSums(*(np.ascontiguousarray(part) for part in (matrix.root, matrix.side, matrix.leaves)))


def arrow_whitening(factor: ArrowFactor) -> ArrowWhitening:
    """The factor of a precision for kernels."""
    return ArrowWhitening(*(np.ascontiguousarray(part) for part in (factor.leaves, factor.wide, factor.root)))


def fused_arrow_step(proposal: ArrowStep) -> ArrowMove:
    """A proposal, with room of its own."""
    gradient, precision = proposal.known
    layout, sums = proposal.grouped.layout, arrow_sums(precision)
    groups, width, root = sums.side.shape
    return ArrowMove(
        centre=proposal.model.centre,
        gradient=gradient,
        precision=sums,
        starts=layout.starts,
        groups=layout.groups,
        widths=layout.widths,
        first=layout.first,
        keep=math.sqrt(1.0 - proposal.beta**2),
        beta=proposal.beta,
        scale_steps=proposal.scale_steps,
        moves=bool(proposal.scale_steps.any()),
        centres=np.empty((3, layout.first)),
        leaves=np.zeros((2, groups, width, width)),
        wide=np.empty((2, groups, width, root)),
        root=np.zeros((2, root, root)),
    )
