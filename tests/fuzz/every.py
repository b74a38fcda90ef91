"""All targets of `python -m tests.fuzz`: the parsers, and the calculator."""

from __future__ import annotations

from tests.fuzz import numerics, targets
from tests.fuzz.seeds import seeds

TARGETS = targets.TARGETS | numerics.TARGETS


def seeds_of(name: str) -> list[bytes]:
    """Inputs to begin with."""
    return numerics.SEEDS if name in numerics.TARGETS else seeds()[name]
