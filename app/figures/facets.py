"""A panel with many series as several plots with the same axes, one for each group of series."""

from __future__ import annotations

import re

from samplers.experiments.framework.report import Panel, Series

MOST = 5  # series in one plot, reference lines not counted
SYMBOL = re.compile(r"[εκσ] = ")
MEASURED = "measured"
ROLES = ("calculator", "theory", "simulated", MEASURED)
BASES = ("truth", "posterior", "exact", "all data")  # what other series are compared with: drawn in every plot


def facets(panel: Panel) -> list[Panel]:
    """The plots of a panel: itself or, if it has many series, one for each ε, κ or σ, or else for each method.

    What others are compared with is in all of them, and so are reference lines, those with two points.

    Examples
    --------
    >>> names = ["exact", *(f"{kind}ε = {e}" for e in (0.1, 0.2, 0.3) for kind in ("", "calculator, "))]
    >>> panel = Panel("Error", "x", "y", [Series(name, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) for name in names])
    >>> [(one.title, [series.name for series in one.series]) for one in facets(panel)][0]
    ('ε = 0.1', ['measured', 'calculator', 'exact'])
    """
    lines = [series for series in panel.series if series.style == "line" and len(series.x) == 2]
    own = [series for series in panel.series if not any(series is line for line in lines)]
    if len(own) <= MOST:
        return [panel]
    base = next((series for name in BASES for series in own if series.name == name), None)
    groups: dict[str, list[Series]] = {}
    for series in own:
        if series is not base:
            label, rest = _parts(series.name)
            groups.setdefault(label, []).append(series._replace(name=rest))
            groups[label].sort(key=lambda one: one.name != MEASURED)  # first, so that it looks the same in all plots
    if base is None and all(len(group) == 1 for group in groups.values()):
        return [panel]  # nothing belongs together
    alone = all(len(group) == 1 for group in groups.values())
    shared = [*([] if base is None else [base]), *lines]
    return [
        panel._replace(title=label, series=[*(one._replace(name=label) if alone else one for one in group), *shared])
        for label, group in groups.items()
    ]


def _parts(name: str) -> tuple[str, str]:
    """The group of a series, and what it is within the group."""
    parts = name.split(", ")
    label = [part for part in parts if SYMBOL.match(part)] or [part for part in parts if part not in ROLES]
    return ", ".join(label), ", ".join(part for part in parts if part not in label) or MEASURED
