"""Proposals: θ -> θ', and the log of the proposal ratio.

`propose` returns θ' and log q(θ'|θ) - log q(θ|θ'), the proposal's part of the log ratio c; it is 0
for the symmetric ones.

basic
    `Proposal`, what a proposal is; `RandomWalk`.
proxy
    `ProxyStep`, from the quadratic proxies of the log posterior.
profile
    `Profile`: proxy proposals bent to the shape of skewed directions.
arrow_step
    `ArrowStep`, the same for models with group effects.
conditional_step
    `ConditionalStep`, the same for any model with parameters that only the prior contains.
choice
    `choose_proposal`: tails and profile that promise the most effective draws.
stiefel
    `StiefelWalk`, rotations.
langevin
    `Langevin`, along the gradient of a mini-batch.
"""

from __future__ import annotations

from samplers.proposals.arrow_step import ArrowStep
from samplers.proposals.basic import Proposal, Proposed, RandomWalk
from samplers.proposals.choice import Candidate, ProposalChoice, choose_proposal
from samplers.proposals.conditional_step import ConditionalStep
from samplers.proposals.langevin import GradientModel, Langevin
from samplers.proposals.profile import Profile
from samplers.proposals.proxy import ProxyStep
from samplers.proposals.stiefel import StiefelWalk

__all__ = [
    "ArrowStep",
    "Candidate",
    "ConditionalStep",
    "GradientModel",
    "Langevin",
    "Profile",
    "Proposal",
    "ProposalChoice",
    "Proposed",
    "ProxyStep",
    "RandomWalk",
    "StiefelWalk",
    "choose_proposal",
]
