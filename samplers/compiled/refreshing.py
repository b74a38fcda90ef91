"""What a model does to the state after every decision, chosen by type: a move that reads no data."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from samplers.compiled.glm import GLMData, log_prior_of
from samplers.compiled.groups import GroupedPrior
from samplers.decide._permutation import is_a
from samplers.models.groups._scale_kernels import refresh_scales


def refresh(rng: Any, model: Any, theta: Any, here: Any) -> Any: ...


@overload(refresh)
def _refresh(rng, model, theta, here):
    """Moves θ in place, as the model's `refresh`; `here` is its log prior, that of the new θ is returned."""
    if is_a(GLMData, model) and is_a(GroupedPrior, model.types[model.fields.index("prior")]):

        def scales(rng, model, theta, here):
            p = model.prior
            before = log_prior_of(p, theta)
            refresh_scales(rng, theta, p.starts, p.groups, p.widths, p.scales, p.degrees, p.first)
            return here + (log_prior_of(p, theta) - before)  # the rest has not changed

        return scales
    return lambda rng, model, theta, here: here
