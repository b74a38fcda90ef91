"""austerity: Metropolis–Hastings on tall data that reads only as much data as each decision needs.

    import austerity as au

is the library's front door. It offers every public name of `designer`, the calculator (which test, how much error,
how much data), and of `samplers`, the chains that use these tests. `help(designer)` and `help(samplers)` list the
names by topic.

Importing it costs no more than importing the calculator: names of `samplers` load when they are first used.

Examples
--------
>>> import austerity as au
>>> design = au.Design(n_data=12214, m=500, epsilon=0.05)
>>> au.characteristics(design, [0.0, 2.0]).error.round(3)
array([0.309, 0.037])
>>> au.SequentialTest.from_design(design).plan.schedule.n_data
12214
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
