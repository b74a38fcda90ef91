"""Families made of log(1 + e^η): Bernoulli and binomial with logit link, negative binomial with log link."""

from __future__ import annotations

import math
from typing import NamedTuple

from designer.core.jit import kernel
from designer.engine._exp_kernels import fast_exp
from samplers.models.families.functions import sigmoid, softplus, softplus_change
from samplers.models.families.scalar import (
    change,
    curvature,
    is_a,
    overload,
    second_bound,
    slope,
    third,
    third_bound,
    value,
)

STEEPEST = math.log(2.0 + math.sqrt(3.0))  # |η| of the largest third derivative, which is 1 / (6 √3) there


class Bernoulli(NamedTuple):
    """y = 0 or 1, P(1) = 1 / (1 + e^-η)."""


class Binomial(NamedTuple):
    """y ones in `extra` trials, P(1) = 1 / (1 + e^-η)."""


class NegativeBinomial(NamedTuple):
    """Counts with mean e^η and variance mean + mean² / size."""

    size: float
    log_size: float


@kernel
def flattest(low, high):
    """The least |η| for η in [low, high]."""
    return max(max(low, -high), 0.0)


@kernel
def logit_second(low, high):
    """Largest p (1 - p): it falls with |η|."""
    e = math.exp(-flattest(low, high))
    return e / ((1.0 + e) * (1.0 + e))


@kernel
def logit_third(low, high):
    """Largest p (1 - p) |1 - 2 p|: it rises up to |η| = STEEPEST, then falls."""
    size = min(max(STEEPEST, flattest(low, high)), max(abs(low), abs(high)))
    e = math.exp(-size)
    return -math.expm1(-size) * e / ((1.0 + e) * (1.0 + e) * (1.0 + e))


@kernel
def spread(eta):
    """p (1 - p)."""
    e = fast_exp(-abs(eta))
    return e / ((1.0 + e) * (1.0 + e))


@kernel
def skew(eta):
    """p (1 - p) (1 - 2 p)."""
    e = fast_exp(-abs(eta))
    size = -math.expm1(-abs(eta)) * e / ((1.0 + e) * (1.0 + e) * (1.0 + e))
    return -size if eta > 0.0 else size


@overload(value, inline="always")
def _value(family, eta, y, extra):
    if is_a(Bernoulli, family):
        return lambda family, eta, y, extra: y * eta - softplus(eta)
    if is_a(Binomial, family):
        return lambda family, eta, y, extra: y * eta - extra * softplus(eta)
    if is_a(NegativeBinomial, family):
        return lambda family, eta, y, extra: y * eta - (y + family.size) * softplus(eta - family.log_size)
    return None


@overload(change, inline="always")
def _change(family, old, new, y, extra):
    if is_a(Bernoulli, family):
        return lambda family, old, new, y, extra: y * (new - old) - softplus_change(old, new)
    if is_a(Binomial, family):
        return lambda family, old, new, y, extra: y * (new - old) - extra * softplus_change(old, new)
    if is_a(NegativeBinomial, family):
        return lambda family, old, new, y, extra: (
            y * (new - old) - (y + family.size) * softplus_change(old - family.log_size, new - family.log_size)
        )
    return None


@overload(slope)
def _slope(family, eta, y, extra):
    if is_a(Bernoulli, family):
        return lambda family, eta, y, extra: y * sigmoid(-eta) - (1.0 - y) * sigmoid(eta)
    if is_a(Binomial, family):
        return lambda family, eta, y, extra: y * sigmoid(-eta) - (extra - y) * sigmoid(eta)
    if is_a(NegativeBinomial, family):
        return lambda family, eta, y, extra: (
            y * sigmoid(family.log_size - eta) - family.size * sigmoid(eta - family.log_size)
        )
    return None


@overload(curvature)
def _curvature(family, eta, y, extra):
    if is_a(Bernoulli, family):
        return lambda family, eta, y, extra: -spread(eta)
    if is_a(Binomial, family):
        return lambda family, eta, y, extra: -extra * spread(eta)
    if is_a(NegativeBinomial, family):
        return lambda family, eta, y, extra: -(y + family.size) * spread(eta - family.log_size)
    return None


@overload(third)
def _third(family, eta, y, extra):
    if is_a(Bernoulli, family):
        return lambda family, eta, y, extra: -skew(eta)
    if is_a(Binomial, family):
        return lambda family, eta, y, extra: -extra * skew(eta)
    if is_a(NegativeBinomial, family):
        return lambda family, eta, y, extra: -(y + family.size) * skew(eta - family.log_size)
    return None


@overload(second_bound)
def _second_bound(family, low, high, y, extra):
    if is_a(Bernoulli, family):
        return lambda family, low, high, y, extra: logit_second(low, high)
    if is_a(Binomial, family):
        return lambda family, low, high, y, extra: extra * logit_second(low, high)
    if is_a(NegativeBinomial, family):
        return lambda family, low, high, y, extra: (
            (y + family.size) * logit_second(low - family.log_size, high - family.log_size)
        )
    return None


@overload(third_bound)
def _third_bound(family, low, high, y, extra):
    if is_a(Bernoulli, family):
        return lambda family, low, high, y, extra: logit_third(low, high)
    if is_a(Binomial, family):
        return lambda family, low, high, y, extra: extra * logit_third(low, high)
    if is_a(NegativeBinomial, family):
        return lambda family, low, high, y, extra: (
            (y + family.size) * logit_third(low - family.log_size, high - family.log_size)
        )
    return None
