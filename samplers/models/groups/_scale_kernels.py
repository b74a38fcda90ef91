"""Scales given effects: log τ of each column of each group term, by slice sampling. No data are read."""

from __future__ import annotations

import math

import numpy as np

from designer.core.arrays import Floats, Ints
from designer.core.jit import kernel

WIDTH = 3.0  # of a slice's first interval, in standard deviations of log τ when there are many groups
OUT = 60  # times that an interval grows at most


@kernel
def log_scale_density(log_scale: float, groups: int, squares: float, scale: float, degrees: float) -> float:
    """Log density of log τ given the effects' sum of squares: their normal density, the half-t prior, and dτ/dlog τ."""
    size = math.exp(min(log_scale, 300.0)) / scale
    if degrees == math.inf:
        prior = -0.5 * size * size
    else:
        prior = -0.5 * (degrees + 1.0) * math.log1p(min(size, 1e150) ** 2 / degrees)
    return -(groups - 1.0) * log_scale - 0.5 * squares * math.exp(min(-2.0 * log_scale, 700.0)) + prior


@kernel
def slice_log_scale(
    rng: np.random.Generator, log_scale: float, groups: int, squares: float, scale: float, degrees: float
) -> float:
    """A draw of log τ that leaves its distribution given the effects invariant: stepping out, then shrinking."""
    level = log_scale_density(log_scale, groups, squares, scale, degrees) + math.log(1.0 - rng.random())
    width = WIDTH / math.sqrt(2.0 * groups)
    low = log_scale - width * rng.random()
    high = low + width
    left = int(OUT * rng.random())  # how often each side may grow is drawn first: then the move is reversible
    right = OUT - 1 - left
    while left > 0 and log_scale_density(low, groups, squares, scale, degrees) > level:
        low, left = low - width, left - 1
    while right > 0 and log_scale_density(high, groups, squares, scale, degrees) > level:
        high, right = high + width, right - 1
    while True:
        new = low + (high - low) * rng.random()
        if log_scale_density(new, groups, squares, scale, degrees) >= level:
            return new
        if new < log_scale:
            low = new
        else:
            high = new


@kernel
def refresh_scales(
    rng: np.random.Generator,
    theta: Floats,
    starts: Ints,
    groups: Ints,
    widths: Ints,
    scales: Floats,
    degrees: Floats,
    first: int,
) -> None:
    """Draw all log scales given the effects, in place: those of term t begin at θ[starts[t]], the scales at `first`."""
    at = first
    for t in range(starts.size):
        for j in range(widths[t]):
            squares = 0.0
            for g in range(groups[t]):
                effect = theta[starts[t] + g * widths[t] + j]
                squares += effect * effect
            theta[at] = slice_log_scale(rng, theta[at], groups[t], squares, scales[t], degrees[t])
            at += 1


@kernel
def log_prior_of_effects(
    theta: Floats, starts: Ints, groups: Ints, widths: Ints, scales: Floats, degrees: Floats, first: int
) -> float:
    """Log density of effects and log scales together, up to a constant."""
    at, total = first, 0.0
    for t in range(starts.size):
        for j in range(widths[t]):
            squares = 0.0
            for g in range(groups[t]):
                effect = theta[starts[t] + g * widths[t] + j]
                squares += effect * effect
            total += log_scale_density(theta[at], groups[t], squares, scales[t], degrees[t])
            at += 1
    return total
