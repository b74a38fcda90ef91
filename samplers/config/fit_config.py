"""A fit as a TOML file: `[data]` says which table, `[fit]` what to fit to it. `austerity fit` reads and writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from designer.core.errors import BadInput, prefix_errors, shown
from designer.core.files import shorten
from designer.core.progress import ShareProgress
from designer.core.toml_json import parse_toml, read_text, toml_text
from designer.core.validation import Record, validated
from designer.rule.boundary import LEAST_EPSILON
from designer.rule.looks import MAX_N_DATA, check_growth
from samplers.chains.parallel import MAX_SEED
from samplers.config.entries import ConfigTable, Real, Text, Whole, label_value
from samplers.config.fits import TABLES as FILES
from samplers.fit.loop import MAX_ITERATIONS
from samplers.fit.of_table import GROWTH, fit_table, made_loss
from samplers.fit.rivals import RivalName
from samplers.fit.table_fit import LossName, TableFit
from samplers.fit.trace import Watch
from samplers.fit.update import Rule

TABLES = ("data", "fit")


class FitDataTable(ConfigTable):
    """Where the table is: .csv, .tsv, .txt or .parquet."""

    path: Text

    @model_validator(mode="after")
    def _is_table(self) -> FitDataTable:
        if not self.path.lower().endswith(FILES):
            raise BadInput(f"path = {shown(self.path)}: a formula needs a table that ends in {', '.join(FILES)}")
        return self


class FitTable(ConfigTable):
    """What to fit and how; `samplers.fit_table` explains the entries."""

    formula: Text
    loss: LossName = "lad"
    quantile: Annotated[Real, Field(gt=0.0, lt=1.0)] | None = None
    p: Annotated[Real, Field(ge=1.0, le=4.0)] | None = None
    positive: Annotated[Any, PlainValidator(label_value)] = None
    missing: Literal["refuse", "drop"] = "refuse"
    epsilon: Real = Field(default=0.01, ge=LEAST_EPSILON, le=0.5)
    tolerance: Real = Field(default=1e-6, ge=0.0, le=1.0)
    rule: Rule = "descent"
    first: Annotated[Whole, Field(ge=1, le=MAX_N_DATA)] | None = None
    increment: Annotated[Whole, Field(ge=1, le=MAX_N_DATA)] | None = None
    growth: Annotated[Real, BeforeValidator(check_growth)] = GROWTH
    max_iterations: Whole = Field(default=200, ge=1, le=MAX_ITERATIONS)
    max_read: Annotated[Whole, Field(ge=1)] | None = None
    against: tuple[RivalName, ...] = ()
    seed: Whole = Field(default=0, ge=0, le=MAX_SEED)

    @model_validator(mode="after")
    def _has_its_shape(self) -> FitTable:
        made_loss(self.loss, self.quantile, self.p)
        return self


class FitConfig(Record):
    r"""A fit to a table, as in its TOML file.

    Parameters
    ----------
    data
        `path` of the table.
    fit
        Formula, loss and options, as for `fit_table`.

    Examples
    --------
    >>> config = FitConfig.from_toml('[data]\npath = "wages.csv"\n[fit]\nformula = "wage ~ age"')
    >>> config.fit.loss, config.fit.tolerance, FitConfig.from_toml(config.to_toml()) == config
    ('lad', 1e-06, True)
    """

    data: FitDataTable
    fit: FitTable

    @classmethod
    def of(cls, path: str | Path, formula: str, **options: Any) -> FitConfig:
        """The config of a table, a formula and options of `fit_table`; nothing is read yet."""
        return cls._of({"data": {"path": str(path)}, "fit": {"formula": formula, **options}})

    @classmethod
    def from_toml(cls, text: str, **options: Any) -> FitConfig:
        """The config in a TOML text; `options` replace entries of `[fit]`."""
        return cls._of(parse_toml(text), **options)

    @classmethod
    def _of(cls, document: dict[str, Any], **options: Any) -> FitConfig:
        if unknown := sorted(set(document) - {*TABLES}):
            raise BadInput(f"{shorten(unknown[0])}: unknown; allowed: {', '.join(TABLES)}")
        if not_tables := [name for name in TABLES if not isinstance(document.get(name, {}), dict)]:
            raise BadInput(f"{not_tables[0]} = {shown(document[not_tables[0]])}: must be a table")
        return cls(
            data=validated(FitDataTable, document.get("data", {}), "data"),
            fit=validated(FitTable, document.get("fit", {}) | options, "fit"),
        )

    @classmethod
    def load(cls, path: str | Path, **options: Any) -> FitConfig:
        """The config in a file; the path of the table is relative to it."""
        with prefix_errors(f"{path}: "):
            document = parse_toml(read_text(path))
        config = cls._of(document, **options)
        return config.at(Path(path).parent / config.data.path)

    def at(self, path: str | Path) -> FitConfig:
        """The same fit of a table elsewhere."""
        return self.model_copy(update={"data": FitDataTable(path=str(path))})

    def to_toml(self) -> str:
        """The config as TOML text, which `from_toml` reads back exactly; entries that are None are left out."""
        return toml_text({"data": self.data.model_dump(), "fit": self.fit.model_dump()})

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `fit_table`, besides formula and table."""
        return self.fit.model_dump(exclude={"formula"})

    @property
    def changed(self) -> dict[str, Any]:
        """Those that are not the usual ones, besides the loss."""
        return self.fit.model_dump(exclude={"formula", "loss"}, exclude_defaults=True)

    def run(
        self,
        table: Any = None,
        *,
        watch: Watch | None = None,
        tell: ShareProgress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> TableFit:
        """Fit; `table` takes the place of the file, the rest is as for `fit_table`."""
        source = self.data.path if table is None else table
        return fit_table(self.fit.formula, source, **self.options, watch=watch, tell=tell, cancelled=cancelled)
