"""What a user may change in an experiment: number of chains, seed, ε, start; and what an experiment does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

from designer.core.errors import BadInput, integer
from designer.rule.boundary import check_epsilon
from samplers.experiments.framework.running import Experiment

Start = Literal["mode", "far"]
KNOBS: Mapping[str, str] = {"chains": "chains", "seed": "seed", "epsilon": "epsilons", "start": "start"}  # the settings
MOST_CHAINS, MOST_SEED, MOST_EPSILONS = 1000, 2**32 - 1, 20


class Knobs(NamedTuple):
    """What to change; None leaves the experiment's own setting.

    Examples
    --------
    >>> Knobs(chains=3, epsilon=(0.1, 0.01)).arguments
    ['--chains', '3', '--epsilon', '0.1,0.01']
    """

    chains: int | None = None
    seed: int | None = None
    epsilon: Sequence[float] | None = None
    start: Start | None = None

    @property
    def arguments(self) -> list[str]:
        """The same for the command line."""
        given: list[str] = []
        for name, value in self._asdict().items():
            if value is not None:
                text = ",".join(f"{one:g}" for one in value) if name == "epsilon" else str(value)
                given += [f"--{name}", text]
        return given


def knobs_of(experiment: Experiment) -> list[str]:
    """The knobs that an experiment has.

    Examples
    --------
    >>> from samplers.experiments import experiment
    >>> knobs_of(experiment("e3")), knobs_of(experiment("e2")), knobs_of(experiment("e13"))
    (['chains', 'seed', 'epsilon', 'start'], ['seed'], [])
    """
    fields = next(iter(experiment.sizes.values()))._fields
    return [name for name in KNOBS if name in experiment.knobs or (name == "seed" and "seed" in fields)]


def turned(experiment: Experiment, knobs: Knobs) -> Experiment:
    """The same experiment with other settings, at every size.

    Raises
    ------
    BadInput
        If the experiment does not have one of the knobs, or not with that value.

    Examples
    --------
    >>> from samplers.experiments import experiment
    >>> turned(experiment("e3"), Knobs(chains=7)).sizes["tiny"].chains
    7
    """
    known, changes = knobs_of(experiment), dict[str, Any]()
    for name, value in knobs._asdict().items():
        if value is None:
            continue
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise BadInput(f"{name}: {experiment.name} has no such knob; {has}")
        changes[KNOBS[name]] = _checked(name, value)
    if not changes:
        return experiment
    return replace(experiment, sizes={size: one._replace(**changes) for size, one in experiment.sizes.items()})


def _checked(name: str, value: Any) -> Any:
    if name == "chains":
        return integer("chains", value, 1, MOST_CHAINS)
    if name == "seed":
        return integer("seed", value, 0, MOST_SEED)
    if name == "start":
        if value not in get_args(Start):
            raise BadInput(f"start = {value!r}: must be one of {', '.join(get_args(Start))}")
        return value
    every = tuple(check_epsilon(one) for one in value)
    if not 1 <= len(every) <= MOST_EPSILONS or len(set(every)) < len(every):
        raise BadInput(f"epsilon: must be 1 to {MOST_EPSILONS} different numbers above 0, at most 0.5")
    return tuple(sorted(every))
