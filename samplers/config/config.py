"""A run as a TOML file: `[test]` as the calculator exports it, `[model]`, `[data]`, `[proposal]`, `[run]`.

What the tables may hold is in `tables`. Every problem is told with its path in the file; nothing is run before all of
it is right.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from designer.core.errors import BadInput, shown
from designer.core.files import shorten
from designer.core.toml_json import parse_toml, read_text
from designer.engine.step_error import Rule
from designer.rule.design import Design, refuse_strata
from samplers.adapt.phases import ScheduleTable, check_schedule
from samplers.config.schema import (
    MODELS,
    PROPOSALS,
    TESTS,
    BarkerTable,
    ConcentrationTable,
    DataTable,
    ModelTable,
    ProposalTable,
    RedesignTable,
    RunTable,
    Table,
    check_data,
    check_proposal,
    check_redesign,
    check_test,
)

TABLES = ("test", "data", "model", "proposal", "run")
MORE = ("redesign", "schedule")  # tables that need not be there
NOTES = ("format", "predicted", "provenance", "single")  # of a design; 0.1 wrote `single` beside strata
HOW_MANY = {"checkpoint_seconds", "draws", "chains"}  # of `[run]`: no draw depends on them
PLACES = {"path", "labels", "folder"}  # of `[data]`: where they lie is no matter
MOST_NAMED = 10  # problems in one message


class SamplerConfig(BaseModel):
    r"""A run: its test, data, model, proposal and chains, as a TOML file holds them.

    Parameters
    ----------
    test
        A `Design`, the table of another test, or None for the exact test.
    data, model, proposal, run
        The tables of these names; what they may hold is in `samplers.config.schema`.
    redesign, schedule
        The tables of tests that change on the way; None without.

    Examples
    --------
    >>> config = SamplerConfig.from_toml('[test]\nkind = "exact"\n[data]\npath = "data.npz"')
    >>> config.run.chains, config.proposal.kind, config.rule
    (4, 'proxy', 'metropolis')
    >>> SamplerConfig.from_toml(config.to_toml()) == config
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    test: Design | BarkerTable | ConcentrationTable | None
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
        """From the text of a config.

        `design` fills in or replaces `[test]`, `exact` does so with the exact test (which is not re-designed); `run`
        replaces entries of `[run]`.
        """
        document = parse_toml(text)
        if unknown := sorted(set(document) - {*TABLES, *MORE, *NOTES}):
            raise BadInput(f"{shorten(unknown[0])}: unknown; allowed are {', '.join((*TABLES, *MORE))}")
        if not_tables := [name for name in (*TABLES, *MORE) if not isinstance(document.get(name, {}), dict)]:
            raise BadInput(f"{not_tables[0]} = {shown(document[not_tables[0]])}: must be a table")
        model: Any = _chosen("model", document.get("model", {}), MODELS, "logistic")
        tables = {
            "test": design if design is not None or exact else _test(document, text),
            "data": _made("data", DataTable, document.get("data", {})),
            "model": model,
            "proposal": _chosen("proposal", document.get("proposal", {}), PROPOSALS, model.proposals[0]),
            "run": _made("run", RunTable, document.get("run", {}) | run),
        }
        if "redesign" in document and not exact:
            tables["redesign"] = _made("redesign", RedesignTable, document["redesign"])
        if "schedule" in document and not exact:
            tables["schedule"] = _made("schedule", ScheduleTable, document["schedule"])
        try:
            return cls(**tables)
        except ValidationError as error:
            raise BadInput(_lines("", cls, error)) from None

    @classmethod
    def load(cls, path: str | Path, design: Design | None = None, *, exact: bool = False, **run: Any) -> SamplerConfig:
        """From a file; the paths of the data are relative to it."""
        try:
            text = read_text(path)
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
        try:
            parse_toml(text)
        except BadInput as broken:
            raise BadInput(f"{path}: {broken}") from None
        config = cls.from_toml(text, design, exact=exact, **run)
        paths = {name: getattr(config.data, name) for name in PLACES}
        found = {name: str(Path(path).parent / given) for name, given in paths.items() if given is not None}
        return config.model_copy(update={"data": config.data.model_copy(update=found)})

    def to_toml(self) -> str:
        """All of it as TOML text, which `from_toml` reads back exactly; of a design also what it promises."""
        if isinstance(self.test, Design):
            begin = self.test.to_toml()
        else:
            begin = _toml("test", {"kind": "exact"} if self.test is None else self.test.model_dump())
        given = {name: table for name in (*TABLES[1:], *MORE) if (table := getattr(self, name)) is not None}
        return "\n".join([begin, *(_toml(name, table.model_dump()) for name, table in given.items())])

    @property
    def rule(self) -> Rule:
        """Of `[run]`, or else that of the test."""
        return self.run.rule or ("barker" if isinstance(self.test, BarkerTable) else "metropolis")

    @property
    def digest(self) -> str:
        """SHA-256 of what a chain's draws depend on, but for the data: not of how many, nor of how they are saved."""
        return hashlib.sha256(json.dumps(self._known(), sort_keys=True).encode()).hexdigest()

    @property
    def entries(self) -> dict[str, Any]:
        """What `digest` is of, by the names of the file: `{"run.seed": 0, ...}`."""
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
            if known[name] is None:  # as it was before there was such a table
                del known[name]
        test = self.test
        if isinstance(test, Design):
            known["test"] = test.bare.to_json()
        else:
            known["test"] = test and test.model_dump(mode="json")
        return known


