"""Families made of e^η: Poisson counts, and gamma responses, both with log link."""

from __future__ import annotations

import math
from typing import NamedTuple

from samplers.models.families.functions import LARGEST, capped_exp
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


class Poisson(NamedTuple):
    """Counts with mean e^η."""


class Gamma(NamedTuple):
    """Positive numbers with mean e^η and variance mean² / shape."""

    shape: float


@overload(value, inline="always")
def _value(family, eta, y, extra):
    if is_a(Poisson, family):
        return lambda family, eta, y, extra: y * eta - capped_exp(eta)
    if is_a(Gamma, family):
        return lambda family, eta, y, extra: -family.shape * (eta + y * capped_exp(-eta))
    return None


@overload(change, inline="always")
def _change(family, old, new, y, extra):
    if is_a(Poisson, family):
        return lambda family, old, new, y, extra: y * (new - old) - (capped_exp(new) - capped_exp(old))
    if is_a(Gamma, family):
        return lambda family, old, new, y, extra: (
            -family.shape * ((new - old) + y * (capped_exp(-new) - capped_exp(-old)))
        )
    return None


@overload(slope)
def _slope(family, eta, y, extra):
    if is_a(Poisson, family):
        return lambda family, eta, y, extra: y - capped_exp(eta)
    if is_a(Gamma, family):
        return lambda family, eta, y, extra: family.shape * (y * capped_exp(-eta) - 1.0)
    return None


@overload(curvature)
def _curvature(family, eta, y, extra):
    if is_a(Poisson, family):
        return lambda family, eta, y, extra: -capped_exp(eta)
    if is_a(Gamma, family):
        return lambda family, eta, y, extra: -family.shape * y * capped_exp(-eta)
    return None


@overload(third)
def _third(family, eta, y, extra):
    if is_a(Poisson, family):
        return lambda family, eta, y, extra: -capped_exp(eta)
    if is_a(Gamma, family):
        return lambda family, eta, y, extra: family.shape * y * capped_exp(-eta)
    return None


def _bound(family, low, high, y, extra):
    """Both derivatives are as large as e^η, or as y e^-η."""
    if is_a(Poisson, family):
        return lambda family, low, high, y, extra: math.exp(min(high, LARGEST))
    if is_a(Gamma, family):
        return lambda family, low, high, y, extra: family.shape * y * math.exp(min(-low, LARGEST))
    return None


overload(second_bound)(_bound)
overload(third_bound)(_bound)
