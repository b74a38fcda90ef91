"""What a report says about its data, and how to run an experiment on another data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from designer.core.errors import BadInput
from samplers.data.sources import Source
from samplers.experiments.framework.running import Experiment, Size


def origin_of(source: Source) -> dict[str, Any]:
    """Where the data of a part come from; stored with its numbers."""
    return {"origin": source.origin, "real": source.real}


def notice(part: Any) -> str:
    """The line about the data for a report's notices, in capitals if the data are synthetic."""
    if part["real"]:
        return f"Data: {part['origin']}"
    return f"SYNTHETIC DATA: {part['origin']}. The figures are not those of the real data set."


def choices(experiment: Experiment) -> Sequence[str]:
    """The data sets that an experiment can run on, its default first; empty if there is no choice.

    They are the values of the field `data` of its settings, if that is a Literal.
    """
    field = get_type_hints(type(next(iter(experiment.sizes.values())))).get("data")
    return get_args(field) if get_origin(field) is Literal else ()


def on_data_set(experiment: Experiment, name: str) -> Experiment:
    """The same experiment on one of its `choices`."""
    known = choices(experiment)
    if name not in known:
        which = f"must be one of {', '.join(known)}" if known else f"{experiment.name} has no choice of data"
        raise BadInput(f"data set {name!r}: {which}")
    sizes = {size: settings._replace(data=name) for size, settings in experiment.sizes.items()}
    return replace(experiment, sizes=sizes, data=(name,))


def data_sets(experiment: Experiment, size: Size) -> Sequence[str]:
    """The data sets that an experiment reads at a size: those its settings name, or else all of its data sets."""
    named: str | Sequence[str] = getattr(experiment.sizes[size], "data", experiment.data)
    return (named,) if isinstance(named, str) else named
