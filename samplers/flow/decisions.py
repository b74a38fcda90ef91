"""A choice that `sample` made for the user: what, why, and how to choose otherwise."""

from __future__ import annotations

from typing import NamedTuple


class Decision(NamedTuple):
    """One choice of a flow.

    Attributes
    ----------
    step
        What it is about: "test", "heavy rows", "tolerance", ...
    choice
        What was chosen.
    reason
        Why, with numbers.
    override
        The argument of `sample` that chooses otherwise; empty if nothing does.

    Examples
    --------
    >>> print(Decision("test", "exact mini-batch", "it reads 3 rows per step and makes no error", 'test="sequential"'))
    test: exact mini-batch, because it reads 3 rows per step and makes no error; to choose otherwise: test="sequential"
    """

    step: str
    choice: str
    reason: str
    override: str = ""

    def __str__(self) -> str:
        why = f", because {self.reason}" if self.reason else ""
        return f"{self.step}: {self.choice}{why}" + (f"; to choose otherwise: {self.override}" if self.override else "")
