"""austerity: Metropolis–Hastings on tall data that reads only as much data as each decision needs.

    import austerity as au

is the library's front door. It offers every public name of two packages:

`designer`, the calculator
    How much error and data use a sequential test has (`characteristics`, `acceptance`), the best test for a tolerance
    (`search`), how far to trust it, and what lies beyond the choice of one test. `help(designer)` lists all names.
`samplers`, the chains
    Models, proposals and tests, chains in memory or saved (`run`), trial runs for the calculator (`observe`,
    `collect_pairs`), audits, configs and results. `help(samplers)` lists all names.

From data to draws: run an exact chain for a while and record its pairs, a `TrialRun`; `search` the best `Design` for
the tolerance; `run` the chains with it; `audit` whether the test did what its design predicts.

Importing it costs no more than importing the calculator: names of `samplers` load when they are first used.

Examples
--------
>>> import numpy as np
>>> import austerity as au
>>> rng = np.random.default_rng(1)
>>> x = rng.standard_normal((10_000, 2))
>>> y = rng.random(10_000) < 1.0 / (1.0 + np.exp(-x[:, 0]))
>>> model, walk = au.Logistic.from_data(x, y, prior_precision=1.0), au.RandomWalk.isotropic(0.03, 2)
>>> start = au.find_mode(model)
>>> exact = au.Chain(model, walk, au.ExactTest(), start, np.random.default_rng(2))
>>> trial = au.observe(exact, steps=400, every=10).trial(model.n_data)
>>> design = au.search(trial, tolerance=0.02).best
>>> chains = au.run(model, walk, design, start=start, draws=500, chains=2)
>>> bool(np.mean([chain.n_used.mean() for chain in chains]) < 0.8 * model.n_data)
True
"""

from typing import TYPE_CHECKING, Any

import designer
import samplers
from designer import *  # noqa: F403

if TYPE_CHECKING:
    from samplers import *  # noqa: F403

__all__ = [*designer.__all__, *samplers.__all__]


def __getattr__(name: str) -> Any:
    """Load a name of `samplers` when it is first used."""
    if name not in samplers.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(samplers, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
