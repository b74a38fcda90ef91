"""E3 from far starts (K16 Fig. 5): marginals and risk while exact chains and tests are still on their way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from designer.core.arrays import Floats
from samplers.experiments.framework.report import Panel, Series
from samplers.experiments.framework.running import Values
from samplers.experiments.framework.series import evenly
from samplers.experiments.problems.exact_vs_sequential import TRUTH, Chains, names_of

BURN_IN = "burn-in"
TIMES = 0.1, 0.3, 1.0  # of the time that all chains have spent
SHOWN_DRAWS = 300
THIN = 10


def burn_in_tests(epsilons: Sequence[float]) -> list[str]:
    """Exact chains, and the smallest and the largest ε: 0.01 and 0.2."""
    return names_of(list(dict.fromkeys([epsilons[0], epsilons[-1]])))


def named(test: str) -> str:
    """The name of a test's chains from far starts."""
    return f"{BURN_IN} {test}"


def kept_steps(part: Values) -> Floats:
    """The step of each kept draw."""
    thinned = -(-int(part["at"][-1]) // THIN)
    places = np.linspace(0, thinned - 1, len(part["kept"])).astype(np.int64)
    return np.asarray(1 + THIN * places, dtype=np.float64)


def seconds_of_kept(part: Values) -> Floats:
    """When each kept draw was made."""
    when = np.interp(kept_steps(part), [0, *part["at"]], [0.0, *part["seconds"]])
    return np.asarray(when, dtype=np.float64)


def burn_in_panels(chains: Chains, truth: Values) -> list[Panel]:
    """θ₁ and θ₂ of all draws up to a time, beside the truth (K16 Fig. 5)."""
    whole = min(float(part["seconds"][-1]) for parts in chains.values() for part in parts)
    panels, long = [], evenly(truth["kept"], SHOWN_DRAWS)
    for share in TIMES:
        series = [Series(TRUTH, long[:, 0], long[:, 1], style="points")]
        for name, parts in chains.items():
            early = [part["kept"][seconds_of_kept(part) <= share * whole] for part in parts]
            chosen = [evenly(some, SHOWN_DRAWS // len(parts)) for some in early if len(some)]
            if chosen:
                draws = np.concatenate(chosen)
                series.append(Series(name, draws[:, 0], draws[:, 1], style="points"))
        count = len(next(iter(chains.values())))
        note = (
            f"All draws of the first {share * whole:.2g} seconds, from {count} starts drawn from the prior. A chain "
            f"that has burnt in covers the truth and nothing else; traces that lead there are burn-in."
        )
        panels.append(Panel(f"Burn-in: two coordinates after {share * whole:.2g} s", "θ₁", "θ₂", series, note=note))
    return panels
