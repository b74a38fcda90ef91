"""Designs by kappa: which test is used after the first batch has shown the scale kappa of a pair's noise."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from designer.acceptance import Acceptance, Rule, acceptance
from designer.design import FORMAT
from designer.errors import BadInput, integer, real, shown
from designer.parsing import parse_json, parse_toml, toml_value
from designer.records import Design, TrialRun
from designer.schedule import MAX_N_DATA, Floats

KIND = "stratified"
MOST_STRATA = 20
_KEYS = ("kind", "n_data", "first", "edges", "strata")


class StratumRow(NamedTuple):
    """One stratum on the pairs of a trial run.

    Attributes
    ----------
    low, high
        Its range of kappa.
    design
        Its test.
    share
        Of the pairs, misjudged ones included.
    error, usage
        Mean |Delta| and mean share of the data of those; None if no pair is ever put there.

    Examples
    --------
    >>> test = Stratified(100, (1.5,), (Design(10_000, 100, 0.1), Design(10_000, 200, 0.01)))
    >>> trial = TrialRun.at_stationarity(10_000, 0.234, 50, np.random.default_rng(1))
    >>> [round(row.share, 2) for row in test.rows(trial)]
    [0.0, 1.0]
    """

    low: float
    high: float
    design: Design
    share: float
    error: float | None
    usage: float | None


@dataclass(frozen=True)
class Stratified:
    """A test in strata: read `first` data, estimate kappa from their spread, go on with that stratum's design.

    Parameters
    ----------
    first
        m_0, the data read before a stratum is chosen; no design looks earlier.
    edges
        Increasing values of kappa between the strata; one fewer than designs.
    designs
        One per stratum, from small kappa to large, all for the same N; each counts the first data among its own.
    error, usage
        Predicted mean |Delta| and data fraction, misjudged strata included; None if not known.
    single
        The best design without strata at the same tolerance, with its own predictions, if known.

    Examples
    --------
    >>> test = Stratified(100, (1.5,), (Design(10_000, 100, 0.1), Design(10_000, 200, 0.01)))
    >>> Stratified.from_toml(test.to_toml()) == test
    True
    """

    first: int
    edges: tuple[float, ...]
    designs: tuple[Design, ...]
    error: float | None = None
    usage: float | None = None
    single: Design | None = None

    def __post_init__(self) -> None:
        designs = tuple(self.designs)
        integer("strata", len(designs), 1, MOST_STRATA)
        if any(design.n_data != designs[0].n_data for design in designs):
            raise BadInput("strata: all designs must be for the same n_data")
        edges = tuple(real("edges", edge, 0.0, math.inf, open_low=True) for edge in self.edges)
        if len(edges) != len(designs) - 1 or any(b <= a for a, b in pairwise(edges)):
            raise BadInput(f"edges: must be {len(designs) - 1} increasing values of kappa, one between two strata")
        first = integer("first", self.first, 2, min(design.m for design in designs))
        for name, value in (("first", first), ("edges", edges), ("designs", tuple(d.bare for d in designs))):
            object.__setattr__(self, name, value)

    @property
    def kind(self) -> str:
        """What a config calls it."""
        return KIND

    @property
    def n_data(self) -> int:
        """Number of data N."""
        return self.designs[0].n_data

    @property
    def gain(self) -> float | None:
        """Share of the single design's data that the strata save; None if one of both is not known."""
        known = None if self.single is None or self.single.predicted is None else self.single.predicted.mean_usage
        return None if known is None or self.usage is None else 1.0 - self.usage / known

    @property
    def bare(self) -> Stratified:
        """The same test without predictions."""
        return Stratified(self.first, self.edges, self.designs)

    def stratum(self, kappa: float) -> int:
        """Number of the stratum of this kappa."""
        return int(np.searchsorted(self.edges, kappa, side="right"))

    def memberships(self, kappa: Floats) -> Floats:
        """P(a pair with this kappa is put into stratum k), a row per pair.

        The sample variance of the first m_0 of N normal l_i is about sigma^2 chi^2 / nu with
        nu = (m_0 - 1) / (1 - m_0 / N): its relative error is sqrt(2 / nu), that of kappa half of it.
        """
        from scipy.special import chdtr  # here, so that importing the calculator stays quick

        if not self.edges or self.first == self.n_data:
            return np.asarray(np.eye(len(self.designs))[np.searchsorted(self.edges, kappa, side="right")])
        freedom = (self.first - 1.0) / (1.0 - self.first / self.n_data)
        ratio = np.asarray(self.edges) / np.asarray(kappa, dtype=np.float64)[:, None]
        below = chdtr(freedom, freedom * np.minimum(ratio, 1e3) ** 2)
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    def acceptance(self, trial: TrialRun, rule: Rule = "metropolis", tolerance: float = 1e-10) -> Acceptance:
        """`designer.acceptance` of the test in strata: each stratum's numbers, weighted by `memberships`."""
        parts = [acceptance(design, trial, rule, tolerance) for design in self.designs]
        weight = self.memberships(trial.kappa).T
        delta, usage, looks, wrong = (
            np.asarray((weight * [getattr(part, name) for part in parts]).sum(axis=0))
            for name in ("delta", "usage", "looks", "wrong")
        )
        means = float(np.abs(delta).mean()), float(usage.mean())
        estimate = max(part.estimate for part in parts)
        return Acceptance(parts[0].probability, delta, usage, *means, looks, wrong, estimate)

    def rows(self, trial: TrialRun, rule: Rule = "metropolis", tolerance: float = 1e-10) -> list[StratumRow]:
        """Each stratum on its own pairs."""
        weight, ends = self.memberships(trial.kappa).T, (0.0, *self.edges, math.inf)
        rows = []
        for k, design in enumerate(self.designs):
            step, total = acceptance(design, trial, rule, tolerance), float(weight[k].sum())
            means = [float(weight[k] @ x) / total if total > 0.0 else None for x in (np.abs(step.delta), step.usage)]
            rows.append(StratumRow(ends[k], ends[k + 1], design, total / len(trial), *means))
        return rows

    # --- files --------------------------------------------------------------------------------------------------------

    def to_toml(self) -> str:
        """TOML text, which `from_toml` reads back exactly; its `[test]` is that of a run's config."""
        lines: list[str] = []
        for name, entry in self._document().items():
            lines += [f"{name} = {entry!r}"] if not isinstance(entry, dict) else ["", *_table(name, entry)]
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """JSON text with the layout of the TOML file."""
        return json.dumps(self._document(), indent=2) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Stratified:
        """The test in a TOML text; tables of a run's config beside it are skipped."""
        return cls._from_document(parse_toml(text))

    @classmethod
    def from_json(cls, text: str) -> Stratified:
        """The test in a JSON text."""
        return cls._from_document(parse_json(text))

    def _document(self) -> dict[str, Any]:
        strata = [_knobs(design) for design in self.designs]
        test = {"kind": KIND, "n_data": self.n_data, "first": self.first, "edges": list(self.edges), "strata": strata}
        document: dict[str, Any] = {"format": FORMAT, "test": test}
        predicted = {"mean_abs_delta": self.error, "mean_usage": self.usage}
        if known := {name: value for name, value in predicted.items() if value is not None}:
            document["predicted"] = known
        if self.single is not None:
            document["single"] = {k: v for k, v in json.loads(self.single.to_json()).items() if k != "format"}
        return document

    @classmethod
    def _from_document(cls, document: Any) -> Stratified:
        test = document.get("test") if isinstance(document, dict) else None
        if not isinstance(test, dict):
            raise BadInput("test: missing; a file of strata needs a table of this name")
        if integer("format", document.get("format", FORMAT), 1, 10**6) > FORMAT:
            raise BadInput(f"format = {document['format']}: written by a newer version; this one reads {FORMAT}")
        _check_keys(test)
        n_data = integer("test.n_data", test["n_data"], 2, MAX_N_DATA)
        designs = tuple(_design(f"test.strata[{k}]", n_data, table) for k, table in enumerate(test["strata"]))
        error, usage = _predicted(document.get("predicted", {}))
        single = _single(document["single"]) if "single" in document else None
        try:
            return cls(test["first"], tuple(test["edges"]), designs, error, usage, single)
        except BadInput as problem:
            raise BadInput(f"test.{problem}") from None