def _test(document: dict[str, Any], text: str) -> Design | Table | None:
    table = document.get("test")
    if table is None:
        raise BadInput('test: missing; give a design, or [test] with kind = "exact"')
    refuse_strata(table)
    kind = table.get("kind", "sequential")
    if kind == "sequential":
        return Design.from_toml(text)
    if kind == "exact":
        if set(table) != {"kind"}:
            raise BadInput(f"test.{sorted(set(table) - {'kind'})[0]}: the exact test has no parameters")
        return None
    if not isinstance(kind, str) or kind not in TESTS:
        raise BadInput(f"test.kind = {shown(kind)}: must be one of sequential, exact, {', '.join(TESTS)}")
    return _made("test", TESTS[kind], table)


def _chosen(name: str, table: dict[str, Any], kinds: dict[str, type[Table]], default: str) -> Table:
    """The table of the kind that it names."""
    kind = table.get("kind", default)
    if not isinstance(kind, str) or kind not in kinds:
        raise BadInput(f"{name}.kind = {shown(kind)}: must be one of {', '.join(kinds)}")
    return _made(name, kinds[kind], table)


def _made(name: str, make: type[Table], values: dict[str, Any]) -> Table:
    try:
        return make(**values)
    except ValidationError as error:
        raise BadInput(_lines(name, make, error)) from None


def _lines(table: str, make: type[BaseModel], error: ValidationError) -> str:
    return "; ".join(_line(table, make, problem) for problem in error.errors(include_url=False)[:MOST_NAMED])


def _line(table: str, make: type[BaseModel], error: Any) -> str:
    """One problem of a table: path in the file, value, what is allowed."""
    path = ".".join([table, *(shorten(part) for part in error["loc"])])
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, BadInput):  # names the entry itself, or is about several
        return f"{table}.{cause}" if error["loc"] else f"{table}: {cause}" if table else str(cause)
    if error["type"] == "missing":
        return f"{path}: missing"
    if error["type"] == "extra_forbidden":
        return f"{path}: unknown; allowed are {', '.join(make.model_fields)}"
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    if isinstance(limit := error.get("ctx", {}).get("le"), float):  # not with all its zeros
        message = f"must be less than or equal to {limit:g}"
    return f"{path} = {shown(error['input'])}: {message}"


def _toml(name: str, table: dict[str, Any]) -> str:
    entries = (f"{key} = {_value(value)}" for key, value in table.items() if value is not None)
    return "\n".join([f"[{name}]", *entries, ""])


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # JSON's escapes are TOML's, which also wants one for DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)  # the very same number
