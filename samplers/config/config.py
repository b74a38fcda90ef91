"""A run as a TOML file: `[test]` as the calculator exports it, `[model]`, `[data]`, `[proposal]`, `[run]`.

`schema` defines the tables. Errors name their place in the file; nothing runs before the whole config is valid.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import model_validator

from designer.core.errors import BadInput, prefix_errors, shown
from designer.core.files import shorten
from designer.core.toml_json import parse_toml, read_text, toml_text
from designer.core.validation import Record, validated
from designer.engine.step_error import Rule
from designer.rule.design import Design, refuse_strata
from samplers.config.fits import check_data, check_proposal, check_redesign, check_schedule, check_test
from samplers.config.schema import (
    BarkerTable,
    DataTable,
    ExactTable,
    ModelTable,
    OtherTable,
    ProposalTable,
    ProxyTable,
    RedesignTable,
    RunTable,
    ScheduleTable,
    SequentialTable,
    TestTable,
)

TABLES = ("test", "data", "model", "proposal", "run")
MORE = {"redesign": RedesignTable, "schedule": ScheduleTable}  # optional tables
NOTES = ("format", "predicted", "provenance", "single")  # of a design; 0.1 also wrote `single`, beside strata
HOW_MANY = {"checkpoint_seconds", "draws", "chains"}  # of `[run]`: draws do not depend on them
LATER: dict[str, dict[str, Any]] = {  # entries that 0.1 had not, and what they are if not given
    "model": {"heavy": "auto", "prior_intercept": True},
    "proposal": {"tails": "auto", "profile": "auto", "isotropic": False},
    "redesign": {"confidence": None},
    "test": {"delta": None},
}
PLACES = {"path", "labels", "folder"}  # of `[data]`: draws do not depend on where the data are


class SamplerConfig(Record):
    r"""A run: its test, data, model, proposal and chains, as in its TOML file.

    Parameters
    ----------
    test
        A `Design`, the table of another test, or None for the exact test.
    data, model, proposal, run
        The tables of these names, defined in `samplers.config.schema`.
    redesign, schedule
        The tables for tests that change during the run, or None.

    Examples
    --------
    >>> config = SamplerConfig.from_toml('[test]\nkind = "exact"\n[data]\npath = "data.npz"')
    >>> config.run.chains, config.proposal.kind, config.rule
    (4, 'proxy', 'metropolis')
    >>> SamplerConfig.from_toml(config.to_toml()) == config
    True
    """

    test: Design | OtherTable | None
    data: DataTable
    model: ModelTable
    proposal: ProposalTable
    run: RunTable
    redesign: RedesignTable | None = None
    schedule: ScheduleTable | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> SamplerConfig:
        check_proposal(self.model, self.proposal, self.run)
        check_data(self.model, self.data)
        check_test(self.test, self.model, self.proposal, self.run)
        check_redesign(self.redesign, self.test, self.proposal, self.run)
        check_schedule(self.schedule, self.redesign, self.proposal)
        return self

    @classmethod
    def from_toml(cls, text: str, design: Design | None = None, *, exact: bool = False, **run: Any) -> SamplerConfig:
        """The config in a TOML text.

        `design` fills in or replaces `[test]`; `exact` puts the exact test there, without redesign and schedule; `run`
        replaces entries of `[run]`.
        """
        return cls._from_document(parse_toml(text), design, exact=exact, **run)

    @classmethod
    def _from_document(
        cls, document: dict[str, Any], design: Design | None, *, exact: bool, **run: Any
    ) -> SamplerConfig:
        if unknown := sorted(set(document) - {*TABLES, *MORE, *NOTES}):
            raise BadInput(f"{shorten(unknown[0])}: unknown; allowed: {', '.join((*TABLES, *MORE))}")
        if not_tables := [name for name in (*TABLES, *MORE) if not isinstance(document.get(name, {}), dict)]:
            raise BadInput(f"{not_tables[0]} = {shown(document[not_tables[0]])}: must be a table")
        given = {name: document.get(name, {}) for name in TABLES}
        usual = {"kind": "glm" if "formula" in given["model"] else "logistic"}
        model = validated(ModelTable, usual | given["model"], "model")
        tables = {
            "test": design if design is not None or exact else _test(document),
            "data": validated(DataTable, given["data"], "data"),
            "model": model,
            "proposal": validated(ProposalTable, {"kind": model.proposals[0]} | given["proposal"], "proposal"),
            "run": validated(RunTable, given["run"] | run, "run"),
        }
        for name, shape in MORE.items():
            if name in document and not exact:
                tables[name] = validated(shape, document[name], name)
        return cls(**tables)

    @classmethod
    def load(cls, path: str | Path, design: Design | None = None, *, exact: bool = False, **run: Any) -> SamplerConfig:
        """The config in a file; the paths of the data are relative to it."""
        with prefix_errors(f"{path}: "):
            document = parse_toml(read_text(path))
        config = cls._from_document(document, design, exact=exact, **run)
        paths = {name: getattr(config.data, name) for name in PLACES}
        resolved = {name: str(Path(path).parent / given) for name, given in paths.items() if given is not None}
        return config.model_copy(update={"data": config.data.model_copy(update=resolved)})

    def portable(self) -> SamplerConfig:
        """The same config with paths that mean the same in any directory."""
        paths = {name: getattr(self.data, name) for name in PLACES}
        resolved = {name: str(Path(path).resolve()) for name, path in paths.items() if path is not None}
        return self.model_copy(update={"data": self.data.model_copy(update=resolved)})

    def to_toml(self) -> str:
        """The config as TOML text, which `from_toml` reads back exactly, with the notes of a design."""
        if isinstance(self.test, Design):
            document = self.test.to_document()
        else:
            document = {"test": {"kind": "exact"} if self.test is None else self.test.model_dump()}
        tables = {name: getattr(self, name) for name in (*TABLES[1:], *MORE)}
        dumped = {name: table and _without_later(name, table.model_dump()) for name, table in tables.items()}
        return toml_text(document | dumped)

    @property
    def rule(self) -> Rule:
        """The acceptance rule: that of `[run]`, or else that of the test."""
        usual: Rule = "barker" if isinstance(self.test, BarkerTable) or self.proposal.kind == "gibbs" else "metropolis"
        return self.run.rule or usual

    @property
    def digest(self) -> str:
        """SHA-256 of all that a chain's draws depend on, except the data; not of the number of draws or checkpoints."""
        return hashlib.sha256(json.dumps(self._known(), sort_keys=True).encode()).hexdigest()

    @property
    def entries(self) -> dict[str, Any]:
        """The entries on which `digest` depends, by their names in the file: `{"run.seed": 0, ...}`."""
        known = self._known()
        if isinstance(known["test"], str):
            known |= {name: table for name, table in json.loads(known["test"]).items() if name not in NOTES}
        return {
            f"{table}.{name}": value
            for table, values in known.items()
            for name, value in (values if isinstance(values, dict) else {"kind": values or "exact"}).items()
        }

    def _known(self) -> dict[str, Any]:
        left_out: Any = {"run": HOW_MANY, "data": PLACES, "schedule": {"weights"}, "test": True}
        known = self.model_dump(mode="json", exclude=left_out)
        known["run"]["rule"] = self.rule
        for name in MORE:
            if known[name] is None:  # so that digests of older configs stay valid
                del known[name]
        for name in LATER:
            if name in known:
                known[name] = _without_later(name, known[name])
        if isinstance(self.proposal, ProxyTable) and self.proposal.plain:  # what older versions made, and "auto" may
            known["proposal"] = {name: known["proposal"][name] for name in ("kind", "beta")}
        test = self.test
        if isinstance(test, Design):
            known["test"] = test.without_notes.to_json()
        else:
            known["test"] = test and _without_later("test", test.model_dump(mode="json"))
        return known


def _without_later(table: str, entries: dict[str, Any]) -> dict[str, Any]:
    """Without entries that came after 0.1 and have their usual value: files and digests stay what they were."""
    usual = LATER.get(table, {})
    return {name: value for name, value in entries.items() if name not in usual or usual[name] != value}


def _test(document: dict[str, Any]) -> Design | OtherTable | None:
    """The test of a config: a design, the table of another test, or None for the exact test."""
    if "test" not in document:
        raise BadInput('test: missing; give a design, or [test] with kind = "exact"')
    refuse_strata(document["test"])
    table: OtherTable | SequentialTable | ExactTable = validated(
        TestTable, {"kind": "sequential"} | document["test"], "test"
    )
    if isinstance(table, SequentialTable):
        return Design.from_document(document)
    return None if isinstance(table, ExactTable) else table
