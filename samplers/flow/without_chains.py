"""Need one sample at all? Draws of the Laplace approximation, or weighted ones, where they are good enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.core.arrays import Floats
from designer.core.errors import BadInput
from samplers.flow.steps import DRAWS, Flow
from samplers.models.control import Controlled
from samplers.models.control.scale_mode import prior_only
from samplers.models.groups import Grouped
from samplers.study.laplace import LaplaceVerdict, laplace_verdict, verdict_by
from samplers.study.weighted_draws import weighted_draws

LEAST = 2000  # weighted draws, with those in the tails
MORE = 1.1  # times as many as are wanted
WITH_TAILS = 1.5  # weighted draws for each draw of Laplace
MOST = 3e10  # products of a weighted draw with a row: beyond, chains are quicker


def laplace_draws(flow: Flow, proxied: Controlled) -> dict[str, Any]:
    """The verdict on the Laplace approximation and, where no chain is needed, draws."""
    asked = {"draws": flow.wishes.draws or DRAWS, "chains": flow.wishes.chains}
    return flow.step(
        "laplace", lambda: _laplace(flow, proxied), lambda found: asked if found["theta"] is not None else {}
    )


def _laplace(flow: Flow, proxied: Controlled) -> dict[str, Any]:
    wishes, rng = flow.wishes, flow.rng(1)
    nothing: dict[str, Any] = {"verdict": None, "theta": None}
    if wishes.laplace == "never":
        flow.decide("need I sample?", "not asked", 'laplace="never"', 'laplace="auto"')
        return nothing
    if isinstance(proxied.model, Grouped) or prior_only(proxied.model).size:
        why = "group effects with sampled scales are not normal, whatever the number of data"
        if wishes.laplace == "always":
            raise BadInput(f'laplace = "always": {why}; must be "auto" or "never"')
        flow.decide("need I sample?", "yes", why)
        return nothing
    verdict = laplace_verdict(proxied, rng, wish=wishes.error)
    if why := _wants_chain(flow):
        flow.decide("need I sample?", "chains will run", f"{why}; otherwise: {verdict.sentence}", 'laplace="always"')
        return {"verdict": verdict, "theta": None}
    size, shape = proxied.dimension, (wishes.chains, wishes.draws or DRAWS)
    too_many = proxied.n_rows * proxied.dimension * LEAST > MOST
    if verdict.method == "importance" and too_many and wishes.laplace == "auto":
        why = f"{verdict.sentence}, but {LEAST:,} of them would read the data as often, and chains read less"
        flow.decide("need I sample?", "yes", why, 'laplace="always"')
        return {"verdict": verdict, "theta": None}
    if verdict.method == "importance":
        verdict, theta = _importance(flow, proxied, verdict, rng)
        if theta is not None:
            flow.decide("need I sample?", "no: weighted draws", verdict.sentence, 'laplace="never"')
            return {"verdict": verdict, "theta": theta}
    if verdict.method == "laplace" or wishes.laplace == "always":
        asked = ' (laplace="always")' if verdict.method != "laplace" else ""
        flow.decide("need I sample?", f"no: Laplace draws{asked}", verdict.reason, 'laplace="never"')
        theta = verdict.laplace_draws(rng, shape[0] * shape[1]).reshape(*shape, size)
        return {"verdict": verdict, "theta": theta}
    flow.decide("need I sample?", "yes", verdict.reason, 'laplace="always"')
    return {"verdict": verdict, "theta": None}


def _wants_chain(flow: Flow) -> str:
    """Why draws of Laplace are not returned, whatever their quality; empty if they may be."""
    wishes = flow.wishes
    if wishes.laplace == "always":
        return ""
    if wishes.tolerance is not None:
        return "a tolerance is of chains"
    return "a test was asked for" if wishes.test != "auto" or wishes.design is not None else ""


def _importance(
    flow: Flow, proxied: Controlled, verdict: LaplaceVerdict, rng: np.random.Generator
) -> tuple[LaplaceVerdict, Floats | None]:
    """Weighted draws, resampled to as many as are effective; none if more of them change the verdict."""
    chains, size = flow.wishes.chains, proxied.n_rows * proxied.dimension
    wanted = chains * (flow.wishes.draws or DRAWS)
    draws = max(LEAST, min(MORE * wanted * len(verdict.weighted.theta) / verdict.tail_ess, MOST / size))
    drawn = weighted_draws(proxied, rng, round(draws / WITH_TAILS))
    again = verdict_by(drawn, flow.wishes.error)[0]  # more draws may meet a tail that the first ones missed
    if again.method != "importance":
        return again, None
    each = min(int(drawn.ess), wanted) // chains
    theta = drawn.resampled(rng, each * chains).reshape(chains, each, proxied.dimension)
    return again, theta
