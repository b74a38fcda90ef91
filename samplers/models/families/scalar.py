"""The functions of a family, chosen by the family's type: each takes (family, η, y, extra).

η includes the offset; `extra` is a further number of the row, for families that need one (binomial: the trials). log p
leaves out terms without η. A family of your own can be registered by overloads of these names; `OwnFamily` needs none.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from samplers.decide._permutation import is_a

__all__ = ["change", "curvature", "is_a", "overload", "second_bound", "slope", "third", "third_bound", "value"]


def value(family: Any, eta: Any, y: Any, extra: Any) -> Any:
    """log p, up to a term without η."""


def change(family: Any, old: Any, new: Any, y: Any, extra: Any) -> Any:
    """log p at `new` minus log p at `old`."""


def slope(family: Any, eta: Any, y: Any, extra: Any) -> Any:
    """First derivative of log p in η."""


def curvature(family: Any, eta: Any, y: Any, extra: Any) -> Any:
    """Second derivative."""


def third(family: Any, eta: Any, y: Any, extra: Any) -> Any:
    """Third derivative."""


def second_bound(family: Any, low: Any, high: Any, y: Any, extra: Any) -> Any:
    """The largest |second derivative| for η in [low, high]."""


def third_bound(family: Any, low: Any, high: Any, y: Any, extra: Any) -> Any:
    """The largest |third derivative| there."""
