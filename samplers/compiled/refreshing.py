"""What a model does to the state after every decision, chosen by type: a move that reads no data."""

from __future__ import annotations

from typing import Any

from numba.extending import overload


def refresh(rng: Any, model: Any, theta: Any, here: Any) -> Any: ...


@overload(refresh)
def _refresh(rng, model, theta, here):
    """Moves θ in place, as the model's `refresh`; `here` is its log prior, that of the new θ is returned."""
    return lambda rng, model, theta, here: here
