"""A design as a text in the URL."""

from __future__ import annotations

from designer.core.errors import BadInput
from designer.rule.design import Design


def design_text(design: Design) -> str:
    """Its numbers N, m, ε, α and growth; bounds of its own follow, lower ones first."""
    numbers = (design.n_data, design.m, design.epsilon, design.alpha, design.growth)
    return ",".join(repr(number) for number in (*numbers, *(design.lower or ()), *(design.upper or ())))


def parse_design(text: str) -> Design | None:
    """The design in a text of the URL; None if the text is damaged."""
    try:
        n_data, m, epsilon, alpha, growth, *rest = text.split(",")
        bounds = [float(bound) for bound in rest]
        lower, upper = bounds[: len(bounds) // 2] or None, bounds[len(bounds) // 2 :] or None
        return Design(int(n_data), int(m), float(epsilon), float(alpha), float(growth), lower=lower, upper=upper)
    except (ValueError, BadInput):
        return None
