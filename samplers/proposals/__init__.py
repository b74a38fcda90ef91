"""Proposals: θ -> θ', and the log of the proposal ratio.

`propose` returns θ' and log q(θ'|θ) - log q(θ|θ'), the proposal's part of the log ratio c; it is 0
for the symmetric ones.

basic
    `Proposal`, what a proposal is; `RandomWalk`.
proxy
    `ProxyStep`, from the quadratic proxies of the log posterior.
stiefel
    `StiefelWalk`, rotations.
langevin
    `Langevin`, along the gradient of a mini-batch.
"""

from __future__ import annotations

from samplers.proposals.basic import Proposal, Proposed, RandomWalk
from samplers.proposals.langevin import GradientModel, Langevin
from samplers.proposals.proxy import ProxyStep
from samplers.proposals.stiefel import StiefelWalk

__all__ = ["GradientModel", "Langevin", "Proposal", "Proposed", "ProxyStep", "RandomWalk", "StiefelWalk"]