def _check_keys(test: Mapping[str, Any]) -> None:
    """Refuse what is missing or unknown in the table `test`."""
    problems = [f"test.{name}: missing" for name in _KEYS if name not in test]
    problems += [f"test.{shown(key)}: unknown; allowed are {', '.join(_KEYS)}" for key in test if key not in _KEYS]
    if test.get("kind", KIND) != KIND:
        problems.append(f"test.kind = {shown(test['kind'])}: must be {KIND!r}")
    for name in ("edges", "strata"):
        if not isinstance(test.get(name, []), list):
            problems.append(f"test.{name}: must be a list")
    if problems:
        raise BadInput("; ".join(problems[:10]))


def _knobs(design: Design) -> dict[str, Any]:
    """A design's own numbers, as its file has them."""
    table: dict[str, Any] = json.loads(design.bare.to_json())["test"]
    return {key: value for key, value in table.items() if key not in ("kind", "n_data")}


def _design(place: str, n_data: int, table: Any) -> Design:
    """The reverse of `_knobs`; problems carry their place in the file."""
    if not isinstance(table, dict):
        raise BadInput(f"{place}: must be a table with m and epsilon")
    if twice := [key for key in ("kind", "n_data") if key in table]:
        raise BadInput(f"{place}.{twice[0]}: stands in [test], for all strata")
    try:
        return Design.from_document({"test": {"kind": "sequential", "n_data": n_data, **table}})
    except BadInput as problem:
        raise BadInput(str(problem).replace("test.", f"{place}.")) from None


def _predicted(notes: Any) -> tuple[float | None, float | None]:
    """Mean |Delta| and data fraction in the table `predicted`, None where it does not say."""
    if not isinstance(notes, dict):
        raise BadInput(f"predicted = {shown(notes)}: must be a table")
    known = [(name, notes.get(name)) for name in ("mean_abs_delta", "mean_usage")]
    error, usage = (None if value is None else real(f"predicted.{name}", value, 0.0, 1.0) for name, value in known)
    return error, usage


def _single(document: Any) -> Design:
    """The design in the table `single`; problems carry their place in the file."""
    try:
        return Design.from_document(document)
    except BadInput as problem:
        raise BadInput(f"single.{problem}") from None


def _table(name: str, entries: Mapping[str, Any]) -> list[str]:
    """A table of a TOML file with its sub-tables and lists of tables."""
    lines, below = [f"[{name}]"], []
    for key, value in entries.items():
        if isinstance(value, dict):
            below += ["", *_table(f"{name}.{key}", value)]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for each in value:
                below += ["", f"[[{name}.{key}]]", *_table("", each)[1:]]
        else:
            lines.append(f"{key} = {toml_value(tuple(value) if isinstance(value, list) else value)}")
    return lines + below
