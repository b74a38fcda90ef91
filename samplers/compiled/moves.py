"""Proposals, chosen by type: θ' and log q(θ'|θ) - log q(θ|θ')."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import overload

from designer.core.jit import kernel
from samplers.compiled.arrow import ArrowMove, propose_arrow
from samplers.compiled.fetching import fetch
from samplers.compiled.logistic import dot, quadratic
from samplers.compiled.models import gradient
from samplers.compiled.parts import Drift, Rotation, ShapedStep, Step, Walk
from samplers.decide._permutation import CHUNK, draw, is_a, put_back
from samplers.models._kernels import ORTHONORMAL, rotate
from samplers.proposals._kernels import bend_all, unbend_all


def propose(rng: Any, proposal: Any, model: Any, permutation: Any, theta: Any, xi: Any, out: Any) -> Any: ...


@kernel
def fill_normal(rng, xi, size):
    for k in range(size):
        xi[k] = rng.standard_normal()


@kernel
def drift(model, proposal, theta, out):
    """step / 2 times the estimated gradient of the log posterior."""
    gradient(model, theta, proposal.batch, proposal.scale, out)
    for k in range(theta.size):
        out[k] *= 0.5 * proposal.step


@kernel
def student_scales(rng, proposal, square):
    """What multiplies the kept part of y, and the noise: `ProxyStep` explains it."""
    if proposal.degrees == math.inf:
        return 1.0, 1.0
    shape, new_share = 0.5 * proposal.degrees, proposal.beta**2
    if new_share == 1.0:
        return 0.0, math.sqrt(shape / rng.standard_gamma(shape))
    degrees = proposal.degrees + proposal.centre.size
    tau = 2.0 * rng.standard_gamma(0.5 * degrees) / (proposal.degrees + square)
    kept = tau * rng.beta(shape * (1.0 - new_share), shape * new_share)
    new_tau = kept + rng.standard_gamma(shape * new_share) / shape
    return math.sqrt(tau / new_tau), math.sqrt(1.0 / new_tau)


@kernel
def log_height(proposal, square):
    """Log density of y, up to a constant."""
    if proposal.degrees == math.inf:
        return -0.5 * square
    return -0.5 * (proposal.degrees + proposal.centre.size) * math.log1p(square / proposal.degrees)


@overload(propose)
def _propose(rng, proposal, model, permutation, theta, xi, out):
    """Each returns log q and the permutation, which only proposals with mini-batches use."""
    if is_a(Walk, proposal):

        def walk(rng, proposal, model, permutation, theta, xi, out):
            fill_normal(rng, xi, xi.size)
            for k in range(theta.size):
                out[k] = theta[k] + dot(proposal.factor[k], xi)
            return 0.0, permutation

        return walk
    if is_a(Step, proposal):

        def step(rng, proposal, model, permutation, theta, xi, out):
            fill_normal(rng, xi, xi.size)
            for k in range(theta.size):
                move = proposal.beta * dot(proposal.factor[k], xi)
                out[k] = proposal.centre[k] + proposal.keep * (theta[k] - proposal.centre[k]) + move
            old = quadratic(proposal.precision, theta - proposal.centre)
            return 0.5 * (old - quadratic(proposal.precision, out - proposal.centre)), permutation

        return step
    if is_a(ShapedStep, proposal):

        def shaped(rng, proposal, model, permutation, theta, xi, out):
            """As `ProxyStep.propose`, where it is explained."""
            y, new = np.empty(theta.size), np.empty(theta.size)
            old_slope = unbend_all(proposal.profile, proposal.centre, theta, y)
            old_square = quadratic(proposal.precision, y - proposal.centre)
            fill_normal(rng, xi, xi.size)
            scale, new_scale = student_scales(rng, proposal, old_square)
            for k in range(theta.size):
                move = proposal.beta * new_scale * dot(proposal.factor[k], xi)
                new[k] = proposal.centre[k] + proposal.keep * scale * (y[k] - proposal.centre[k]) + move
            new_square = quadratic(proposal.precision, new - proposal.centre)
            new_slope = bend_all(proposal.profile, proposal.centre, new, out)
            heights = log_height(proposal, new_square) - log_height(proposal, old_square)
            return heights - new_slope + old_slope, permutation

        return shaped
    if is_a(ArrowMove, proposal):

        def arrow(rng, proposal, model, permutation, theta, xi, out):
            return propose_arrow(rng, proposal, theta, xi, out), permutation

        return arrow
    if is_a(Rotation, proposal):

        def rotation(rng, proposal, model, permutation, theta, xi, out):
            d = proposal.size
            angles = d * (d - 1) // 2
            fill_normal(rng, xi, angles)
            off = rotate(xi[:angles], proposal.scale, theta.reshape((d, d)), out.reshape((d, d)))
            return (0.0 if off <= ORTHONORMAL else math.nan), permutation

        return rotation
    if is_a(Drift, proposal):

        def langevin(rng, proposal, model, permutation, theta, xi, out):
            """K16 Eqn 21, as `Langevin.propose`: the mini-batch comes first and serves both directions."""
            n, goal, batch = 0, proposal.batch.size, proposal.batch
            while n < goal:
                permutation, new = draw(rng, permutation, n, min(n + CHUNK, goal), goal)
                fetch(model, new)
                batch[n : n + new.size] = new
                n += new.size
            permutation = put_back(permutation, n)
            fill_normal(rng, xi, xi.size)
            root, move = math.sqrt(proposal.step), np.empty(theta.size)
            drift(model, proposal, theta, move)
            for k in range(theta.size):
                out[k] = theta[k] + move[k] + root * xi[k]
            drift(model, proposal, out, move)
            log_q = 0.0
            for k in range(theta.size):
                back = (theta[k] - out[k] - move[k]) / root
                log_q += 0.5 * (back * back - xi[k] * xi[k])
            return log_q, permutation

        return langevin
    return None
