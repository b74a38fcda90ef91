"""A run as a TOML file: `[test]` as the calculator exports it, `[model]`, `[data]`, `[proposal]`, `[run]`.

Every problem is told with its path in the file; nothing is run before all of it is right.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from designer.errors import BadInput
from designer.records import Design, parse_toml
from samplers.chain import MAX_DRAWS


def _number_not_bool(value: Any) -> Any:
    if isinstance(value, (bool, str)):
        raise ValueError("must be a number")
    return value


Whole = Annotated[int, BeforeValidator(_number_not_bool)]
Real = Annotated[float, BeforeValidator(_number_not_bool)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelTable(_Table):
    """Which model; `control` is the order of the control variates (0: none)."""

    kind: Literal["logistic"] = "logistic"
    prior_precision: Real = Field(default=0.0, ge=0.0)
    control: Literal[0, 1, 2] = 2


class DataTable(_Table):
    """Where the data are: .npz with arrays x and y, .csv or .parquet with a column of labels."""

    path: str
    label: str = "y"


class ProposalTable(_Table):
    """What is proposed.

    random-walk: steps of `scale` posterior standard deviations (2.38 / sqrt(D) if absent); adaptive: a random walk that
    learns its steps in warmup; proxy: from the quadratic proxy, a step of `beta` (1: independent proposals).
    """

    kind: Literal["random-walk", "adaptive", "proxy"] = "proxy"
    scale: Real | None = Field(default=None, gt=0.0)
    beta: Real | None = Field(default=None, gt=0.0, le=1.0)

    @model_validator(mode="after")
    def _fits(self) -> ProposalTable:
        idle = "scale" if self.kind == "proxy" else "beta"
        if getattr(self, idle) is not None:
            raise ValueError(f"{idle} has no meaning for kind = {self.kind!r}")
        return self


class RunTable(_Table):
    """How long, how many, from which seed; every `checkpoint_seconds` the chains are saved."""

    draws: Whole = Field(default=1000, ge=1, le=MAX_DRAWS)
    warmup: Whole = Field(default=0, ge=0, le=MAX_DRAWS)
    chains: Whole = Field(default=4, ge=1, le=1000)
    seed: Whole = Field(default=0, ge=0)
    checkpoint_seconds: Real = Field(default=5.0, ge=0.0)


class SamplerConfig(_Table):
    """All of it. `test` is None for exact Metropolis-Hastings (`[test]` with kind = "exact").

    Examples
    --------
    >>> config = SamplerConfig.from_toml('[test]\\nkind = "exact"\\n[data]\\npath = "data.npz"')
    >>> config.run.chains, config.proposal.kind
    (4, 'proxy')
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    test: Design | None
    data: DataTable
    model: ModelTable = Field(default_factory=ModelTable)
    proposal: ProposalTable = Field(default_factory=ProposalTable)
    run: RunTable = Field(default_factory=RunTable)

    @classmethod
    def from_toml(cls, text: str, design: Design | None = None, *, exact: bool = False, **run: Any) -> SamplerConfig:
        """From the text of a config.

        `design` fills in or replaces `[test]`, `exact` does so with the exact test; `run` replaces entries of `[run]`.
        """
        document = parse_toml(text)
        test = design if design is not None or exact else _test(document, text)
        tables = {name: document[name] for name in ("data", "model", "proposal", "run") if name in document}
        unknown = set(document) - {*tables, "test", "format", "predicted", "provenance"}
        if unknown:
            raise BadInput(f"{sorted(unknown)[0]}: unknown; allowed are test, data, model, proposal, run")
        if run and isinstance(tables.get("run", {}), dict):
            tables["run"] = tables.get("run", {}) | run
        try:
            return cls.model_validate({"test": test, **tables})
        except ValidationError as error:
            raise BadInput("; ".join(_line(e) for e in error.errors(include_url=False)[:10])) from None

    @classmethod
    def load(cls, path: str | Path, design: Design | None = None, *, exact: bool = False, **run: Any) -> SamplerConfig:
        """From a file; the path of the data is relative to it."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
        config = cls.from_toml(text, design, exact=exact, **run)
        data = config.data.model_copy(update={"path": str(Path(path).parent / config.data.path)})
        return config.model_copy(update={"data": data})

    @property
    def digest(self) -> str:
        """SHA-256 of what a chain's draws depend on, but for the data: not of how many, nor of how they are saved."""
        how_many = {"checkpoint_seconds", "draws", "chains"}
        known = self.model_dump(mode="json", exclude={"run": how_many, "data": {"path"}, "test": True})
        known["test"] = None if self.test is None else self.test.bare.to_json()
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def _test(document: dict[str, Any], text: str) -> Design | None:
    table = document.get("test")
    if table is None:
        raise BadInput('test: missing; give a design, or [test] with kind = "exact"')
    if isinstance(table, dict) and table.get("kind") == "exact":
        if set(table) != {"kind"}:
            raise BadInput(f"test.{sorted(set(table) - {'kind'})[0]}: the exact test has no parameters")
        return None
    return Design.from_toml(text)


def _line(error: Any) -> str:
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        return f"{name}: missing"
    if error["type"] == "extra_forbidden":
        return f"{name}: unknown"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if isinstance(error["input"], dict):
        return f"{name}: {message}"
    return f"{name} = {str(error['input'])[:40]!r}: {message}"
